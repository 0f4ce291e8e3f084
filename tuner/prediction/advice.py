"""Estimates how the producers of a topic would behave with other settings, without sending any load.

The topic's batches on the brokers show the size of records, how fast each producer sends, and how far each codec
compresses the records. The performance model computes the rest: how batches grow with linger.ms, how much CPU they cost
the brokers, and the latency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil, log
from typing import Final

from runners.inspection.batch_reader import MERGE_BYTES, MERGE_WAIT_MS
from runners.inspection.record_batch import UNCOMPRESSED, MergedBatches
from runners.inspection.topic_traffic import TopicTraffic
from runners.performance_model.constants import CODECS
from runners.performance_model.full_batches import ESTIMATION_FACTOR
from runners.performance_model.performance import performance, performance_of_settings
from runners.performance_model.settings import Settings
from runners.workload import MOST_COMPRESSIBLE, MOST_PARTITIONS, RecordSizes, Workload
from search_spaces.client import java
from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES, record_overhead_bytes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.inspection.topic_savings import Inspection, best_codec
from tuner.prediction.calibration import Calibration
from tuner.prediction.intervals import Interval, ModelledLoad
from tuner.prediction.predicted_metrics import BATCHES, LATENCIES, WIRE
from tuner.prediction.predicting import reasons_not_covered

_MOST_TRIED: Final = 200
"""How many values of linger.ms are tried at most, to find the one that explains the topic's batches best."""
_MOST_LINGER_MS: Final = 2**31 - 1
"""The highest `linger.ms` that the Java client accepts. With one record a month, the estimated wait is longer."""
_OTHER_SETTINGS: Final = (("5", "65536"), ("20", "131072"), ("100", "1000000"))
"""linger.ms and batch.size of the other settings, from a short wait and small batches to a long wait and large ones."""


@dataclass(frozen=True, slots=True)
class SettingsEstimate:
    """The estimated behaviour of a topic's producers with some settings.

    Attributes:
        settings: The settings as producer properties.
        batch_records: Records in a batch.
        batches_per_s: Batches of all producers per second.
        mb_per_s: Megabytes that all producers send to the brokers per second.
        broker_cpu_cores: Busy cores of the brokers that lead the partitions.
        latency_p50_ms: Median time from sending a record to its acknowledgement.
        latency_p99_ms: 99th percentile of that time.
        falls_behind: Whether the producers can't hold their rate with these settings, so that the latency grows.
    """

    settings: Mapping[str, str]
    batch_records: Interval
    batches_per_s: float
    mb_per_s: float
    broker_cpu_cores: Interval
    latency_p50_ms: Interval
    latency_p99_ms: Interval
    falls_behind: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """The estimated behaviour of a topic's producers: with their current settings, and with other settings.

    Attributes:
        load: What each producer is assumed to send.
        producers: How many such producers there are.
        today: The estimate for the current settings, as far as the batches show them.
        others: The estimates for other settings.
        measured_batch_records: Mean number of records in the topic's batches; the estimate for today should be near it.
        uncovered: Why the measurements that calibrate the model do not cover these producers or some of these settings,
            in sentences. Empty if they cover them all, or without a calibration.
        uncounted: Whether there are several producers whose number is unknown. The estimates then treat them as one
            producer.
        overloaded: Whether all producers together send more than the model's network or disk can carry. The estimates
            do not show this: they are computed for one producer, and the model has one broker.
    """

    load: Workload
    producers: int
    today: SettingsEstimate
    others: tuple[SettingsEstimate, ...]
    measured_batch_records: float
    uncovered: tuple[str, ...] = ()
    uncounted: bool = False
    overloaded: bool = False


