"""Computes what a config would do from a calibrated performance model, with intervals, or why it can't be told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, inf, log, sqrt
from statistics import NormalDist
from typing import Final

import numpy as np
from numpy.typing import NDArray

from objectives.ratios import LEVEL
from runners.performance_model.constants import CODECS
from runners.performance_model.performance import perform
from runners.performance_model.settings import Settings
from runners.performance_model.stages import REQUEST_HEADER_BYTES, Stages
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig
from tuner.prediction.calibration import FACTORED, SCATTER, STEP, Calibration, moved, value_of
from tuner.prediction.correction import waits_for
from tuner.prediction.observations import BATCHES, CONSUMERS, RATE_METRICS, Observation
from tuner.prediction.retention import SECONDS_PER_DAY

AT_FULL_SPEED: Final = (
    "records_per_s",
    "mb_per_s",
    "batch_records",
    "wire_bytes_per_value_byte",
    "client_cpu_ms_per_mb",
    "broker_cpu_ms_per_mb",
)
"""The metrics that are predicted for a load as fast as the client takes it, by name.

CPU time is predicted only if it was measured.
"""
LATENCIES: Final = RATE_METRICS
AT_RATE: Final = (*LATENCIES, *CONSUMERS)
"""The metrics that are predicted for a load at a rate, by name; those of consumers only if they were measured."""
_AT_RATE_ONLY: Final = frozenset(
    {
        "socket_bytes",
        "usual_queue_ratio",
        "stall_s",
        "tail_s",
        "busy_tail_s",
        "pause_s",
        "pause_ratio",
        "disk_tail_s",
    }
)
"""The constants on which no metric of `AT_FULL_SPEED` depends."""
_MEASURED_AS: Final[Mapping[str, str]] = {"mb_per_s": "records_per_s", "broker_cpu_cores": "broker_cpu_ms_per_mb"}
"""For metrics that differ from a measured one only in their unit: the name of the measured metric."""
_UNMEASURED_SCATTER: Final[Mapping[str, float]] = {BATCHES: 0.3}
"""The scatter of metrics that no measurement checks, if it is not 0.1. A study does not measure batches."""
_WIRE: Final = "wire_bytes_per_value_byte"
QUANTILE: Final = NormalDist().inv_cdf((1 + LEVEL) / 2)
"""How many standard deviations a 95 % interval extends to each side."""
MOST_EXTRAPOLATION: Final = 3.0
"""By which factor a record size, or a number of partitions or producers, may lie outside the measured range."""
_COMPRESSIBILITY: Final = 0.3
_INDEX_EVERY_BYTES: Final = 4_096
"""`index.interval.bytes`, by default: a broker notes the place of a batch in its indexes after this many bytes."""
_INDEX_ENTRY_BYTES: Final = 20
"""Bytes of an entry in the offset index (8) and in the time index (12).

