"""Brokers of our own are restarted, and a lost cluster is waited for until it is given up."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.errors import BrokerLost, TargetUnreachable
from runners.reporting import silent
from runners.runner import Limits
from runners.workload import RecordSizes
from search_spaces.client import librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.open_target import OpenTarget, open_target
from tuner.execution.trials import trial_target
from tuner.execution.trials.trial_target import ClusterTarget
from tuner.model.measurement_setup import ONE_PRODUCER
from tuner.model.spec import PhaseSpec, WorkloadSpec
from tuner.model.target import Target


@pytest.mark.broker
@pytest.mark.campaign
def test_brokers_of_our_own_are_restarted() -> None:
    target = ClusterTarget(partial(open_target, Target(), silent), 5.0, silent, time.sleep)
    try:
        before = target.opened.cluster
        target.restart_brokers()
        after = target.opened.cluster
        assert [each.pid for each in before.local_brokers] != [each.pid for each in after.local_brokers]
        assert not any(psutil.pid_exists(each.pid) for each in before.local_brokers)
        load = WorkloadSpec((RecordSizes.fixed(1000),), saturate=PhaseSpec(0.0, 0.5), partitions=1)
        saturating = load.saturating(load.record_sizes[0])
        with target.topic_for(saturating, Limits(), 0, ONE_PRODUCER) as topic:
            (runner,) = topic.runners(10**9, librdkafka())
            assert runner.run(ProducerConfig.parse({}), saturating).counts.acknowledged > 0
    finally:
        target.close()


@pytest.mark.broker
def test_a_cluster_that_is_not_ours_is_not_restarted(broker: RunningCluster) -> None:
    address = Target(bootstrap=broker.bootstrap)
    target = ClusterTarget(partial(open_target, address, silent), 5.0, silent, time.sleep)
    try:
        before = target.opened
        target.restart_brokers()
        assert target.opened is before
    finally:
        target.close()


@pytest.mark.broker
def test_a_lost_cluster_is_back_when_it_has_all_its_brokers(broker: RunningCluster) -> None:
    address = Target(bootstrap=broker.bootstrap)
    slept: list[float] = []
    there = iter([3, 2, 2, 3])

    @contextmanager
    def opened() -> Iterator[OpenTarget]:
        with open_target(address) as found, pytest.MonkeyPatch.context() as patch:
            count = next(there)
            patch.setattr(found.topics, "brokers", lambda: count)
            yield found

    target = ClusterTarget(opened, 5.0, silent, slept.append)
    try:
        target.recover()
        assert slept == [1.0, 2.0]
        there = iter([2] * 9)
        target.recover()
        assert sum(slept[2:]) == pytest.approx(5.0, abs=1.0), "after the wait, the others are the cluster"
        pauses = len(slept)
        there = iter([2])
        target.recover()
        assert len(slept) == pauses
    finally:
        target.close()


class LostCluster:
    """A cluster that is lost after it was opened once. Each later attempt to open it fails after `attempt_s`."""

    def __init__(self, sleep: Callable[[float], None] = lambda _: None, attempt_s: float = 0.0) -> None:
        self.left: list[str] = []
        self._there, self._attempt = iter([True]), partial(sleep, attempt_s)

    @contextmanager
    def opened(self) -> Iterator[Any]:
        if not next(self._there, False):
            self._attempt()
            raise TargetUnreachable("no broker answers")
        yield SimpleNamespace(
            target=Target(), topics=SimpleNamespace(leave_to_later_run=lambda: self.left.append("topics"))
        )
        raise BrokerLost("the cluster did not answer the request to delete topic tuner-1")


def test_if_a_cluster_never_comes_back_the_error_is_about_the_cluster_and_not_its_topics() -> None:
    lost = LostCluster()

    def measured() -> None:
        with closing(ClusterTarget(lost.opened, 5.0, silent, lambda _: None)) as target:
            target.recover()

    with pytest.raises(TargetUnreachable, match="no broker answers"):
        measured()
    assert lost.left == ["topics"], "no request is sent to delete them, because the answer would take long"
    with pytest.raises(BrokerLost, match="delete topic"):
        ClusterTarget(LostCluster().opened, 5.0, silent, lambda _: None).close()


def test_the_time_of_attempts_counts_as_time_waited_for_a_broker(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []
    lost = LostCluster(slept.append, 10.0)
    monkeypatch.setattr(trial_target, "time", SimpleNamespace(monotonic=lambda: sum(slept)))
    target = ClusterTarget(lost.opened, 20.0, silent, slept.append)
    with pytest.raises(TargetUnreachable):
        target.recover()
    assert slept == [10.0, 1.0, 10.0, 0.0, 10.0], "20 s with the pauses, and one last attempt"


def test_ctrl_c_while_a_cluster_is_away_does_not_wait_for_it() -> None:
    lost = LostCluster()

    def interrupted(_: float) -> None:
        raise KeyboardInterrupt

    target = ClusterTarget(lost.opened, 5.0, silent, interrupted)
    with pytest.raises(KeyboardInterrupt):
        target.recover()
    assert lost.left == ["topics"]
