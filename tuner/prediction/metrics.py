"""The metrics that the performance model predicts, and how well it describes them.

The constants of the model are fitted to the metrics of `FITTED`. They are not fitted to those of `FACTORED`: the
model's value of each of these is multiplied by a factor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

WIRE: Final = "wire_bytes_per_value_byte"
BATCHES: Final = "batch_records"
"""A metric of both loads: at full speed, and at a rate. Experiments measure it, and studies do not."""
FULL_SPEED_METRICS: Final = ("records_per_s", WIRE)
"""The fitted metrics of a load as fast as the client takes it."""
LATENCIES: Final = ("latency_p50_ms", "latency_p99_ms")
"""The fitted metrics of a load at a fixed rate."""
CPU: Final = ("client_cpu_ms_per_mb", "broker_cpu_ms_per_mb")
"""Metrics of a load at full speed whose values in the model are multiplied by a factor.

The stages of the model are threads. A process has further threads, such as those that collect garbage.
"""
CONSUMERS: Final = ("end_to_end_p50_ms", "end_to_end_p99_ms", "consumer_cpu_ms_per_mb")
"""Metrics of consumers that read a load at a fixed rate.

The model has no consumers, so it takes the values of the producer or the broker, multiplied by a factor.
"""
FACTORED: Final = (*CPU, *CONSUMERS)
FACTORED_SD_LOG: Final = 0.2
"""How far such a metric lies from the model's value times its factor, as the standard deviation of its logarithm."""


@dataclass(frozen=True, slots=True)
class FittedMetric:
    """How well the model describes a metric. The attributes are standard deviations of its logarithm.

    Attributes:
        model_sd_log: How far measurements lie from a model with the best constants. It is larger for latencies: a
            latency that the model can't describe must hardly change the costs, which determine the throughput.
        repeat_sd_log: How far repeated measurements of a config differ. The correction adapts it to the measurements.
        error_sd_log: How much the model's errors differ between configs.
        stalls: Whether a stall can spoil a measurement.
    """

    model_sd_log: float
    repeat_sd_log: float
    error_sd_log: float
    stalls: bool = True


FITTED: Final[Mapping[str, FittedMetric]] = MappingProxyType(
    {
        "records_per_s": FittedMetric(0.06, 0.08, 0.12),
        WIRE: FittedMetric(0.02, 0.005, 0.015, stalls=False),
        BATCHES: FittedMetric(0.10, 0.06, 0.1),
        "latency_p50_ms": FittedMetric(0.3, 0.2, 0.15),
        "latency_p99_ms": FittedMetric(0.8, 0.5, 0.3),
    }
)
"""The metrics to which the constants are fitted.

Source: the residuals of a Gaussian process on `benchmarks/problems/data`; `model_sd_log`, and the errors of batches,
were chosen with `benchmarks.prediction`.
"""
