"""The simulated runner gives the same numbers for the same question, and the model's where nothing is added to them."""

import pickle
from collections.abc import Callable
from statistics import fmean, stdev

import numpy as np
import pytest

from benchmarks.problems.truth import Truth
from objectives.outcome import metrics_of
from runners.errors import BrokerLost, DeliveryFailed, RunnerError, WorkerLost
from runners.measurement import Measurement, Window
from runners.runner import WatchDecision
from runners.simulated import SimulatedRunner
from runners.simulated.disturbances import Drift, Failure, Mishap, Weakness
from runners.simulated.inputs import REMOTE
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from search_spaces.values import Value

QUIET = SimulatedRunner()
DEFAULTS = ProducerConfig.parse({})
QUICK = ProducerConfig.parse({"linger.ms": 0.5, "compression.type": "lz4"})


def load(rate: float | None = None, seed: int = 0, measured_s: float = 5) -> Workload:
    sizes = RecordSizes.fixed(1_000)
    return Workload(sizes, warmup_s=1, measured_s=measured_s, rate_records_per_s=rate, seed=seed)


def simulated(rate: float | None = None, noise: float = 0.0, **properties: Value) -> Measurement:
    config = ProducerConfig.parse({name.replace("_", "."): value for name, value in properties.items()})
    return SimulatedRunner(noise).run(config, load(rate))


def spread(value: Callable[[Measurement], float], runner: SimulatedRunner, **workload: float) -> float:
    """Standard deviation of the logarithm of a number over 150 trials."""
    runs = (runner.run(DEFAULTS, load(seed=seed, **workload)) for seed in range(150))
    return stdev(float(np.log(value(run))) for run in runs)


def rate(seen: Measurement) -> float:
    return seen.mb_per_s


def p99(seen: Measurement) -> float:
    return seen.latency.percentile_us(0.99)


def test_the_same_question_has_the_same_answer() -> None:
    first, second = simulated(noise=0.05), simulated(noise=0.05)
    assert (first.records, first.latency, first.series) == (second.records, second.latency, second.series)


def test_noise_differs_between_configs_trials_and_windows() -> None:
    rates = [point.records_per_s for point in simulated(noise=0.05).series]
    assert len(set(rates)) == len(rates)
    noisy = SimulatedRunner(0.05)
    assert noisy.run(DEFAULTS, load(seed=1)).records != noisy.run(DEFAULTS, load(seed=2)).records
    quiet = [point.records_per_s for point in simulated().series]
    assert max(quiet) - min(quiet) <= 1, "but for rounding"


def test_tiny_batches_one_at_a_time_are_slow() -> None:
    slow = simulated(batch_size=2_000, max_in_flight_requests_per_connection=1)
    assert slow.records_per_s < simulated().records_per_s / 5


def test_a_rate_within_capacity_is_held_and_lingering_is_latency() -> None:
    assert simulated(rate=5_000).records_per_s == pytest.approx(5_000)
    quick, patient = simulated(rate=5_000, linger_ms=0.5), simulated(rate=5_000, linger_ms=50)
    assert quick.latency.mean_us + 20_000 < patient.latency.mean_us


def test_a_rate_past_capacity_is_not_held_and_waits_ever_longer() -> None:
    seen = simulated(rate=1e6)
    assert seen.records_per_s == pytest.approx(simulated().records_per_s, rel=1e-3)
    waits = [point.p50_ms for point in seen.series]
    assert waits == sorted(waits)
    assert waits[-1] - waits[0] == pytest.approx(5_000 * (1 - seen.records_per_s / 1e6), rel=0.05)


def test_nobody_takes_it_for_a_measurement() -> None:
    seen = simulated()
    assert seen.origin.generator == "simulated"
    assert seen.warnings == ("simulated, not measured",)


@pytest.mark.parametrize("record_bytes", [10, 1_000, 100_000])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"linger.ms": 0},
        {"compression.type": "zstd", "linger.ms": 20},
        {"compression.type": "gzip", "compression.level": 9},
        {"batch.size": 4_096, "max.in.flight": 1},
    ],
)
def test_without_noise_a_trial_has_the_true_numbers(record_bytes: int, changes: dict[str, Value]) -> None:
    truth, config = Truth.of(record_bytes), ProducerConfig.parse(changes)
    outcome = truth.outcome(config)
    found = metrics_of(QUIET.run(config, truth.saturating), QUIET.run(config, truth.paced))
    assert found["mb_per_s"] == pytest.approx(outcome.mb_per_s, rel=0.002)
    assert found["held_rate_ratio"] == pytest.approx(outcome.held_rate_ratio, abs=0.002)
    # Where latency grows all the while, the percentile of the whole phase is only near enough.
    # So is that of few records, of which the phase has a few thousand at 100 kB.
    few = 0.02 if record_bytes == 100_000 else 0.005
    close = few if outcome.held_rate_ratio == 1 else 0.05
    assert found["latency_p99_ms"] == pytest.approx(outcome.latency_p99_ms, rel=close)
    assert found["latency_p50_ms"] == pytest.approx(outcome.latency_p50_ms, rel=close)