Source: `OffsetIndex` and `TimeIndex` of Kafka 4.3.
"""


@dataclass(frozen=True, slots=True)
class Interval:
    """A predicted value.

    Attributes:
        value: The value.
        low: Lower end of the interval. It is computed for 95 %, and about 9 of 10 single measurements lie in it.
        high: Upper end of the interval.
    """

    value: float
    low: float
    high: float

    def within(self, least: float, most: float) -> "Interval":
        """Return the interval without what lies below or above the possible values."""
        return Interval(*(min(most, max(least, each)) for each in (self.value, self.low, self.high)))


@dataclass(frozen=True, slots=True)
class Prediction:
    """What a config would do under a load.

    Attributes:
        config: The config.
        workload: The load. Its rate is the rate at which the latencies hold.
        producers: Number of producers that share the load.
        values: The predicted metrics by name. Throughput, batches and bytes on the wire are those of a load as fast as
            the client takes it, and latencies those at the rate.
        bound_by: What limits the throughput, in words.
        stored_gb_per_day: Gigabytes that all replicas store in a day at the rate, with their indexes; None without a
            rate.
        falls_behind: Whether the config can't hold the rate, so that there are no latencies.
        no_latency: Why there are no latencies, in words; empty if there are.
    """

    config: ProducerConfig
    workload: Workload
    producers: int
    values: Mapping[str, Interval]
    bound_by: str
    stored_gb_per_day: float | None
    falls_behind: bool
    no_latency: str

    @property
    def consumer_mb_per_s(self) -> float | None:
        """Megabytes per second that a consumer takes if it has one core; None if no consumer was measured."""
        cpu = self.values.get("consumer_cpu_ms_per_mb")
        return None if cpu is None else 1e3 / cpu.value


def predict(calibration: Calibration, config: ProducerConfig, workload: Workload, producers: int = 1) -> Prediction:
    """Compute what a config would do under a load.

    `outside` says whether the measurements cover the config and the load; this function does not check that.

    Args:
        calibration: The fitted constants.
        config: The config.
        workload: The load; with a rate, latencies are predicted too.
        producers: Number of producers that share the load.
    """
    rate, settings = workload.rate_records_per_s, Settings.of(config, workload, producers)
    full_load = replace(workload, rate_records_per_s=None)
    values = _intervals(calibration, settings, full_load, _known(calibration, AT_FULL_SPEED))
    told = perform(calibration.constants, settings, full_load)
    stored, falls_behind, no_latency = None, False, "no rate"
    if rate is not None:
        capacity = values["records_per_s"].value
        falls_behind, no_latency = capacity < rate, _no_latency(calibration, settings, workload, capacity)
        if not no_latency:
            values |= _intervals(calibration, settings, workload, _known(calibration, AT_RATE))
        bytes_each = stored_bytes_per_record(calibration, settings, workload)
        bytes_per_s = min(rate, capacity) * bytes_each * workload.replication
        stored = bytes_per_s * SECONDS_PER_DAY / 1e9
    return Prediction(config, workload, producers, values, told.bound_by, stored, falls_behind, no_latency)


def _no_latency(calibration: Calibration, settings: Settings, workload: Workload, capacity: float) -> str:
    """Return why no latency can be predicted at the rate of a load, in words; nothing if it can.

    Args:
        calibration: The fitted constants. If nothing was measured, latencies are predicted all the same.
        settings: The producers' settings.
        workload: The load.
        capacity: The predicted throughput at full speed, in records per second.
    """
    if settings.acks == 0:
        return "none with acks=0"
    if calibration.observations and not any(set(LATENCIES) & set(each.values) for each in calibration.observations):
        return "not measured"
    if capacity < (workload.rate_records_per_s or 0.0):
        return "falls behind the rate"
    if perform(calibration.constants, settings, workload).falling_behind_ratio > 0:
        # The corrected throughput is above the rate, but the model without the correction can't hold the rate.
        return "too near the throughput"
    return ""


def estimate(calibration: Calibration, config: ProducerConfig, workload: Workload) -> dict[str, Interval]:
    """Return what a config does under a load at a rate: batches, bytes on the wire, CPU of the brokers, latencies."""
    metrics = ("batch_records", "wire_bytes_per_value_byte", "broker_cpu_cores", *LATENCIES)
    return _intervals(calibration, Settings.of(config, workload), workload, metrics)


def reasons_not_covered(
    seen: Sequence[Observation], config: ProducerConfig, workload: Workload, producers: int = 1
) -> tuple[str, ...]:
    """Return why some measurements do not cover a config and a load, in sentences; nothing if they do."""
    wanted = Settings.of(config, workload)
    settings = [each.settings for each in seen]
    found = []
    clients = dict.fromkeys(each.config.client.kind.value for each in seen)
    if config.client.kind.value not in clients:
        found.append(f"the client is {config.client.kind.value}, but {_only(clients)}")
    found += _beyond("record size", "B", workload.record_sizes.mean_bytes, [_size(each) for each in seen])
    found += _beyond("number of partitions", "", workload.partitions, [each.workload.partitions for each in seen])
    found += _beyond("number of producers", "", producers, [each.producers for each in seen])
    replicas = dict.fromkeys(each.workload.replication for each in seen)
    if workload.replication not in replicas:
        found.append(f"the replication factor is {workload.replication}, but {_only(replicas)}")
    codecs = dict.fromkeys(each.codec for each in settings)
    if wanted.codec not in codecs:
        found.append(f"compression.type is {wanted.codec}, but {_only(codecs)}")
    elif wanted.codec in CODECS and wanted.level is not None:
        codec = CODECS[wanted.codec]
        level, *levels = (codec.strength(each.level) for each in (wanted, *settings) if each.codec == wanted.codec)
        if not min(levels) <= level <= max(levels):
            found.append(f"this level of {wanted.codec} lies outside the levels that were measured")
    acks = dict.fromkeys(
        waits_for(each.settings.acks, workload.replication)
        for each in seen
        if each.workload.replication == workload.replication
    )
    if acks and (waits := waits_for(wanted.acks, workload.replication)) not in acks:
        found.append(f"acks={waits} was not measured; {_measured_acks(acks, workload.replication)}")
    ratios = [each.workload.compressibility_ratio for each in seen]
    if wanted.codec != "none" and min(abs(workload.compressibility_ratio - each) for each in ratios) > _COMPRESSIBILITY:
        measured = dict.fromkeys(f"{each:g}" for each in sorted(ratios))
        found.append(f"the compressible share is {workload.compressibility_ratio:g}, but {_only(measured)}")
    return tuple(found)


def stored_bytes_per_record(calibration: Calibration, settings: Settings, workload: Workload) -> float:
    """Return how many bytes one record adds to a broker's disk, with its part of the batch header and the index files.

    Args:
        calibration: The fitted constants.
        settings: The producers' settings.
        workload: The load; with a rate, the batches are those at this rate.
    """
    told, factor = perform(calibration.constants, settings, workload), 1.0
    if _WIRE in calibration.corrections:
        # Bytes on the wire are known for a load at full speed.
        full_load = replace(workload, rate_records_per_s=None)
        factor = exp(calibration.corrections[_WIRE].at(settings, full_load)[0])
    sent = told.batch_records * workload.record_sizes.mean_bytes * told.wire_bytes_per_value_byte * factor
    batch = sent - REQUEST_HEADER_BYTES
    return batch * (1 + _INDEX_ENTRY_BYTES / max(_INDEX_EVERY_BYTES, batch)) / told.batch_records


def _known(calibration: Calibration, metrics: Sequence[str]) -> list[str]:
    return [name for name in metrics if name not in FACTORED or name in calibration.factors]


def _intervals(
    calibration: Calibration, settings: Settings, workload: Workload, metrics: Sequence[str]
) -> dict[str, Interval]:
    """Return metrics with their intervals, from the uncertainty of the constants and the scatter of a measurement."""
    corrections = calibration.corrections
    here = perform(calibration.constants, settings, workload)
    idle = without_effect(settings, workload)
    there = [
        here if name in idle else perform(each, settings, workload)
        for name, each in zip(calibration.names, calibration.perturbed, strict=True)
    ]
    found = {}
    for name in metrics:
        value = value_of(here, name)
        slopes = np.array([log(value_of(each, name) / value) / STEP for each in there])
        measured = _MEASURED_AS.get(name, name)
        if measured in corrections:
            missing, scatter = corrections[measured].at(settings, workload)
            value *= exp(missing)
        else:
            scatter = calibration.scatter.get(measured, SCATTER.get(measured, _UNMEASURED_SCATTER.get(measured, 0.1)))
        down, up = _deviations(calibration, settings, workload, name, slopes, value_of(here, name))
        value *= calibration.factors.get(measured, 1.0)
        found[name] = Interval(
            value, value * exp(-hypot(down, QUANTILE * scatter)), value * exp(hypot(up, QUANTILE * scatter))
        )
        if name == BATCHES:
            found[name] = found[name].within(1.0, _most_records(calibration, settings, workload))
    return found


def without_effect(settings: Settings, workload: Workload) -> set[str]:
    """Return constants on which no predicted metric depends. To leave them out saves time."""
    ratios = {f"{codec}_ratio" for codec in CODECS if codec != settings.codec}
    return ratios if workload.rate_records_per_s else ratios | _AT_RATE_ONLY


def _most_records(calibration: Calibration, settings: Settings, workload: Workload) -> float:
    """Return the most records that a batch can have; infinite if that depends on what the codec removes."""
    if settings.counts_compressed and settings.codec != "none":
        return inf
    return Stages.of(calibration.constants, settings, workload).full_records


def _deviations(
    calibration: Calibration,
    settings: Settings,
    workload: Workload,
    metric: str,
    slopes: NDArray[np.float64],
    here: float,
) -> tuple[float, float]:
    """Return by how much the logarithm of a metric may be lower and higher, because the constants are uncertain.

    Near the throughput, a latency is far from linear in the constants. So it is computed with the constants that make
    it low and high, instead of from its slopes.

    Args:
        calibration: The fitted constants.
        settings: The producers' settings.
        workload: The load.
        metric: The metric.
        slopes: The slopes of its logarithm, by the logarithm of each constant.
        here: The metric with the constants as they are.
    """
    sd = sqrt(float(slopes @ calibration.covariance @ slopes))
    if metric not in RATE_METRICS or not sd:
        return QUANTILE * sd, QUANTILE * sd
    step = QUANTILE / sd * (calibration.covariance @ slopes)
    low, high = (
        value_of(perform(moved(calibration.constants, calibration.names, logs), settings, workload), metric)
        for logs in (-step, step)
    )
    return log(here / low), log(high / here)


def _size(each: Observation) -> float:
    return each.workload.record_sizes.mean_bytes


def _beyond(what: str, unit: str, wanted: float, measured: list[float] | list[int]) -> list[str]:
    low, high = min(measured), max(measured)
    if low / MOST_EXTRAPOLATION <= wanted <= high * MOST_EXTRAPOLATION:
        return []
    span = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    of_unit = " " + unit if unit else ""
    return [f"the {what} is {wanted:g}{of_unit}, but only {span}{of_unit} was measured"]


def _measured_acks(measured: Mapping[str, None], replicas: int) -> str:
    """Return in words which values of acks were measured with a number of replicas."""
    if replicas == 1 and "0" not in measured:
        return "only acks=1 or acks=all was, which are the same with one replica"
    return f"only acks={' and acks='.join(measured)} {'was' if len(measured) == 1 else 'were'}"


def _only(measured: Mapping[str, None] | Mapping[int, None]) -> str:
    *first, last = map(str, measured)
    return f"only {', '.join(first)} and {last} were measured" if first else f"only {last} was measured"
