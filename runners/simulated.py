"""A runner with no Kafka: a small closed-form model, for tests and rehearsals. What it gives is never a measurement.

Batches fill until they are full or `linger.ms` is over; a request costs a fixed time and a time per byte; as many as
the config allows are in flight. Enough for configs to differ in a sensible way, and for the same call to give the same
numbers.
"""

import hashlib
from dataclasses import dataclass
from typing import Final

import numpy as np

from runners.clock import NS_PER_S
from runners.histogram import Histogram
from runners.measurement import Counts, Measurement, Origin, Phase, Resources, TimePoint, Window
from runners.phases import Phases
from runners.runner import Answer, Watch, go_on
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig

_REQUEST_S: Final = 0.5e-3
_BYTES_PER_S: Final = 300e6
_SENDER_RECORDS_PER_S: Final = 4e6
_USEFUL_IN_FLIGHT: Final = 5
_SAMPLES_PER_WINDOW: Final = 2_000
_LATENCY_SPREAD: Final = 0.3


@dataclass(frozen=True, slots=True)
class SimulatedRunner:
    """A `Runner` that computes instead of measuring, in no time.

    Attributes:
        noise_ratio: Standard deviation of each window's rate and latency, relative to the model's value.
    """

    noise_ratio: float = 0.0

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """See `Runner.run`."""
        rng = np.random.default_rng(_seed(config, workload))
        rate, latency_s = _model(config, workload)
        phases = Phases.of(workload)
        windows: list[Window] = []
        stopped = False
        for number, end_ns in enumerate(phases.ends_ns):
            start_ns = phases.ends_ns[number - 1] if number else 0
            seconds = (end_ns - start_ns) / NS_PER_S
            records = max(1, round(rate * seconds * self._noise(rng)))
            centre_us = latency_s * 1e6 * self._noise(rng)
            samples = centre_us * rng.lognormal(0.0, _LATENCY_SPREAD, size=min(records, _SAMPLES_PER_WINDOW))
            window = Window(
                number=number,
                phase=phases.phase(number),
                at_s=end_ns / NS_PER_S,
                duration_s=seconds,
                records=records,
                value_bytes=records * workload.record_sizes.mean_bytes,
                failed=0,
                queue_full_ratio=0.0 if workload.rate_records_per_s else 0.9,
                latency=Histogram.of(samples.astype(np.int64)),
                total_windows=len(phases.ends_ns),
            )
            windows.append(window)
            if watch(window) is Answer.STOP:
                stopped = True
                break
        return _measurement(config, workload, windows, stopped)

    def _noise(self, rng: np.random.Generator) -> float:
        return float(np.exp(rng.normal(0.0, self.noise_ratio))) if self.noise_ratio else 1.0


def _seed(config: ProducerConfig, workload: Workload) -> int:
    digest = hashlib.sha256(f"{config.fingerprint} {workload}".encode()).digest()
    return int.from_bytes(digest[:8], "big")


def _model(config: ProducerConfig, workload: Workload) -> tuple[float, float]:
    """Records per second and latency in seconds."""
    size = workload.record_sizes.mean_bytes
    in_flight = min(_USEFUL_IN_FLIGHT, int(config.effective("max.in.flight.requests.per.connection")))
    offered = workload.rate_records_per_s or _SENDER_RECORDS_PER_S
    filled = max(1.0, min(config.max_batch_bytes / size, offered * config.linger_ms / 1e3 / workload.partitions))
    request_s = _REQUEST_S + filled * size / _BYTES_PER_S
    capacity = min(_SENDER_RECORDS_PER_S, _BYTES_PER_S / size, in_flight * filled / request_s)
    if workload.rate_records_per_s is not None and workload.rate_records_per_s < capacity:
        return workload.rate_records_per_s, config.linger_ms / 2e3 + request_s
    return capacity, config.queue_bytes / size / capacity


def _measurement(config: ProducerConfig, workload: Workload, windows: list[Window], stopped_early: bool) -> Measurement:
    measured = [window for window in windows if window.phase is Phase.MEASURED] or windows
    total = sum(window.records for window in windows)
    return Measurement(
        config=config,
        workload=workload,
        origin=Origin("simulated", "none", "simulated", "", "", 1.0),
        duration_s=sum(window.duration_s for window in measured),
        records=sum(window.records for window in measured),
        value_bytes=sum(window.value_bytes for window in measured),
        latency=Histogram.merge(window.latency for window in measured),
        send_delay=Histogram.merge(()),
        sample_ratio=min(1.0, sum(window.latency.count for window in measured) / max(1, total)),
        counts=Counts(
            handed_over=total,
            acknowledged=total,
            failed={},
            transmitted=total,
            retries=0,
            stored=total,
            acks=config.acks,
            idempotent=config.idempotent,
            sole_writer=True,
        ),
        latency_check=None,
        resources=Resources(),
        activity=None,
        series=tuple(TimePoint.of(window) for window in windows),
        stopped_early=stopped_early,
        warnings=("simulated, not measured",),
    )