def test_a_run_s_luck_is_not_averaged_out_and_a_window_s_is() -> None:
    by_run = SimulatedRunner(0.05, window_noise_ratio=0.0)
    assert spread(rate, by_run, measured_s=1) == pytest.approx(0.05, rel=0.15)
    assert spread(rate, by_run, measured_s=16) == pytest.approx(0.05, rel=0.15)
    by_window = SimulatedRunner(0.0, window_noise_ratio=0.05)
    assert spread(rate, by_window, measured_s=1) == pytest.approx(0.05, rel=0.15)
    assert spread(rate, by_window, measured_s=16) == pytest.approx(0.0125, rel=0.15)


def test_latencies_have_noise_of_their_own() -> None:
    runner = SimulatedRunner(0.0, latency_noise_ratio=0.2, latency_window_noise_ratio=0.0)
    assert spread(rate, runner) < 1e-4
    assert spread(p99, runner) == pytest.approx(0.2, rel=0.15)
    by_window = SimulatedRunner(0.0, latency_window_noise_ratio=0.1)
    assert spread(p99, by_window, measured_s=16) < 0.5 * spread(p99, by_window, measured_s=1)


def test_a_paced_rate_has_no_noise_as_long_as_it_is_held() -> None:
    runs = [SimulatedRunner(0.05).run(DEFAULTS, load(rate=20_000, seed=seed)) for seed in range(5)]
    assert {run.records_per_s for run in runs} == {20_000.0}
    assert len({run.latency.percentile_us(0.99) for run in runs}) == len(runs)


def test_a_run_that_is_stopped_shows_what_it_would_have_shown() -> None:
    seen: list[Window] = []

    def watch(window: Window) -> WatchDecision:
        seen.append(window)
        return WatchDecision.STOP if window.number == 2 else WatchDecision.GO_ON

    stopped, whole = SimulatedRunner(0.05).run(DEFAULTS, load(), watch), SimulatedRunner(0.05).run(DEFAULTS, load())
    assert len(seen) == 3
    assert stopped.stopped_early
    assert stopped.series == whole.series[:3]


def test_a_runner_crosses_process_borders() -> None:
    runner = SimulatedRunner(
        0.05, REMOTE, drift=Drift(0.01), weaknesses=(Weakness("linger.ms", above=50, lost_ratio=0.1),)
    )
    copy = pickle.loads(pickle.dumps(runner))
    assert copy == runner
    assert copy.run(QUICK, load()).series == runner.run(QUICK, load()).series


@pytest.mark.parametrize(
    ("drift", "trial", "slowness"),
    [
        (Drift(), 70, 1.0),
        (Drift(per_trial_ratio=0.001), 0, 1.0),
        (Drift(per_trial_ratio=0.001), 100, 1.1),
        (Drift(step_at=20, step_ratio=0.25), 19, 1.0),
        (Drift(step_at=20, step_ratio=0.25), 20, 1.25),
        (Drift(swing_ratio=0.1, swing_trials=40), 10, 1.1),
        (Drift(swing_ratio=0.1, swing_trials=40), 20, 1.0),
        (Drift(swing_ratio=0.1, swing_trials=40), 30, 0.9),
        (Drift(per_trial_ratio=0.01, step_at=5, step_ratio=0.5), 10, 1.1 * 1.5),
    ],
)
def test_drift_slows_rates_and_latencies_down_by_the_number_of_the_trial(
    drift: Drift, trial: int, slowness: float
) -> None:
    first_seed = 1_000
    runner = SimulatedRunner(drift=drift, first_seed=first_seed)
    before, after = QUIET.run(DEFAULTS, load()), runner.run(DEFAULTS, load(seed=first_seed + trial))
    assert before.mb_per_s / after.mb_per_s == pytest.approx(slowness, rel=1e-3)
    assert p99(after) / p99(before) == pytest.approx(slowness, rel=5e-3)