def advice(inspection: Inspection, calibration: Calibration, period_s: float, replication: int = 1) -> Advice | None:
    """Estimate what other settings would change for the producers of a topic.

    The result is None if nothing is written to the topic.

    Args:
        inspection: The statistics of the topic's batches.
        calibration: The constants of the performance model; without a calibration, the intervals are wide.
        period_s: The time in which the topic's recent records were written, in seconds.
        replication: Replicas of each partition.
    """
    traffic = inspection.traffic
    producers = traffic.producers_at_once
    rate = _rate_records_per_s(traffic, producers, period_s)
    if not rate:
        return None
    codec = best_codec(traffic.merged.coded_bytes, traffic.merged.plain_bytes)
    load = Workload(
        RecordSizes.fixed(_value_bytes(traffic)),
        compressibility_ratio=_compressible(traffic, codec),
        partitions=min(traffic.partitions, MOST_PARTITIONS),
        replication=replication,
        rate_records_per_s=rate,
    )
    load = _keyed_if_likely(load, traffic.merged, calibration)
    now = _current_settings(inspection, calibration, load)
    others = [{**now, "compression.type": codec}] if codec != now["compression.type"] else []
    others += [{"linger.ms": linger, "batch.size": size, "compression.type": codec} for linger, size in _OTHER_SETTINGS]
    estimates = [_estimate(calibration, settings, load, producers) for settings in (now, *others)]
    seen = calibration.observations
    configs = [ProducerConfig.parse(settings, java()) for settings in (now, *others)] if seen else []
    reasons = [reason for config in configs for reason in reasons_not_covered(seen, config, load, producers)]
    uncovered = tuple(dict.fromkeys(reasons))
    uncounted = traffic.several_producers and producers == 1
    overloaded = _overloaded(calibration, now, load, producers)
    measured = traffic.records_per_batch.mean
    return Advice(load, producers, estimates[0], tuple(estimates[1:]), measured, uncovered, uncounted, overloaded)


def _value_bytes(traffic: TopicTraffic) -> int:
    """Return the mean size of a value in bytes: an uncompressed record without its headers. Keys count as values."""
    record_bytes = (traffic.plain_bytes - BATCH_HEADER_BYTES * traffic.batches) / traffic.records
    return max(1, round(record_bytes - record_overhead_bytes(int(record_bytes))))


def _rate_records_per_s(traffic: TopicTraffic, producers: int, period_s: float) -> float:
    """Return the rate of one producer while it sends, in records per second; 0 if nothing was written recently.

    The batches show the rate to the partitions that were read. The rate to the other partitions is assumed to be in
    proportion to their recent records. In three cases the rate is the mean over the whole period, including times in
    which nothing is sent: the batches have no times, they come from several producers without ids, or no recent records
    were read.
    """
    if not traffic.recent_records:
        return 0.0
    between_ms = 0.0 if traffic.between_ms is None else traffic.between_ms.mean
    if between_ms > 0 and not traffic.several_producers and traffic.recent_records_read:
        to_read = traffic.records_per_batch.mean / between_ms * 1e3 * traffic.partitions_of_each
        return to_read * traffic.recent_records / traffic.recent_records_read
    return traffic.recent_records / period_s / producers


def _compressible(traffic: TopicTraffic, codec: str) -> float:
    """Return the share of a value that compression can remove. It follows from how far the best codec compresses."""
    known = CODECS.get(codec)
    if known is None or not traffic.merged.plain_bytes:
        return 0.0
    removed = 1 - traffic.merged.coded_bytes[codec] / traffic.merged.plain_bytes
    return min(MOST_COMPRESSIBLE, max(0.0, removed / known.removed(None)))


def _overloaded(calibration: Calibration, settings: Mapping[str, str], load: Workload, producers: int) -> bool:
    """Return whether all producers together exceed the model's network or disk, if each has a host of its own."""
    if producers <= 1:
        return False
    constants = calibration.constants
    hosts = replace(constants, client_cores=constants.client_cores * producers)
    total = replace(load, rate_records_per_s=(load.rate_records_per_s or 0.0) * producers)
    config = ProducerConfig.parse(settings, java())
    return performance_of_settings(hosts, Settings.of(config, load, producers), total).falling_behind_ratio > 0


