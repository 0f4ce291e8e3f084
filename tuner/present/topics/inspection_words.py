"""The sentences of `tuner inspect` about a topic: its batching, compression and idempotence."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from runners.inspection.batch_reader import MERGE_BYTES, MERGE_WAIT_MS
from runners.inspection.batch_sampling import LARGEST_BATCH_RATIO, BatchSample
from runners.inspection.record_batch import UNCOMPRESSED
from runners.reporting import counted, enumerated, percent
from tuner.inspection.batch_ending import BatchEnding, Ending
from tuner.inspection.topic_savings import Inspection
from tuner.present.number_text import number

IF_THEY_WAITED: Final = f"if each producer waited up to {MERGE_WAIT_MS} ms for batches of up to {MERGE_BYTES:,} bytes"
JAVA_BATCH_BYTES: Final = 16_384
"""Default of `batch.size` in the Java client. Source: ProducerConfig of kafka-clients 4.3."""
LIBRDKAFKA_BATCH_BYTES: Final = 1_000_000
"""Default of `batch.size` in librdkafka. Source: CONFIGURATION.md of librdkafka 2.16."""
_FEW_RATIO: Final = 0.1
_UNEVEN_FACTOR: Final = 2.0
_WHOLE_MS: Final = 10.0
_SET_ASIDE: Final = {
    "control": "{count} that end transactions were left out",
    "compacted": "{count} were left out, because compaction has removed records from them",
    "old format": "{count} were left out, because they are in the format of producers before Kafka 0.11",
    "damaged": "{count} were left out, because their checksum is wrong or they can't be decompressed",
    "too large": "{count} were left out, because they are larger than 32 MiB without compression",
}


def remarks(inspection: Inspection) -> Iterator[str]:
    """Yield a sentence for each thing that the batches of a topic say."""
    yield from _batching(inspection)
    yield _compression(inspection)
    yield _idempotence(inspection)
    traffic = inspection.traffic
    if traffic.transactional_ratio:
        yield f"{share(traffic.transactional_ratio)} of the batches belong to transactions."
    if traffic.partitions > 1 and traffic.largest_partition_ratio > _UNEVEN_FACTOR / traffic.partitions:
        yield (
            f"One of the {traffic.partitions} partitions has {share(traffic.largest_partition_ratio)} of the "
            "records: look at the keys, because more partitions would not spread such a load."
        )


def notes(sample: BatchSample, inspection: Inspection) -> Iterator[str]:
    """Yield what limits the figures."""
    for reason, count in inspection.traffic.set_aside.items():
        yield f"Besides, of the batches that were read, {_left_out(reason, count)}."
    if inspection.traffic.several_producers:
        yield (
            "Several producers without a producer id write to one partition, so the time between batches of one of "
            "them is not known."
        )
    if inspection.traffic.idempotent_ratio < 1 and inspection.savings.batches_ratio >= _FEW_RATIO:
        yield (
            "Batches without a producer id were taken for those of one producer in each partition. If there are "
            "several, longer waits would bring less."
        )
    reasons: dict[str, list[int]] = {}
    for partition, reason in sample.unread.items():
        reasons.setdefault(reason, []).append(partition)
    for reason, partitions in reasons.items():
        yield f"{counted(len(partitions), 'partition')} could not be read: {reason}."
    if sample.topic.unknown:
        yield f"{counted(len(sample.topic.unknown), 'partition')} could not be read: without a leader."


def why_unusable(sample: BatchSample) -> str:
    """Return why none of the batches of a topic can be used, and what to do if they are too large to be read."""
    aside = sum((Counter(each.set_aside) for each in sample.sequences.values()), Counter[str]())
    reasons = [*dict.fromkeys(sample.unread.values()), *(_left_out(*each) for each in aside.items())]
    remedy = f"; a batch may have at most {percent(LARGEST_BATCH_RATIO)} of --max-bytes, so raise --max-bytes"
    return f"{', '.join(reasons) or 'none was found'}{remedy if sample.lacks_bytes else ''}"


def _left_out(reason: str, count: int) -> str:
    return _SET_ASIDE[reason].format(count=f"{count:,}")


def in_short(inspection: Inspection) -> str:
    """Return the state of a topic's batches in a few words: `1.4 records a batch, not compressed`."""
    codecs = inspection.traffic.codecs
    compressed = sum(count for codec, count in codecs.items() if codec != UNCOMPRESSED)
    said = "not compressed" if not compressed else "/".join(codec for codec in codecs if codec != UNCOMPRESSED)
    partly = f"{said} in part" if compressed and UNCOMPRESSED in codecs else said
    return f"{number(inspection.traffic.records_per_batch.mean)} records a batch, {partly}"


