"""The simulated runner gives the same numbers for the same call, and those of the model if there is no noise."""

import pickle
from collections.abc import Callable
from statistics import fmean, stdev

import numpy as np
import pytest

from benchmarks.problems.truth import Truth
from objectives.metrics import metrics_of
from runners.measurements.measurement import Measurement, Window
from runners.performance_model.constants import REMOTE
from runners.runner import WatchDecision
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.properties.catalogue import Value

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
    """Return the standard deviation of the logarithm of a value over 150 trials."""
    runs = (runner.run(DEFAULTS, load(seed=seed, **workload)) for seed in range(150))
    return stdev(float(np.log(value(run))) for run in runs)


def rate(seen: Measurement) -> float:
    return seen.mb_per_s


def p99(seen: Measurement) -> float:
    return seen.latency.percentile_us(0.99)


def test_the_same_call_gives_the_same_measurement() -> None:
    first, second = simulated(noise=0.05), simulated(noise=0.05)
    assert (first.records, first.latency, first.series) == (second.records, second.latency, second.series)


def test_noise_differs_between_configs_trials_and_windows() -> None:
    rates = [point.records_per_s for point in simulated(noise=0.05).series]
    assert len(set(rates)) == len(rates)
    noisy = SimulatedRunner(0.05)
    assert noisy.run(DEFAULTS, load(seed=1)).records != noisy.run(DEFAULTS, load(seed=2)).records
    quiet = [point.records_per_s for point in simulated().series]
    assert max(quiet) - min(quiet) <= 1, "equal except for rounding"


def test_tiny_batches_with_one_request_in_flight_are_slow() -> None:
    slow = simulated(batch_size=2_000, max_in_flight_requests_per_connection=1)
    assert slow.records_per_s < simulated().records_per_s / 5


def test_a_rate_below_the_capacity_is_held_and_linger_adds_latency() -> None:
    assert simulated(rate=5_000).records_per_s == pytest.approx(5_000)
    quick, patient = simulated(rate=5_000, linger_ms=0.5), simulated(rate=5_000, linger_ms=50)
    assert quick.latency.mean_us + 20_000 < patient.latency.mean_us


def test_a_rate_above_the_capacity_is_not_held_and_latency_grows() -> None:
    seen = simulated(rate=1e6)
    assert seen.records_per_s == pytest.approx(simulated().records_per_s, rel=1e-3)
    waits = [point.p50_ms for point in seen.series]
    assert waits == sorted(waits)
    assert waits[-1] - waits[0] == pytest.approx(5_000 * (1 - seen.records_per_s / 1e6), rel=0.05)


def test_a_simulated_measurement_says_that_it_is_simulated() -> None:
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
def test_without_noise_a_trial_has_the_numbers_of_the_model(record_bytes: int, changes: dict[str, Value]) -> None:
    truth, config = Truth.of(record_bytes), ProducerConfig.parse(changes)
    outcome = truth.outcome(config)
    found = metrics_of(QUIET.run(config, truth.saturating), QUIET.run(config, truth.paced))
    assert found["mb_per_s"] == pytest.approx(outcome.mb_per_s, rel=0.002)
    assert found["held_rate_ratio"] == pytest.approx(outcome.held_rate_ratio, abs=0.002)
    # If the latency keeps growing, the percentile of the whole phase is only close to the true one. The same holds for
    # few records: at 100 kB the phase has only a few thousand.
    few = 0.02 if record_bytes == 100_000 else 0.005
    close = few if outcome.held_rate_ratio == 1 else 0.05
    assert found["latency_p99_ms"] == pytest.approx(outcome.latency_p99_ms, rel=close)
    assert found["latency_p50_ms"] == pytest.approx(outcome.latency_p50_ms, rel=close)


def test_a_longer_run_averages_out_noise_of_windows_only() -> None:
    by_run = SimulatedRunner(0.05, window_noise_ratio=0.0)
    assert spread(rate, by_run, measured_s=1) == pytest.approx(0.05, rel=0.15)
    assert spread(rate, by_run, measured_s=16) == pytest.approx(0.05, rel=0.15)
    by_window = SimulatedRunner(0.0, window_noise_ratio=0.05)
    assert spread(rate, by_window, measured_s=1) == pytest.approx(0.05, rel=0.15)
    assert spread(rate, by_window, measured_s=16) == pytest.approx(0.0125, rel=0.15)


def test_latencies_have_separate_noise() -> None:
    runner = SimulatedRunner(0.0, latency_noise_ratio=0.2, latency_window_noise_ratio=0.0)
    assert spread(rate, runner) < 1e-4
    assert spread(p99, runner) == pytest.approx(0.2, rel=0.15)
    by_window = SimulatedRunner(0.0, latency_window_noise_ratio=0.1)
    assert spread(p99, by_window, measured_s=16) < 0.5 * spread(p99, by_window, measured_s=1)


def test_a_paced_rate_has_no_noise_as_long_as_it_is_held() -> None:
    runs = [SimulatedRunner(0.05).run(DEFAULTS, load(rate=20_000, seed=seed)) for seed in range(5)]
    assert {run.records_per_s for run in runs} == {20_000.0}
    assert len({run.latency.percentile_us(0.99) for run in runs}) == len(runs)


def test_a_stopped_run_shows_the_same_windows_as_a_complete_one() -> None:
    seen: list[Window] = []

    def watch(window: Window) -> WatchDecision:
        seen.append(window)
        return WatchDecision.STOP if window.number == 2 else WatchDecision.GO_ON

    stopped, whole = SimulatedRunner(0.05).run(DEFAULTS, load(), watch), SimulatedRunner(0.05).run(DEFAULTS, load())
    assert len(seen) == 3
    assert stopped.stopped_early
    assert stopped.series == whole.series[:3]


def test_a_pickled_runner_gives_the_same_numbers() -> None:
    runner = SimulatedRunner(0.05, REMOTE)
    copy = pickle.loads(pickle.dumps(runner))
    assert copy == runner
    assert copy.run(QUICK, load()).series == runner.run(QUICK, load()).series


def test_the_mean_of_noisy_repeats_is_close_to_the_truth() -> None:
    truth = Truth.of(1_000)
    loads = (Workload(RecordSizes.fixed(1_000), compressibility_ratio=0.5, seed=seed) for seed in range(100))
    mean = fmean(SimulatedRunner(0.05).run(QUICK, each).mb_per_s for each in loads)
    assert mean == pytest.approx(truth.outcome(QUICK).mb_per_s, rel=0.02)
