"""The intervals of predicted latencies: near the throughput, and of a percentile above another one."""

from dataclasses import replace
from itertools import product

import pytest

from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import Calibration, calibrate
from tuner.prediction.intervals import Interval
from tuner.prediction.observations import Observation
from tuner.prediction.predicting import predict

LOAD = Workload(RecordSizes.fixed(1000), compressibility_ratio=0.5)
CONFIG = ProducerConfig.parse({"linger.ms": 5, "batch.size": 131_072})


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    seen = []
    for linger_ms, batch_bytes in product((0, 5, 50), (16_384, 131_072)):
        config = ProducerConfig.parse({"linger.ms": linger_ms, "batch.size": batch_bytes})
        full = performance(EMBEDDED, config, LOAD)
        seen.append(Observation(config, LOAD, {"records_per_s": full.records_per_s}))
        paced = replace(LOAD, rate_records_per_s=0.3 * full.records_per_s)
        told = performance(EMBEDDED, config, paced)
        latencies = {"latency_p50_ms": told.latency_p50_ms, "latency_p99_ms": told.latency_p99_ms}
        seen.append(Observation(config, paced, latencies))
    return calibrate(seen)


def at_share(calibration: Calibration, share: float) -> dict[str, Interval]:
    full = performance(calibration.constants, CONFIG, LOAD).records_per_s
    return dict(predict(calibration, CONFIG, replace(LOAD, rate_records_per_s=share * full)).values)


def test_near_the_throughput_a_median_may_be_many_times_as_long(calibration: Calibration) -> None:
    """The client's defaults, measured three times at 80 % of their throughput, had medians of 5, 25 and 30 ms."""
    far, near = (at_share(calibration, share)["latency_p50_ms"] for share in (0.3, 0.8))
    assert far.high / far.value < 3
    assert near.high / near.value > 6
    assert near.low > far.low / 2


@pytest.mark.parametrize("share", [0.1, 0.5, 0.8, 0.94])
def test_a_p99_and_its_interval_are_not_below_those_of_the_median(calibration: Calibration, share: float) -> None:
    found = at_share(calibration, share)
    median, p99 = found["latency_p50_ms"], found["latency_p99_ms"]
    assert p99.value > median.value
    assert p99.low >= median.low
    assert p99.high >= median.high
