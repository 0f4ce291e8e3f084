"""The values and intervals that a calibrated performance model computes for a client's settings under a load."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, inf, log, log1p, sqrt
from statistics import NormalDist
from typing import Final, Self

import numpy as np
from numpy.typing import NDArray

from objectives.ratios import LEVEL
from runners.performance_model.performance import Performance, all_performances
from runners.performance_model.settings import Settings
from runners.performance_model.stages import REQUEST_HEADER_BYTES
from runners.workload import Workload
from tuner.prediction.calibration import Calibration
from tuner.prediction.correction import latency_load, noise_ratio, unsteadiness
from tuner.prediction.fitted_constants import STEP, with_shifted_logs
from tuner.prediction.predicted_metrics import ALL_LATENCIES, BATCHES, FITTED, PERCENTILE_PAIRS, WIRE

_MEASURED_AS: Final[Mapping[str, str]] = {"mb_per_s": "records_per_s", "broker_cpu_cores": "broker_cpu_ms_per_mb"}
"""Predicted metrics that a study measures in another unit, with the name of the measured metric."""
_UNFITTED_SD_LOG: Final = 0.1
"""The scatter of measurements around the model, for metrics to which the model is not fitted.

It is the standard deviation of the logarithm.
"""
QUANTILE: Final = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""A 95 % interval extends by this many standard deviations to each side."""
_INDEX_EVERY_BYTES: Final = 4_096
"""`index.interval.bytes`, by default: a broker writes the position of a batch to its indexes after this many bytes."""
_INDEX_ENTRY_BYTES: Final = 20
"""Bytes of an entry in the offset index (8) and in the time index (12).

Source: `OffsetIndex` and `TimeIndex` of Kafka 4.3.
"""


_LARGEST_SHARE: Final = 0.98
"""The largest share of the throughput for which the upper end of a latency's interval is computed.

On a host that is still slower, the config falls behind, and the latency has no upper end.
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A predicted value.

    Attributes:
        value: The value.
        low: Lower end of the interval. The interval is computed for 95 %; about 9 of 10 single measurements lie in it.
        high: Upper end of the interval.
    """

    value: float
    low: float
    high: float

    def clipped(self, least: float, most: float) -> "Interval":
        """Return the interval without what lies below or above the possible values."""
        return Interval(*(min(most, max(least, each)) for each in (self.value, self.low, self.high)))

    def above(self, other: "Interval") -> "Interval":
        """Return the interval of a number that can't be below another one."""
        return Interval(max(self.value, other.value), max(self.low, other.low), max(self.high, other.high))


@dataclass(frozen=True, slots=True)
class _Computed:
    """What the model computes for a client's settings under a load.

    Attributes:
        workload: The load.
        performance: The performance with the fitted constants.
        raised: The same for each fitted constant, with its logarithm raised by `STEP`.
    """

    workload: Workload
    performance: Performance
    raised: tuple[Performance, ...]

    def slopes(self, metric: str) -> NDArray[np.float64]:
        """Return the slopes of a metric's logarithm over the logarithm of each constant, shape (constants,)."""
        here = self.performance.value_of(metric)
        return np.array([log(each.value_of(metric) / here) / STEP for each in self.raised])