def test_a_config_that_loses_records_says_how_many() -> None:
    runner = SimulatedRunner(weaknesses=(Weakness("queue.buffering.max.messages", below=5_000, lost_ratio=0.02),))
    small = ProducerConfig.parse({"queue.buffering.max.messages": 4_000, "batch.num.messages": 1_000})
    found = metrics_of(runner.run(small, load()), None)
    assert found["delivered_ratio"] == pytest.approx(0.98, abs=1e-4)
    assert metrics_of(runner.run(DEFAULTS, load()), None)["delivered_ratio"] == 1.0


@pytest.mark.parametrize(
    ("weakness", "error"),
    [
        (Weakness("linger.ms", above=10, failure=Failure.DELIVERY_FAILED), DeliveryFailed),
        (Weakness("linger.ms", below=30, above=10, failure=Failure.BROKER_LOST), BrokerLost),
        (Weakness("compression.type", word="gzip", failure=Failure.WORKER_LOST), WorkerLost),
    ],
)
def test_a_config_that_fails_fails_always(weakness: Weakness, error: type[RunnerError]) -> None:
    runner = SimulatedRunner(weaknesses=(weakness,))
    config = ProducerConfig.parse({"linger.ms": 20, "compression.type": "gzip"})
    for seed in range(5):
        with pytest.raises(error, match=rf"^simulated: .* by its {weakness.name}"):
            runner.run(config, load(seed=seed))
    assert runner.run(DEFAULTS, load()).records > 0


def test_mishaps_come_as_often_as_asked_whatever_the_config() -> None:
    runner = SimulatedRunner(mishaps=(Mishap(Failure.BROKER_LOST, 0.1), Mishap(Failure.WORKER_LOST, 0.2)))
    failed: list[type[RunnerError]] = []
    windows: list[int] = []
    for seed in range(500):
        seen: list[Window] = []
        try:
            runner.run(DEFAULTS, Workload(RecordSizes.fixed(100), warmup_s=0, measured_s=3, seed=seed), _keep(seen))
        except RunnerError as error:
            failed.append(type(error))
            windows.append(len(seen))
    assert failed.count(BrokerLost) / 500 == pytest.approx(0.1, abs=0.04)
    assert failed.count(WorkerLost) / 500 == pytest.approx(0.18, abs=0.05), "of the runs that lost no broker"
    assert set(windows) == {0, 1, 2}, "at any time before the end"


def test_the_same_run_has_the_same_luck_again() -> None:
    runner = SimulatedRunner(mishaps=(Mishap(Failure.BROKER_LOST, 0.5),))

    def outcome(seed: int) -> str:
        try:
            return str(runner.run(DEFAULTS, load(seed=seed)).records)
        except BrokerLost as error:
            return str(error)

    assert [outcome(seed) for seed in range(20)] == [outcome(seed) for seed in range(20)]


def test_what_could_go_wrong_does_not_change_what_goes_well() -> None:
    with_mishaps = SimulatedRunner(0.05, mishaps=(Mishap(Failure.BROKER_LOST, 0.0),))
    certain = SimulatedRunner(0.05, mishaps=(Mishap(Failure.WORKER_LOST, 0.0),))
    assert with_mishaps.run(QUICK, load()).series == certain.run(QUICK, load()).series


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"below": 3, "word": "x"},
        {"below": 3},
        {"below": 3, "lost_ratio": 1.0},
        {"below": 3, "lost_ratio": 0.1, "failure": Failure.BROKER_LOST},
    ],
)
def test_a_weakness_that_means_nothing_is_refused(values: dict[str, object]) -> None:
    with pytest.raises(ValueError, match=r"^a weakness"):
        Weakness("linger.ms", **values)  # type: ignore[arg-type]


def test_repeats_differ_by_their_noise_around_the_truth() -> None:
    truth = Truth.of(1_000)
    loads = (Workload(RecordSizes.fixed(1_000), compressibility_ratio=0.5, seed=seed) for seed in range(100))
    mean = fmean(SimulatedRunner(0.05).run(QUICK, each).mb_per_s for each in loads)
    assert mean == pytest.approx(truth.outcome(QUICK).mb_per_s, rel=0.02)


def _keep(seen: list[Window]) -> Callable[[Window], WatchDecision]:
    def watch(window: Window) -> WatchDecision:
        seen.append(window)
        return WatchDecision.GO_ON

    return watch
