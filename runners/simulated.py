"""Simulates measurements instead of sending records to Kafka, for rehearsing a study and for tests.

The performance model (`runners.performance_model`) computes throughput and latency, and random noise is added if it is
requested. `benchmarks/problems` has simulated problems whose best configs are known.
"""

import hashlib
import math
from dataclasses import dataclass, replace
from functools import lru_cache
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from runners.clock import NS_PER_S
from runners.measurements.histogram import Histogram
from runners.measurements.measurement import ClientActivity, Counts, Measurement, Origin, TimePoint, Window, WindowKind
from runners.measurements.resources import Resources
from runners.performance_model.constants import EMBEDDED, ClusterConstants
from runners.performance_model.performance import performance
from runners.runner import Runner, Watch, WatchDecision, WindowSchedule, go_on
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

_SAMPLES_PER_WINDOW: Final = 2_000
_GOLDEN_RATIO: Final = 0.6180339887498949
_UNKNOWN: Final = Resources()
WARNING: Final = "simulated, not measured"


@dataclass(frozen=True, slots=True)
class SimulatedNoise:
    """How strong the noise of simulated measurements is.

    Each attribute is the standard deviation of the logarithm of a value. A small value such as 0.05 is nearly the same
    as a relative standard deviation of 5 %. A window is a part of a run, at most a second long.

    Attributes:
        run_ratio: Noise of rates from run to run, which a longer run does not average out.
        window_ratio: Noise of rates from window to window of one run.
        latency_run_ratio: Noise of latencies from run to run.
        latency_window_ratio: Noise of latencies from window to window of one run.
    """

    run_ratio: float
    window_ratio: float
    latency_run_ratio: float
    latency_window_ratio: float

    @classmethod
    def of(
        cls,
        run_ratio: float,
        window_ratio: float | None,
        latency_run_ratio: float | None,
        latency_window_ratio: float | None,
    ) -> "SimulatedNoise":
        """Return the noise; None for windows means the noise of runs, None for latencies means the noise of rates."""
        window = run_ratio if window_ratio is None else window_ratio
        return cls(
            run_ratio,
            window,
            run_ratio if latency_run_ratio is None else latency_run_ratio,
            window if latency_window_ratio is None else latency_window_ratio,
        )


@dataclass(frozen=True, slots=True)
class Expected:
    """What a simulated run would measure without noise.

    Attributes:
        capacity_records_per_s: Acknowledged records per second of a saturating load. A paced load with a lower rate is
            acknowledged at its own rate.
        latency_p50_ms: Median latency; NaN if unknown. If the rate exceeds the capacity, it is the median at the start
            of the load.
        latency_spread: Standard deviation of the logarithm of the latency.
        queue_full_ratio: Share of the time in which the sender waits for room in the client's queue.
        resources: CPU use.
        activity: What the client's statistics report, without the bytes on the wire; None if unknown.
        wire_bytes_per_value_byte: Bytes on the wire per byte of value; None if unknown.
    """

    capacity_records_per_s: float
    latency_p50_ms: float
    latency_spread: float
    queue_full_ratio: float = 0.0
    resources: Resources = _UNKNOWN
    activity: ClientActivity | None = None
    wire_bytes_per_value_byte: float | None = None


