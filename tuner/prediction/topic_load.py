"""What the producers of a topic send now, and with which settings, as far as the topic's batches show it.

The batches show the size of records, how fast each producer sends, and how far each codec compresses the records. What
they do not show is chosen so that the batches of the performance model are most like those of the topic.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import ceil, log
from typing import Final

from runners.inspection.batch_reader import MERGE_BYTES, MERGE_WAIT_MS
from runners.inspection.record_batch import UNCOMPRESSED, MergedBatches
from runners.inspection.topic_traffic import TopicTraffic
from runners.performance_model.constants import CODECS
from runners.performance_model.full_batches import ESTIMATION_FACTOR
from runners.performance_model.performance import performance
from runners.workload import MOST_COMPRESSIBLE, MOST_PARTITIONS, RecordSizes, Workload
from search_spaces.client import java
from search_spaces.client_facts.record_format import BATCH_HEADER_BYTES, record_overhead_bytes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.inspection.topic_savings import Inspection, best_codec
from tuner.prediction.calibration import Calibration

_MOST_TRIED: Final = 200
"""How many values of linger.ms are tried at most, to find the one that explains the topic's batches best."""
_MOST_LINGER_MS: Final = 2**31 - 1
"""The highest `linger.ms` that the Java client accepts. With one record a month, the estimated wait is longer."""


def load_of_producer(
    traffic: TopicTraffic, calibration: Calibration, period_s: float, replication: int
) -> Workload | None:
    """Return what each producer of a topic sends, or None if nothing was written recently.

    Args:
        traffic: What the topic's batches show.
        calibration: The constants of the performance model.
        period_s: The time in which the topic's recent records were written, in seconds.
        replication: Replicas of each partition.
    """
    rate = _rate_records_per_s(traffic, period_s)
    if not rate:
        return None
    load = Workload(
        RecordSizes.fixed(_value_bytes(traffic)),
        compressibility_ratio=_compressible(traffic),
        partitions=min(traffic.partitions, MOST_PARTITIONS),
        replication=replication,
        rate_records_per_s=rate,
    )
    return _keyed_if_likely(load, traffic.merged, calibration)


def _value_bytes(traffic: TopicTraffic) -> int:
    """Return the mean size of a value in bytes: an uncompressed record without its headers. Keys count as values."""
    record_bytes = (traffic.plain_bytes - BATCH_HEADER_BYTES * traffic.batches) / traffic.records
    return max(1, round(record_bytes - record_overhead_bytes(int(record_bytes))))


def _rate_records_per_s(traffic: TopicTraffic, period_s: float) -> float:
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
    return traffic.recent_records / period_s / traffic.producers_at_once


def _compressible(traffic: TopicTraffic) -> float:
    """Return the share of a value that compression can remove. It follows from how far the best codec compresses."""
    codec = best_codec(traffic.merged.coded_bytes, traffic.merged.plain_bytes)
    known = CODECS.get(codec)
    if known is None or not traffic.merged.plain_bytes:
        return 0.0
    removed = 1 - traffic.merged.coded_bytes[codec] / traffic.merged.plain_bytes
    return min(MOST_COMPRESSIBLE, max(0.0, removed / known.removed(None)))


def _keyed_if_likely(load: Workload, merged: MergedBatches, calibration: Calibration) -> Workload:
    """Return the load, with keys if this brings the model's batches closer to the merged ones.

    Batches do not show whether their records have keys. Records with keys go to all partitions at the same time, so
    fewer of them come together in a batch. This also holds for the merged batches, which show a longer linger.ms.
    """
    if not merged.after:
        return load
    settings, found = {"linger.ms": str(MERGE_WAIT_MS), "batch.size": str(MERGE_BYTES)}, merged.records / merged.after
    return min((load, replace(load, key_bytes=1)), key=lambda each: _misfit(calibration, settings, each, found))


def current_settings(inspection: Inspection, calibration: Calibration, load: Workload) -> dict[str, str]:
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
