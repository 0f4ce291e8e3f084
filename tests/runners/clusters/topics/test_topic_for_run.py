"""A topic is taken for each run and given back, however the run ends."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import RECORD_KIND, OwnedTopics, Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.clusters.topics.topic_for_run import WithTopic, named_topic, owned_topic
from runners.errors import BrokerLost
from runners.host_processes.clean_up import clean_up_lists
from runners.runner import Runner
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from tests.conftest import TopicMaker
from tests.helpers.children import CONFIG, WORKLOAD, Failing


class Topics:
    """Remembers which topics were lent and given back."""

    def __init__(self) -> None:
        self.lent: list[Workload] = []
        self.back = 0

    @contextmanager
    def topic_for(self, workload: Workload) -> Iterator[Topic]:
        self.lent.append(workload)
        try:
            yield Topic(f"topic-{len(self.lent)}", 1, 1)
        finally:
            self.back += 1


def test_each_run_has_a_topic_for_its_workload() -> None:
    topics, names = Topics(), []

    def on_topic(topic: Topic) -> Runner:
        names.append(topic.name)
        return SimulatedRunner()

    runner = WithTopic(topics.topic_for, on_topic)
    runner.run(CONFIG, WORKLOAD)
    seen = runner.run(CONFIG, WORKLOAD)
    assert topics.lent == [WORKLOAD, WORKLOAD]
    assert names == ["topic-1", "topic-2"]
    assert topics.back == 2
    assert (WORKLOAD.partitions, seen.workload) == (3, replace(WORKLOAD, partitions=1)), "the lent topic has one"


def test_a_topic_is_given_back_when_the_run_fails() -> None:
    topics = Topics()
    with pytest.raises(BrokerLost):
        WithTopic(topics.topic_for, lambda _: Failing(BrokerLost("gone"))).run(CONFIG, WORKLOAD)
    assert topics.back == 1


@pytest.mark.broker
def test_an_owned_topic_is_gone_after_the_run(broker: RunningCluster) -> None:
    shapes: list[Topic] = []
    workload = Workload(RecordSizes.fixed(100), partitions=5, warmup_s=0.0, measured_s=1.0)
    with OwnedTopics(broker) as topics:

        def on_topic(topic: Topic) -> Runner:
            shapes.append(topic)
            assert topic.name in TopicAdmin(broker.connection).names()
            return SimulatedRunner()

        WithTopic(owned_topic(topics), on_topic).run(CONFIG, workload)
        (topic,) = shapes
        assert (topic.partitions, topic.owned) == (5, True)
        assert topic.name not in TopicAdmin(broker.connection).names()


@pytest.mark.broker
def test_the_error_of_a_run_whose_broker_was_killed_is_shown() -> None:
    cluster = EmbeddedCluster()
    topics = OwnedTopics(running := cluster.start())

    def run() -> None:
        with topics, owned_topic(topics)(WORKLOAD):
            os.kill(running.local_brokers[0].pid, signal.SIGKILL)
            raise BrokerLost("seen by the run")

    try:
        with pytest.raises(BrokerLost, match="seen by the run"):
            run()
        assert topics.run_id not in [record.run_id for record in clean_up_lists(RECORD_KIND)]
    finally:
        cluster.stop()


@pytest.mark.broker
@pytest.mark.parametrize("error", [BrokerLost("seen by the run"), KeyboardInterrupt()])
def test_a_run_on_a_user_s_cluster_that_is_lost_says_that_its_topic_is_left(error: BaseException) -> None:
    cluster = EmbeddedCluster()
    started = cluster.start()
    topics = OwnedTopics(RunningCluster("existing", started.connection))
    requests: list[str] = []

    def run() -> None:
        with topics, owned_topic(topics)(WORKLOAD):
            os.kill(started.local_brokers[0].pid, signal.SIGKILL)
            topics.begin_delete = lambda topic: requests.append(topic.name)  # type: ignore[method-assign]
            raise error

    try:
        with pytest.raises(BrokerLost, match=f"{error}.*1 topic may be left"):
            run()
        assert requests == [], "each request to delete it would wait 20 s for its answer"
    finally:
        cluster.stop()
        for record in clean_up_lists(RECORD_KIND):
            if record.run_id == topics.run_id:
                record.remove()


@pytest.mark.broker
def test_each_run_awaits_the_deletion_that_the_previous_run_began(broker: RunningCluster) -> None:
    workload = Workload(RecordSizes.fixed(100), partitions=2, warmup_s=1.0, measured_s=1.0)
    awaited: list[int] = []

    class Counted(OwnedTopics):
        def await_deleted(self) -> tuple[str, ...]:
            awaited.append(len(self._deletions))
            return super().await_deleted()

    with Counted(broker) as topics:
        topic_for = owned_topic(topics, overlapping=True)
        names = []
        for _ in range(3):
            with topic_for(workload) as topic:
                names.append(topic.name)
        assert awaited == [0, 1, 1], "at its end, each run waits for the deletion that the previous run began"
        there = TopicAdmin(broker.connection).names()
        assert not {*names[:2]} & {*there}
    assert names[2] not in TopicAdmin(broker.connection).names()


@pytest.mark.broker
def test_a_topic_of_the_user_s_is_never_deleted(broker: RunningCluster, new_topic: TopicMaker) -> None:
    theirs, shapes = new_topic(2), []
    with OwnedTopics(broker) as topics:

        def on_topic(topic: Topic) -> Runner:
            shapes.append(topic)
            return SimulatedRunner()

        WithTopic(named_topic(topics, theirs.name), on_topic).run(CONFIG, WORKLOAD)
    assert [(topic.name, topic.partitions, topic.owned) for topic in shapes] == [(theirs.name, 2, False)]
    assert theirs.name in TopicAdmin(broker.connection).names()