@dataclass(frozen=True, slots=True)
class ModelledLoad:
    """A client's settings under a load, and what the model computes for them.

    Attributes:
        calibration: The fitted constants.
        settings: The client's settings.
        workload: The load.
        computed: What the model computes for this load.
        computed_latencies: What the model computes for the load that `latency_load` returns for this one.
    """

    calibration: Calibration
    settings: Settings
    workload: Workload
    computed: _Computed
    computed_latencies: _Computed

    @classmethod
    def of(cls, calibration: Calibration, *loads: tuple[Settings, Workload]) -> list[Self]:
        """Compute the model for each load, which is a client's settings and a workload."""
        latency_loads = [
            (settings, latency_load(calibration.corrections, settings, workload)) for settings, workload in loads
        ]
        wanted = [*dict.fromkeys([*loads, *latency_loads])]
        performances = all_performances([calibration.constants, *calibration.perturbed], wanted)
        computed = {
            (settings, workload): _Computed(workload, here, tuple(raised))
            for (settings, workload), (here, *raised) in zip(wanted, zip(*performances, strict=True), strict=True)
        }
        return [
            cls(calibration, *load, computed[load], computed[for_latencies])
            for load, for_latencies in zip(loads, latency_loads, strict=True)
        ]

    @property
    def performance(self) -> Performance:
        """The performance of this load with the fitted constants."""
        return self.computed.performance

    def intervals(self, metrics: Sequence[str]) -> dict[str, Interval]:
        """Return metrics with their intervals, from the uncertainty of the constants and the scatter of measurements.

        The values are those of the model after its correction.
        """
        calibration = self.calibration
        deviations = self._deviations(metrics)
        by_name = {}
        for name in metrics:
            modelled, measured = self._computed_for(name).performance, _MEASURED_AS.get(name, name)
            value, unsteady = modelled.value_of(name), unsteadiness(measured, self.settings, modelled)
            if measured in calibration.corrections:
                missing, scatter = calibration.corrections[measured].at(
                    self.settings, self.workload, noise_ratio(unsteady)
                )
                value *= exp(missing)
            else:
                usual = FITTED[measured].model_sd_log if measured in FITTED else _UNFITTED_SD_LOG
                scatter = noise_ratio(unsteady) * calibration.scatter.get(measured, usual)
            value *= calibration.factors.get(measured, 1.0)
            down, up = (hypot(each, QUANTILE * scatter) for each in deviations[name])
            # While requests fill the sockets, an unsteady median is this long.
            up = max(up, unsteady * log1p(modelled.full_sockets_ms / value))
            by_name[name] = Interval(value, value * exp(-down), value * exp(up))
            if name == BATCHES:
                by_name[name] = by_name[name].clipped(1.0, self._most_records())
        for median, p99 in PERCENTILE_PAIRS:
            if median in by_name and p99 in by_name:
                by_name[p99] = by_name[p99].above(by_name[median])
        return by_name

    @property
    def stored_bytes_per_record(self) -> Interval:
        """How many bytes one record adds to a broker's disk, with its share of the batch header and the index files."""
        # The correction of the bytes on the wire is known for a load at full speed.
        corrected_as = replace(self, workload=replace(self.workload, rate_records_per_s=None))
        wire, records = corrected_as.intervals((WIRE,))[WIRE], self.performance.batch_records

        def stored_bytes(wire_bytes_per_value_byte: float) -> float:
            value_bytes = records * self.workload.record_sizes.mean_bytes
            batch_bytes = value_bytes * wire_bytes_per_value_byte - REQUEST_HEADER_BYTES
            return batch_bytes * (1 + _INDEX_ENTRY_BYTES / max(_INDEX_EVERY_BYTES, batch_bytes)) / records

        return Interval(*map(stored_bytes, (wire.value, wire.low, wire.high)))

    def _deviations(self, metrics: Sequence[str]) -> dict[str, tuple[float, float]]:
        """Return by how much the logarithms of metrics may be lower and higher, without the scatter of measurements.

        The constants are uncertain, and for latencies also the speed of the host (`_deviations_by_speed`). If the rate
        is near the throughput, a latency is far from linear in the constants. So its slopes are not used: the latency
        is computed again with the constants that make it low, and with those that make it high.
        """
        calibration = self.calibration
        deviations, steps = {}, {}
        for metric in metrics:
            slopes = self._computed_for(metric).slopes(metric)
            sd = sqrt(float(slopes @ calibration.covariance @ slopes))
            deviations[metric] = QUANTILE * sd, QUANTILE * sd
            if metric in ALL_LATENCIES and sd:
                steps[metric] = QUANTILE / sd * (calibration.covariance @ slopes)
        ends = [with_shifted_logs(calibration.constants, logs) for each in steps.values() for logs in (-each, each)]
        computed = self.computed_latencies
        performances = [each for [each] in all_performances(ends, [(self.settings, computed.workload)])]
        by_speed = self._deviations_by_speed(steps)
        for metric, *extremes in zip(steps, performances[::2], performances[1::2], strict=True):
            fitted, low, high = (each.value_of(metric) for each in (computed.performance, *extremes))
            down, up = by_speed[metric]
            deviations[metric] = hypot(log(fitted / low), down), hypot(log(high / fitted), up)
        return deviations

    def _deviations_by_speed(self, latencies: Collection[str]) -> dict[str, tuple[float, float]]:
        """Return by how much the logarithms of latencies may be lower and higher, because the host's speed changes.

        On a slower host, the rate is a higher share of the throughput, so records wait longer. How much the speed
        changes is known from the scatter of the throughput.
        """
        computed = self.computed_latencies
        rate = computed.workload.rate_records_per_s
        if rate is None or not latencies:
            return dict.fromkeys(latencies, (0.0, 0.0))
        corrected = self.calibration.corrections.get("records_per_s")
        faster = exp(QUANTILE * (corrected.noise_sd if corrected else FITTED["records_per_s"].noise_sd_log))
        most = max(rate, _LARGEST_SHARE * computed.performance.capacity_records_per_s)
        rates = (rate / faster, min(rate * faster, most))
        loads = [(self.settings, replace(computed.workload, rate_records_per_s=each)) for each in rates]
        [[fast, slow]] = all_performances([self.calibration.constants], loads)
        here = computed.performance
        return {
            name: (log(here.value_of(name) / fast.value_of(name)), log(slow.value_of(name) / here.value_of(name)))
            for name in latencies
        }

    def _computed_for(self, metric: str) -> _Computed:
        """Return what the model computes for the load from which a metric is predicted."""
        return self.computed_latencies if metric in ALL_LATENCIES else self.computed

    def _most_records(self) -> float:
        """Return the most records that a batch can have; infinite if that depends on what the codec removes."""
        if self.settings.counts_compressed and self.settings.codec != "none":
            return inf
        return self.performance.full_batch_records