def share(ratio: float) -> str:
    """Return a share as a percentage, `52 %`; one below a tenth has a decimal, `5.2 %`."""
    return percent(ratio, decimals=1 if 0 < ratio < _FEW_RATIO else 0)


def linger(ending: BatchEnding) -> str:
    """Return what is known of `linger.ms`: `19 to 21`, `at most 4`, or `not known`."""
    low, high = ending.linger_at_least_ms, ending.linger_at_most_ms
    if high is None:
        return f"at least {_ms(low)}" if low else "not known"
    limits = f"{_ms(low)} to {_ms(high)}" if low else f"at most {_ms(high)}"
    return f"{limits}, if one producer writes to a partition" if ending.one_producer_assumed else limits


def _ms(value: float) -> str:
    return f"{value:,.0f}" if value >= _WHOLE_MS else f"{value:.2g}"


def _batching(inspection: Inspection) -> Iterator[str]:
    traffic, ending = inspection.traffic, inspection.ending
    mean = number(traffic.records_per_batch.mean)
    if ending.producers_differ:
        yield f"The producers are configured differently: linger.ms is {linger(ending)}."
    else:
        yield _ENDINGS[ending.ending].format(mean=mean, linger=linger(ending), full=f"{ending.full_bytes or 0:,}")
    merged = traffic.merged
    if inspection.savings.batches_ratio >= _FEW_RATIO:
        yield (
            f"{IF_THEY_WAITED[0].upper()}{IF_THEY_WAITED[1:]}, {merged.before:,} batches would become "
            f"{merged.after:,}, which is {share(inspection.savings.batches_ratio)} fewer, for up to {MERGE_WAIT_MS} ms "
            "more latency."
        )
    else:
        yield f"Waiting longer would hardly help: {IF_THEY_WAITED}, there would be hardly fewer batches."


_ENDINGS: Final = {
    Ending.EACH_RECORD: "{mean} records a batch: the producers do not wait for a second record (linger.ms: {linger}).",
    Ending.WAIT: "{mean} records a batch: batches end after a wait, and linger.ms is {linger}.",
    Ending.SIZE: "Batches end because they are full: batch.size is about {full}, and linger.ms plays no part.",
    Ending.SIZE_OR_WAIT: (
        "The batches are so much alike that either their size ends them (batch.size about {full}) or a wait does "
        "(linger.ms {linger})."
    ),
    Ending.UNCLEAR: "{mean} records a batch; neither one size nor one wait ends the batches (linger.ms: {linger}).",
}


def _compression(inspection: Inspection) -> str:
    traffic, savings = inspection.traffic, inspection.savings
    used = [codec for codec in traffic.codecs if codec != UNCOMPRESSED]
    now = f"Batches are compressed with {enumerated(used)}" if used else "Batches are not compressed"
    if UNCOMPRESSED in traffic.codecs and used:
        now = f"{share(traffic.codecs[UNCOMPRESSED] / traffic.batches)} of the batches are not compressed"
    if savings.bytes_ratio < _FEW_RATIO:
        return f"{now}, and {'another codec' if used else 'compression'} would save hardly any bytes."
    if savings.codec == UNCOMPRESSED:
        return f"{now}; larger batches alone would save {share(savings.bytes_ratio)} of the bytes."
    alone = max(0.0, 1 - traffic.coded_bytes.get(savings.codec, traffic.bytes) / traffic.bytes)
    return (
        f"{now}: {savings.codec} would save {share(alone)} of the bytes, and {share(savings.bytes_ratio)} if the "
        "batches were larger, too."
    )


def _idempotence(inspection: Inspection) -> str:
    traffic = inspection.traffic
    if not traffic.idempotent_ratio:
        return "No batch has a producer id: enable.idempotence is off, so a retry may store a record twice."
    if traffic.idempotent_ratio == 1:
        return f"All batches have a producer id: enable.idempotence is on ({counted(traffic.producers, 'producer')})."
    return (
        f"{share(traffic.idempotent_ratio)} of the batches have a producer id: some producers are idempotent, others "
        "are not."
    )
