"""Byte limits hold on a real broker: over all phases, attempts, targets and runs of a study, also of runs that fail."""

import os
import signal
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from objectives.scoring import Objective
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import ByteBudgetExceeded
from runners.measurements.measurement import Window
from tests.conftest import TopicMaker
from tests.helpers.clients import with_word
from tests.helpers.studies import StoppedAtOnce, Told, on_record, real_study
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.facts import RESERVED_BYTES
from tuner.model.spec import Executor, PhaseSpec, StudySpec
from tuner.model.target import Target
from tuner.model.trial import Trial
from tuner.storage.sqlite import SqliteStore

pytestmark = pytest.mark.broker

RECORD_BYTES = 1_000


def sent_to(broker: RunningCluster, *topics: str) -> int:
    """Return the bytes of all records that these topics hold."""
    admin = TopicAdmin(broker.connection)
    return RECORD_BYTES * sum(sum(admin.end_offsets(name, 1)) for name in topics)


def study_on(broker: RunningCluster, *topics: str, max_bytes: int | None = None, **safety: Any) -> StudySpec:
    """Return a short study on topics that are not deleted, so that their records can be counted afterwards."""
    spec = real_study(broker.bootstrap, trials=3, **safety)
    targets = tuple(Target(bootstrap=broker.bootstrap, topic=name) for name in topics)
    return replace(spec, targets=targets, search=replace(spec.search, max_bytes=max_bytes))


@pytest.mark.usefixtures("short_temporary")
@pytest.mark.parametrize("executor", [Executor.LOCAL, pytest.param(Executor.RAY, marks=pytest.mark.long)])
def test_runs_that_end_in_an_error_count(
    broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path, executor: Executor
) -> None:
    topic, limit = new_topic().name, 15_000_000
    spec = replace(study_on(broker, topic, max_bytes=limit), executor=executor)
    with pytest.raises(ByteBudgetExceeded, match="may send at most"):
        measure_study(spec, "", tmp_path, Told())
    with suppress(ByteBudgetExceeded):  # the second run may also see that too little is left, and send nothing
        measure_study(spec, "", tmp_path, Told())
    recorded = sum(trial.sent_bytes or 0 for trial in on_record(tmp_path))
    assert 13_000_000 < recorded <= limit
    # A run that is ended gives up what its client has not sent yet.
    assert 0 < sent_to(broker, topic) <= recorded


def test_the_limit_of_a_trial_covers_both_phases(broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path) -> None:
    topic, limit = new_topic().name, 9_000_000
    spec = study_on(broker, topic, max_bytes_per_trial=limit)
    load = replace(spec.workload, paced=PhaseSpec(0.3, 1.0), rate_records_per_s=5_000)
    spec = replace(spec, workload=load, objectives=(Objective("mb_per_s"), Objective("latency_p99_ms")))
    with pytest.raises(ByteBudgetExceeded):
        measure_study(spec, "", tmp_path, Told())
    (trial,) = on_record(tmp_path)
    assert trial.sent_bytes is not None
    assert 6_000_000 < trial.sent_bytes <= limit
    assert 0 < sent_to(broker, topic) <= trial.sent_bytes


def test_two_targets_share_what_is_left(broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path) -> None:
    topics, limit = [new_topic().name, new_topic().name], 15_000_000
    with pytest.raises(ByteBudgetExceeded):
        measure_study(study_on(broker, *topics, max_bytes=limit), "", tmp_path, Told())
    assert 0 < sent_to(broker, *topics) <= limit


class KillsTheLoad(Told):
    """A reporter that kills the load process in the first window, and notes what the topic of a trial holds."""

    def __init__(self, broker: RunningCluster) -> None:
        super().__init__()
        self.broker, self.killed, self.held = broker, False, 0

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        if not self.killed:
            self.killed = True
            for child in with_word("spawn_main", psutil.Process().children()):
                os.kill(child.pid, signal.SIGKILL)

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        super().trial(progress, trial)
        names = [name for name in TopicAdmin(self.broker.connection).names() if name.startswith("tuner-")]
        self.held = max(self.held, sent_to(self.broker, *names))


@pytest.mark.campaign
def test_the_limit_of_a_trial_covers_a_lost_attempt(broker: RunningCluster, tmp_path: Path) -> None:
    limit, told = 1_500_000_000, KillsTheLoad(broker)  # more than any first window sends
    spec = real_study(broker.bootstrap, trials=1, max_bytes_per_trial=limit)
    spec = replace(spec, workload=replace(spec.workload, saturate=PhaseSpec(2.0, 600.0)))
    with pytest.raises(ByteBudgetExceeded):
        measure_study(spec, "", tmp_path, told)
    (trial,) = told.trials
    assert told.killed
    assert trial.attempts == 2
    assert limit / 2 < told.held <= limit
    assert trial.sent_bytes is not None
    assert told.held <= trial.sent_bytes <= limit


@pytest.mark.campaign
def test_ctrl_c_counts_what_was_sent_and_the_study_can_be_resumed(broker: RunningCluster, tmp_path: Path) -> None:
    spec = real_study(broker.bootstrap, trials=1)
    spec = replace(spec, search=replace(spec.search, max_bytes=40 * 10**9))
    with pytest.raises(KeyboardInterrupt):
        measure_study(spec, "", tmp_path, StoppedAtOnce())
    with closing(SqliteStore(tmp_path, create=False)) as store:
        reserved = store.facts()[RESERVED_BYTES]
    assert reserved["running"] == {}
    assert 0 < reserved["interrupted"] < 4 * 10**9, "a window of load, and not the reservation of 10 GB"
    assert measure_study(spec, "", tmp_path, Told()).finished
    assert on_record(tmp_path)


@pytest.mark.campaign
def test_an_interrupted_trial_counts_with_its_reservation(
    broker: RunningCluster, new_topic: TopicMaker, tmp_path: Path
) -> None:
    topic, each, limit = new_topic().name, 1_500_000_000, 2_900_000_000
    spec = study_on(broker, topic, max_bytes=limit, max_bytes_per_trial=each)
    spec = replace(spec, workload=replace(spec.workload, saturate=PhaseSpec(0.0, 60.0)))
    for _ in range(3):  # others may write to this topic, so nobody knows what a trial has sent: 1, 1 and 0.9 GB count
        with pytest.raises(KeyboardInterrupt):
            measure_study(spec, "", tmp_path, StoppedAtOnce())
    assert measure_study(spec, "", tmp_path, told := Told()).finished
    assert sent_to(broker, topic) <= limit
    assert any("too little of the byte budget" in sentence for sentence in told.sentences)
    assert on_record(tmp_path) == []
