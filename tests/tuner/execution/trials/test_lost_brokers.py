"""A broker is killed at the set moment of a trial, and the next trial has all brokers again."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace

import pytest

from runners.errors import BrokerLost
from runners.measurements.measurement import Measurement
from runners.pools.local_pool import LocalPool
from runners.runner import Limits, Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import BASELINE
from tuner.execution.trial_keeper import utc_now
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.early_end import ToTheEnd
from tuner.execution.trials.trial_job import StartedTrial, TrialJob, TrialOutcome
from tuner.execution.trials.trial_target import SimulatedTarget, TrialTopic
from tuner.model.measurement_setup import ONE_PRODUCER, Setup
from tuner.model.trial import PACED, Proposal, TrialKind


@dataclass
class RecordingTarget:
    """A target that records the calls that it gets, in order."""

    events: list[str] = field(default_factory=list)

    @contextmanager
    def topic_for(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialTopic]:
        self.events.append(f"topic {trial}")
        with SimulatedTarget(SimulatedRunner()).topic_for(workload, limits, trial, setup) as topic:
            yield replace(topic, kill_broker=lambda: self.events.append("kill"))
        self.events.append(f"end {trial}")

    def restart_brokers(self) -> None:
        self.events.append("restart brokers")

    def recover(self) -> None:
        raise NotImplementedError


@pytest.mark.parametrize(("killed_s", "windows_before"), [(2.0, 3), (2.5, 4), (0.0, 1)])
def test_the_broker_is_killed_at_its_moment_and_the_next_trial_has_a_whole_cluster(
    killed_s: float, windows_before: int
) -> None:
    target = RecordingTarget()
    load = Workload(RecordSizes.fixed(1000), warmup_s=1.0, measured_s=5.0, rate_records_per_s=100)

    def job(trial: int, setup: Setup) -> TrialJob:
        started = StartedTrial(
            RecordSizes.fixed(1000), trial, TrialKind.MEASUREMENT, Proposal(BASELINE), utc_now(), 0.0
        )
        return TrialJob(
            started,
            ((PACED, load),),
            10**9,
            0,
            lambda *_: target.events.append("window"),
            ToTheEnd(),
            setup,
        )

    with closing(LocalPool()) as pool, closing(Bench([target], pool)) as bench:
        for trial, setup in enumerate((Setup(broker_killed_s=killed_s), ONE_PRODUCER)):
            bench.submit(job(trial, setup))
            assert bench.next_done().error is None
    first, second = target.events.index("kill"), target.events.index("restart brokers")
    assert target.events.count("kill") == target.events.count("restart brokers") == 1
    assert target.events[:first].count("window") == windows_before - 1, "the kill comes before the window is shown"
    assert target.events[second - 1 : second + 2] == ["end 0", "restart brokers", "topic 1"]


@dataclass
class Coming(RecordingTarget):
    """A target that has lost a broker each time that a trial begins, a number of times."""

    lost: int = 0

    @contextmanager
    def topic_for(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialTopic]:
        if self.lost:
            self.lost -= 1
            raise BrokerLost("one after the other is restarted")
        with super().topic_for(workload, limits, trial, setup) as topic:
            yield topic

    def recover(self) -> None:
        self.events.append("recover")


@pytest.mark.parametrize(("lost", "measured"), [(3, True), (4, False)])
def test_a_trial_begins_while_brokers_are_restarted_in_turn(lost: int, measured: bool) -> None:
    target = Coming(lost=lost)
    load = Workload(RecordSizes.fixed(1000), warmup_s=1.0, measured_s=2.0, rate_records_per_s=100)
    started = StartedTrial(RecordSizes.fixed(1000), 0, TrialKind.MEASUREMENT, Proposal(BASELINE), utc_now(), 0.0)
    job = TrialJob(started, ((PACED, load),), 10**9, 0, lambda *_: None, ToTheEnd())
    with closing(LocalPool()) as pool, closing(Bench([target], pool)) as bench:
        bench.on_recovered = lambda: target.events.append("recovered")
        if measured:
            bench.submit(job)
            outcome = bench.next_done()
            assert outcome.error is None
            assert outcome.attempts == 1, "no measurement broke off"
        else:
            with pytest.raises(BrokerLost):
                bench.submit(job)
    assert [each for each in target.events if each.startswith("recover")] == ["recover", "recovered"] * 3


@dataclass
class NeverBack(Coming):
    """A target whose lost broker does not come back before Ctrl-C."""

    def recover(self) -> None:
        raise KeyboardInterrupt


@dataclass
class LosesIts:
    """A runner that loses its broker after it has sent some bytes."""

    sent_bytes: int

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        error = BrokerLost("away")
        error.sent_bytes = self.sent_bytes
        raise error


@dataclass
class LostLater(NeverBack):
    """A target whose broker is lost while a trial is measured."""

    sent_bytes: int = 0

    @contextmanager
    def topic_for(self, workload: Workload, limits: Limits, trial: int, setup: Setup) -> Iterator[TrialTopic]:
        yield TrialTopic(lambda *_: (LosesIts(self.sent_bytes),), lambda: None, owned=True)


@dataclass
class LostAgain(LostLater):
    """A target whose broker comes back each time, and is lost again while the trial is measured."""

    def recover(self) -> None:
        self.events.append("recover")


def measured(bench: Bench, job: TrialJob) -> TrialOutcome:
    """Measure one trial."""
    bench.submit(job)
    return bench.next_done()


@pytest.mark.parametrize(("target", "sent_bytes"), [(NeverBack(lost=1), 0), (LostLater(sent_bytes=123), 123)])
def test_ctrl_c_while_a_broker_is_away_counts_what_was_sent(target: NeverBack, sent_bytes: int) -> None:
    load = Workload(RecordSizes.fixed(1000), warmup_s=1.0, measured_s=2.0, rate_records_per_s=100)
    started = StartedTrial(RecordSizes.fixed(1000), 0, TrialKind.SEARCH, Proposal(BASELINE), utc_now(), 0.0)
    job = TrialJob(started, ((PACED, load),), 10**9, 0, lambda *_: None, ToTheEnd())
    interrupted: list[TrialOutcome] = []
    with closing(LocalPool()) as pool, closing(Bench([target], pool)) as bench:
        bench.on_interrupted = interrupted.extend
        with pytest.raises(KeyboardInterrupt):
            measured(bench, job)
    assert [(outcome.job, outcome.sent_bytes) for outcome in interrupted] == [(job, sent_bytes)]


def test_a_trial_that_loses_its_broker_twice_fails_and_the_next_one_begins() -> None:
    target = LostAgain(sent_bytes=123)
    load = Workload(RecordSizes.fixed(1000), warmup_s=1.0, measured_s=2.0, rate_records_per_s=100)
    started = StartedTrial(RecordSizes.fixed(1000), 0, TrialKind.SEARCH, Proposal(BASELINE), utc_now(), 0.0)
    job = TrialJob(started, ((PACED, load),), 10**9, 0, lambda *_: None, ToTheEnd())
    with closing(LocalPool()) as pool, closing(Bench([target], pool)) as bench:
        for trials in (1, 2):
            outcome = measured(bench, job)
            assert isinstance(outcome.error, BrokerLost)
            assert (outcome.attempts, outcome.sent_bytes) == (2, 2 * 123)
            assert target.events == ["recover"] * trials