class SimulatedRun:
    """One simulated run.

    Noise is drawn in the order of the windows, so a run that is stopped early begins with the same windows as a
    complete run.

    Args:
        origin: Where the measurement comes from.
        config: The config.
        workload: The workload.
        expected: What the run would measure without noise.
        noise: How strong the noise is.
        generator: Generator of the random numbers for the noise.
    """

    def __init__(
        self,
        origin: Origin,
        config: ProducerConfig,
        workload: Workload,
        expected: Expected,
        noise: SimulatedNoise,
        generator: np.random.Generator,
    ) -> None:
        self._origin, self._config, self._workload = origin, config, workload
        self._expected, self._noise, self._generator = expected, noise, generator
        self._schedule = WindowSchedule.of(workload)
        rate_factor, latency_factor = self._factors(noise.run_ratio, noise.latency_run_ratio)
        self._capacity = expected.capacity_records_per_s * rate_factor
        self._median_us = expected.latency_p50_ms * 1e3 * latency_factor

    def run(self, watch: Watch, warning: str) -> Measurement:
        """Compute the windows, pass each to `watch`, and return the measurement.

        The run ends early when `watch` returns `STOP`.
        """
        windows: list[Window] = []
        stopped = False
        while len(windows) < len(self._schedule.ends_ns) and not stopped:
            windows.append(self._window(len(windows)))
            stopped = watch(windows[-1]) is WatchDecision.STOP
        return self._measurement(windows, warning, stopped_early=stopped)

    def _window(self, number: int) -> Window:
        end_ns = self._schedule.ends_ns[number]
        start_ns = self._schedule.ends_ns[number - 1] if number else 0
        seconds = (end_ns - start_ns) / NS_PER_S
        rate_factor, latency_factor = self._factors(self._noise.window_ratio, self._noise.latency_window_ratio)
        capacity, offered = self._capacity * rate_factor, self._workload.rate_records_per_s
        records = max(1, round((capacity if offered is None else min(offered, capacity)) * seconds))
        latency_us = self._latencies_us(latency_factor, min(records, _SAMPLES_PER_WINDOW))
        if offered is not None and self._capacity < offered:
            # Records that exceed the capacity wait, and the wait grows for as long as the load continues. `moments`
            # says when in its window each record was meant to leave, from 0 to 1. The latencies are in ascending order,
            # so the moments are spread evenly over them.
            moments = np.mod(np.arange(len(latency_us)) * _GOLDEN_RATIO, 1.0)
            moments_us = start_ns / 1e3 + moments * seconds * 1e6
            latency_us = latency_us + (1.0 - self._capacity / offered) * moments_us
        return Window(
            number=number,
            phase=self._schedule.kind(number),
            at_s=end_ns / NS_PER_S,
            duration_s=seconds,
            records=records,
            value_bytes=records * self._workload.record_sizes.mean_bytes,
            failed=0,
            queue_full_ratio=self._expected.queue_full_ratio,
            latency=Histogram.of(np.rint(latency_us).astype(np.int64)),
            total_windows=len(self._schedule.ends_ns),
        )

    def _measurement(self, windows: list[Window], warning: str, *, stopped_early: bool) -> Measurement:
        """Return the measurement of the windows in the measured phase, or of all windows if that phase has none."""
        measured = [window for window in windows if window.phase is WindowKind.MEASURED] or windows
        acknowledged = sum(window.records for window in windows)
        value_bytes = sum(window.value_bytes for window in measured)
        return Measurement(
            config=self._config,
            workload=self._workload,
            origin=self._origin,
            duration_s=sum(window.duration_s for window in measured),
            records=sum(window.records for window in measured),
            value_bytes=value_bytes,
            latency=Histogram.merge(window.latency for window in measured),
            send_delay=Histogram.merge(()),
            sample_ratio=min(1.0, sum(window.latency.count for window in measured) / max(1, acknowledged)),
            counts=Counts(
                handed_over=acknowledged,
                acknowledged=acknowledged,
                failed={},
                transmitted=acknowledged,
                retries=0,
                stored=acknowledged,
                acks=self._config.acks,
                idempotent=self._config.idempotent,
                sole_writer=True,
            ),
            latency_check=None,
            resources=self._expected.resources,
            activity=self._activity(value_bytes),
            series=tuple(TimePoint.of(window) for window in windows),
            stopped_early=stopped_early,
            warnings=(warning,),
        )

    def _activity(self, value_bytes: float) -> ClientActivity | None:
        activity, ratio = self._expected.activity, self._expected.wire_bytes_per_value_byte
        if activity is None or ratio is None:
            return activity
        return replace(activity, wire_bytes=round(value_bytes * ratio))

    def _factors(self, rate_ratio: float, latency_ratio: float) -> tuple[float, float]:
        rate, latency = self._generator.normal(0.0, 1.0, size=2)
        return float(np.exp(rate * rate_ratio)), float(np.exp(latency * latency_ratio))

    def _latencies_us(self, factor: float, count: int) -> NDArray[np.float64]:
        """Return ascending latencies that are spread evenly over their log-normal distribution.

        They are not drawn at random, so they add no noise. The result is empty if the median is unknown.
        """
        if math.isnan(self._median_us):
            return np.zeros(0)
        return np.exp(_normal_quantiles(count) * self._expected.latency_spread) * (self._median_us * factor)


