"""The metrics that the performance model predicts, and how well it describes them.

The constants of the model are fitted to the metrics in `FITTED`. For the metrics in `FACTORED`, the model's value is
multiplied by a factor instead.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

WIRE: Final = "wire_bytes_per_value_byte"
BATCHES: Final = "batch_records"
"""Records in a batch, at full speed and at a fixed rate. Experiments measure this metric, and studies do not."""
FULL_SPEED_METRICS: Final = ("records_per_s", WIRE)
"""The metrics of `FITTED` that are measured at full speed."""
LATENCIES: Final = ("latency_p50_ms", "latency_p99_ms")
"""The metrics of `FITTED` that are measured at a fixed rate."""
CPU: Final = ("client_cpu_ms_per_mb", "broker_cpu_ms_per_mb")
"""The CPU time of the client and of the brokers, at full speed.

The model computes the CPU time of single threads. A process has further threads, such as the garbage collector's, so
the model's value is multiplied by a factor.
"""
_END_TO_END: Final = ("end_to_end_p50_ms", "end_to_end_p99_ms")
ALL_LATENCIES: Final = (*LATENCIES, *_END_TO_END)
"""The latencies until the producer has the acknowledgement, and those until a consumer has the record."""
PERCENTILE_PAIRS: Final = (LATENCIES, _END_TO_END)
"""The median and the 99th percentile of both latencies."""
MEDIANS: Final = tuple(median for median, _ in PERCENTILE_PAIRS)
"""The medians of both latencies."""
CONSUMERS: Final = (*_END_TO_END, "consumer_cpu_ms_per_mb")
"""The metrics that consumers measure at a fixed rate.

The model has no consumers, so it multiplies the producer's or the broker's value by a factor.
"""
FACTORED: Final[Mapping[str, float]] = MappingProxyType(
    {
        **dict.fromkeys(CPU, 0.2),
        "end_to_end_p50_ms": 0.2,
        "end_to_end_p99_ms": 0.5,
        "consumer_cpu_ms_per_mb": 0.2,
    }
)
"""By metric, the usual standard deviation of its logarithm around the model's value times the factor.

These numbers are assumed. An end-to-end latency has the noise that `FITTED` states for the producer's latency.
"""


@dataclass(frozen=True, slots=True)
class FittedMetric:
    """How well the model describes a metric. Names that end in `sd_log` are standard deviations of its logarithm.

    Attributes:
        model_sd_log: How far measurements lie from a model with the best constants. It is larger for latencies: a
            latency that the model can't describe must hardly change the costs, which determine the throughput.
        noise_sd_log: How far measurements lie from the corrected model. `correction` begins with this value, and
            adapts it to the measurements.
        error_sd_log: How much the model's errors differ between configs.
        stalls: Whether a stall can spoil a measurement.
        averages_out: Whether this noise is smaller in a mean of several measurements. It is not if repeated
            measurements hardly differ, because then most of it is an error of the model.
    """

    model_sd_log: float
    noise_sd_log: float
    error_sd_log: float
    stalls: bool = True
    averages_out: bool = True


FITTED: Final[Mapping[str, FittedMetric]] = MappingProxyType(
    {
        "records_per_s": FittedMetric(0.06, 0.12, 0.12),
        WIRE: FittedMetric(0.02, 0.005, 0.015, stalls=False, averages_out=False),
        BATCHES: FittedMetric(0.10, 0.06, 0.05, averages_out=False),
        "latency_p50_ms": FittedMetric(0.3, 0.2, 0.15),
        "latency_p99_ms": FittedMetric(0.8, 0.5, 0.3),
    }
)
"""The metrics to which the constants are fitted.

Source: a Gaussian process was fitted to `benchmarks/problems/data`, and most of these numbers describe what it left
over. Three were chosen with `benchmarks.prediction`: `model_sd_log`, the noise of the throughput, and the errors of
batches.
"""
