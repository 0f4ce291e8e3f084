"""The simulated runner gives the same numbers for the same question, and sensible ones for different configs."""

import pytest

from runners.measurement import Measurement
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from search_spaces.values import Value


def simulated(rate: float | None = None, noise: float = 0.0, **properties: Value) -> Measurement:
    config = ProducerConfig.parse({name.replace("_", "."): value for name, value in properties.items()})
    workload = Workload(RecordSizes.fixed(1_000), warmup_s=1, measured_s=5, rate_records_per_s=rate)
    return SimulatedRunner(noise).run(config, workload)


def test_the_same_question_has_the_same_answer() -> None:
    first, second = simulated(noise=0.05), simulated(noise=0.05)
    assert (first.records, first.latency, first.series) == (second.records, second.latency, second.series)


def test_noise_differs_between_configs_and_windows() -> None:
    rates = [point.records_per_s for point in simulated(noise=0.05).series]
    assert len(set(rates)) == len(rates)
    quiet = [point.records_per_s for point in simulated().series]
    assert max(quiet) - min(quiet) <= 1, "but for rounding"


def test_tiny_batches_one_at_a_time_are_slow() -> None:
    slow = simulated(batch_size=2_000, max_in_flight_requests_per_connection=1)
    assert slow.records_per_s < simulated().records_per_s / 5


def test_a_rate_within_capacity_is_held_and_lingering_is_latency() -> None:
    assert simulated(rate=5_000).records_per_s == pytest.approx(5_000)
    quick, patient = simulated(rate=5_000, linger_ms=0), simulated(rate=5_000, linger_ms=50)
    assert quick.latency.mean_us + 20_000 < patient.latency.mean_us


def test_a_rate_past_capacity_is_not_held() -> None:
    assert simulated(rate=1e6).records_per_s < 1e6


def test_nobody_takes_it_for_a_measurement() -> None:
    seen = simulated()
    assert seen.origin.generator == "simulated"
    assert seen.warnings == ("simulated, not measured",)