def generator_of(config: ProducerConfig, workload: Workload) -> np.random.Generator:
    """Return the generator of the random numbers for the noise of a run.

    The same config and the same workload, including its seed, always give the same numbers.
    """
    digest = hashlib.sha256(f"{config.fingerprint} {workload}".encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


@lru_cache(maxsize=64)
def _normal_quantiles(count: int) -> NDArray[np.float64]:
    """Return `count` ascending quantiles of the standard normal distribution.

    A histogram of these values has the percentiles of the distribution.
    """
    normal = NormalDist()
    return np.array([normal.inv_cdf(min(number / count, 1.0 - 0.25 / count)) for number in range(1, count + 1)])


@dataclass(frozen=True, slots=True)
class SimulatedRunner(Runner):
    """A `Runner` that computes its measurements. The same call always gives the same numbers.

    As in reality, there are two kinds of noise. The noise from run to run is drawn once per run, and a longer run does
    not average it out. The noise from window to window is drawn for each window, and a longer run averages it out. The
    draws depend on the config and on the whole workload, including its seed. To simulate another measurement of the
    same config, change the seed.

    Attributes:
        noise_ratio: Noise of rates from run to run: the standard deviation relative to the model's value (of its
            logarithm, to be exact).
        cluster: The simulated cluster.
        window_noise_ratio: Noise of rates from window to window; None means the same as `noise_ratio`.
        latency_noise_ratio: Noise of latencies from run to run; None means the same as `noise_ratio`.
        latency_window_noise_ratio: Noise of latencies from window to window; None means the same as for rates.
    """

    noise_ratio: float = 0.0
    cluster: ClusterConstants = EMBEDDED
    window_noise_ratio: float | None = None
    latency_noise_ratio: float | None = None
    latency_window_noise_ratio: float | None = None

    @override
    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        generator = generator_of(config, workload)
        generator.random()  # keeps the numbers of older simulated studies: without this draw, all of them would change
        noise = SimulatedNoise.of(
            self.noise_ratio, self.window_noise_ratio, self.latency_noise_ratio, self.latency_window_noise_ratio
        )
        truth = performance(self.cluster, config, workload)
        value_bytes = workload.record_sizes.mean_bytes
        expected = Expected(
            capacity_records_per_s=truth.capacity_records_per_s,
            latency_p50_ms=truth.latency_p50_ms,
            latency_spread=truth.latency_spread,
            queue_full_ratio=truth.queue_full_ratio,
            resources=Resources(
                sender_cpu_ratio=truth.sender_cpu_cores,
                client_thread_cpu_ratio=truth.client_cpu_cores,
                process_cpu_cores=truth.sender_cpu_cores + truth.client_cpu_cores,
                host_cores=int(self.cluster.client_cores),
                broker_cpu_cores=truth.broker_cpu_cores,
            ),
            activity=ClientActivity(
                queue_full_ratio=truth.queue_full_ratio,
                queue_growth_ratio=truth.falling_behind_ratio,
                queued_records=truth.queued_records,
                queued_bytes=truth.queued_records * value_bytes,
                in_flight_requests=truth.in_flight_requests,
                throttle_ms=0.0,
                wire_bytes=None,
                batch_records=truth.batch_records,
                batch_bytes=truth.batch_records * value_bytes * truth.wire_bytes_per_value_byte,
                retries=0,
                partitions_used=workload.partitions,
            ),
            wire_bytes_per_value_byte=truth.wire_bytes_per_value_byte,
        )
        origin = Origin("simulated", "none", "simulated", "", "", 1.0)
        return SimulatedRun(origin, config, workload, expected, noise, generator).run(watch, WARNING)
