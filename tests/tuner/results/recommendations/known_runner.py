"""A runner with simple, known effects: `linger.ms` decides the latency, and the codec decides the throughput."""

from random import Random

import numpy as np

from runners.measurements.histogram import Histogram
from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.measurements import counts, measurement

LZ4_GAIN = 1.4
_RECORDS_PER_S = 50_000.0
_SHARES = np.linspace(0.5, 1.5, 500)


class KnownRunner:
    """A runner whose p99 grows with `linger.ms`, and whose throughput is 1.4 times as high with lz4.

    Args:
        noise_ratio: Relative standard deviation of throughput and latency from run to run.
    """

    def __init__(self, noise_ratio: float) -> None:
        self._noise_ratio = noise_ratio
        self._random = Random(1)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        capacity = _RECORDS_PER_S * (LZ4_GAIN if config.compression == "lz4" else 1.0) * self._noise()
        records_per_s = min(capacity, workload.rate_records_per_s or capacity)
        records = round(records_per_s * workload.measured_s)
        latency_us = (1e3 + 1e3 * config.linger_ms) * self._noise() * _SHARES
        counted = {"handed_over": records, "acknowledged": records, "transmitted": records, "stored": records}
        return measurement(
            config=config,
            workload=workload,
            duration_s=workload.measured_s,
            records=records,
            value_bytes=records * workload.record_sizes.mean_bytes,
            latency=Histogram.of(latency_us.astype(np.int64)),
            counts=counts(**counted, acks=config.acks),
        )

    def _noise(self) -> float:
        return self._random.lognormvariate(0.0, self._noise_ratio)