def _keyed_if_likely(load: Workload, merged: MergedBatches, calibration: Calibration) -> Workload:
    """Return the load, with keys if the model's batches are then more like the merged ones.

    Nothing shows directly whether records have keys. Records with keys go to all partitions at the same time, so their
    batches are smaller, also those that a longer linger.ms would give: the merged ones.
    """
    if not merged.after:
        return load
    settings, found = {"linger.ms": str(MERGE_WAIT_MS), "batch.size": str(MERGE_BYTES)}, merged.records / merged.after
    return min((load, replace(load, key_bytes=1)), key=lambda each: _misfit(calibration, settings, each, found))


def _current_settings(inspection: Inspection, calibration: Calibration, load: Workload) -> dict[str, str]:
    """Return the current settings as far as the batches show them, and otherwise the defaults of the Java client.

    If only a range of `linger.ms` is known, the result has the value in this range for which the model predicts the
    batches that are most like those of the topic.
    """
    traffic, ending = inspection.traffic, inspection.ending
    found = traffic.records_per_batch.mean
    defaults = ProducerConfig.parse({}, java()).effective_values
    # A batch is taken from the buffer, which is assumed to have its default size.
    full_bytes = ending.full_bytes and min(ending.full_bytes, defaults.integer("buffer.memory"))
    # Batches of several records are at most as large as batch.size, so it can't be the default if many are larger.
    found_bytes = round(traffic.bytes_per_batch.p90) if traffic.records_per_batch.median > 1 else 0
    least_bytes = min(max(found_bytes, defaults.integer("batch.size")), defaults.integer("buffer.memory"))
    settings = {
        "linger.ms": defaults.text("linger.ms"),
        "batch.size": str(full_bytes or least_bytes),
        "compression.type": next(iter(traffic.codecs), UNCOMPRESSED),
    }
    if full_bytes and traffic.bytes < traffic.plain_bytes:
        # librdkafka counts the size before compression, and the Java client, which is assumed here, the one after it.
        compressed = round(full_bytes * traffic.bytes / traffic.plain_bytes * ESTIMATION_FACTOR)
        settings["batch.size"] = min(
            (str(size) for size in (full_bytes, compressed)),
            key=lambda size: _misfit(calibration, {**settings, "batch.size": size}, load, found),
        )
    if ending.linger_at_most_ms is not None:
        least = min(_MOST_LINGER_MS, ceil(ending.linger_at_least_ms))
        most = min(_MOST_LINGER_MS, max(1, round(ending.linger_at_most_ms)))
        values = [str(value) for value in sorted({*range(least, min(most, least + _MOST_TRIED) + 1), most})]
        settings["linger.ms"] = min(
            values,
            key=lambda value: _misfit(calibration, {**settings, "linger.ms": value}, load, found),
        )
    return settings


def _misfit(calibration: Calibration, settings: Mapping[str, str], load: Workload, batch_records: float) -> float:
    """Return how far the model's batches are from `batch_records` records: the absolute value of the log ratio."""
    modelled = performance(calibration.constants, ProducerConfig.parse(settings, java()), load)
    return abs(log(modelled.batch_records / batch_records))


def _estimate(
    calibration: Calibration, settings: Mapping[str, str], load: Workload, producers: int
) -> SettingsEstimate:
    config = ProducerConfig.parse(settings, java())
    [modelled] = ModelledLoad.of(calibration, (Settings.of(config, load), load))
    estimates = modelled.intervals((BATCHES, WIRE, "broker_cpu_cores", *LATENCIES))
    rate = (load.rate_records_per_s or 0.0) * producers
    mb_per_s = rate * load.record_sizes.mean_bytes * estimates[WIRE].value / 1e6
    cpu = estimates["broker_cpu_cores"]
    return SettingsEstimate(
        dict(settings),
        estimates[BATCHES],
        rate / estimates[BATCHES].value,
        mb_per_s,
        Interval(*(each * producers for each in (cpu.value, cpu.low, cpu.high))),
        estimates["latency_p50_ms"],
        estimates["latency_p99_ms"],
        modelled.performance.falling_behind_ratio > 0,
    )
