"""The driver merges the windows and reports of the producers."""

from dataclasses import dataclass, replace

import pytest

from runners.errors import BrokerLost, ByteBudgetExceeded, GeneratorError, WorkerLost
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement, Window
from runners.pools.pool import Job
from runners.pools.producer_process import WorkerReport, produce
from runners.pools.running_job import RunningJob
from runners.runner import Runner, Watch, WatchDecision, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.children import Failing
from tests.helpers.measurements import measurement, window
from tests.runners.pools.pool_runners import CONFIG, WORKLOAD

TWO = Job("a key", (SimulatedRunner(), SimulatedRunner()), CONFIG, WORKLOAD)


def begun(watched: list[Window] | None = None) -> RunningJob:
    def watch(window: Window) -> WatchDecision:
        assert watched is not None
        watched.append(window)
        return WatchDecision.GO_ON

    running = RunningJob(TWO, go_on if watched is None else watch)
    running.begin(lambda: None)
    return running


@pytest.mark.parametrize(("apart_s", "warns"), [(0.0, False), (0.1, False), (0.11, True)])
def test_producers_that_began_apart_give_a_warning(apart_s: float, warns: bool) -> None:
    running = begun()
    running.take(0, WorkerReport(measurement(), 100.0))
    running.take(1, WorkerReport(measurement(), 100.0 + apart_s))
    assert running.over
    outcome = running.done("me").outcome
    assert isinstance(outcome, Measurement)
    assert any("the producers began 0.11 s apart" in each for each in outcome.warnings) == warns


def test_producers_that_began_far_apart_are_measured_again_and_then_give_an_error() -> None:
    running = begun()
    for attempt in (1, 2):
        running.take(0, WorkerReport(measurement(), 100.0))
        running.take(1, WorkerReport(measurement(), 101.01))
        assert running.repeatable == (attempt == 1)
        outcome = running.done("me").outcome
        assert isinstance(outcome, GeneratorError)
        assert "did not send at the same time" in str(outcome)
        running.begin(lambda: None)


def test_a_lost_worker_does_not_use_up_the_repeat_of_producers_that_began_far_apart() -> None:
    running = begun()
    running.take(0, WorkerReport(measurement(), 100.0))
    running.take(1, WorkerReport(WorkerLost("gone")))
    assert running.repeatable
    for repeatable in (True, False):
        running.begin(lambda: None)
        running.take(0, WorkerReport(measurement(), 100.0))
        running.take(1, WorkerReport(measurement(), 101.01))
        assert running.repeatable == repeatable
    done = running.done("me")
    assert done.attempts == 3
    assert "in the last of 3 attempts they began 1.0 s apart" in str(done.outcome)


def test_bytes_of_all_producers_add_up_unless_one_is_lost() -> None:
    stopped = ByteBudgetExceeded("enough")
    stopped.sent_bytes = 500
    for last, sent in ((measurement(sent_bytes=70), 570), (WorkerLost("gone"), None)):
        running = begun()
        running.take(0, WorkerReport(stopped))
        running.take(1, WorkerReport(last))
        assert running.done("me").sent_bytes == sent


def test_each_attempt_has_runners_of_its_own() -> None:
    asked: list[int] = []

    def on_attempt(attempt: int) -> tuple[Runner, ...]:
        asked.append(attempt)
        return (SimulatedRunner(attempt / 10),)

    running = RunningJob(Job("a key", (SimulatedRunner(),), CONFIG, WORKLOAD, on_attempt), go_on)
    for attempt in (1, 2):
        running.begin(lambda: None)
        assert running.job.runners == (SimulatedRunner(attempt / 10),)
    assert asked == [1, 2]


def test_a_window_is_shown_when_the_last_producer_has_reached_it() -> None:
    watched: list[Window] = []
    running = begun(watched)
    running.take(0, window(number=0, records=1))
    running.take(0, window(number=1, records=10))
    assert not watched
    running.take(1, window(number=0, records=2))
    assert [(each.number, each.records) for each in watched] == [(0, 3)]
    running.take(1, window(number=1, records=20))
    assert [(each.number, each.records) for each in watched] == [(0, 3), (1, 30)]


def test_the_series_has_percentiles_of_all_producers_even_after_a_stop() -> None:
    running = RunningJob(TWO, lambda _: WatchDecision.STOP)
    running.begin(lambda: None)
    for number in range(2):
        running.take(0, window(number=number, records=99, latency=Histogram.of([1_000] * 99)))
        running.take(1, window(number=number, records=1, latency=Histogram.of([9_000])))
    running.take(0, WorkerReport(measurement()))
    running.take(1, WorkerReport(measurement()))
    outcome = running.done("me").outcome
    assert isinstance(outcome, Measurement)
    assert [point.p99_ms for point in outcome.series] == [pytest.approx(1.0, rel=0.001)] * 2


def test_the_first_of_two_errors_is_the_outcome() -> None:
    running = begun()
    running.take(1, WorkerReport(BrokerLost("first")))
    running.take(0, WorkerReport(GeneratorError("second")))
    assert str(running.done("me").outcome) == "first"


@dataclass(frozen=True, slots=True)
class _Generating:
    """Simulates, and names a load generator as the origin of the numbers."""

    generator: str

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        simulated = SimulatedRunner().run(config, workload, watch)
        return replace(simulated, origin=replace(simulated.origin, generator=self.generator))


@pytest.mark.parametrize(
    ("runner", "niceness", "warnings"),
    [(_Generating("native"), 0, 0), (_Generating("native"), 15, 1), (SimulatedRunner(), 15, 0)],
    ids=["usual priority", "low priority", "simulated"],
)
def test_a_load_with_low_priority_gives_a_warning(
    monkeypatch: pytest.MonkeyPatch, runner: Runner, niceness: int, warnings: int
) -> None:
    monkeypatch.setattr("os.getpriority", lambda _which, _who: niceness)
    report = produce(runner, CONFIG, WORKLOAD, lambda _: None, lambda: False)
    assert isinstance(report.outcome, Measurement)
    assert sum("RAY_worker_niceness=0" in each for each in report.outcome.warnings) == warnings


def test_a_producer_that_fails_at_once_reports_no_begin() -> None:
    error = BrokerLost("gone")
    assert produce(Failing(error), CONFIG, WORKLOAD, lambda _: None, lambda: False) == WorkerReport(error, None)
