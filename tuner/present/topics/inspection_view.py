"""What `tuner inspect` found, as a table and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import CODECS_BY_COST
from runners.inspection.topic_traffic import Spread
from runners.reporting import counted
from tuner.inspection.topic_savings import Inspection, RankedTopic
from tuner.model.document import document
from tuner.present.console import OUT
from tuner.present.number_text import aligned, number
from tuner.present.topics.inspection_words import (
    IF_THEY_WAITED,
    JAVA_BATCH_BYTES,
    LIBRDKAFKA_BATCH_BYTES,
    in_short,
    linger,
    notes,
    remarks,
    share,
)

_RANKING_RULE: Final = (
    "the mean of two shares: the saved batches divided by the batches of all topics, and the saved bytes divided by "
    "the bytes of all topics"
)


def inspection_json(inspection: Inspection, sample: BatchSample, received_bytes: int) -> dict[str, Any]:
    """Return the results of inspecting a topic as a JSON document."""
    return document(
        "inspection",
        received_bytes=received_bytes,
        **_json(inspection),
        says=[*remarks(inspection), *notes(sample, inspection)],
    )


def ranking_json(
    rows: Sequence[RankedTopic], unread: Mapping[str, str], received_bytes: int, period_s: float
) -> dict[str, Any]:
    """Return the topics of a cluster in the order of what they could save, as a JSON document.

    Args:
        rows: The topics.
        unread: Why other topics were not read, by their name.
        received_bytes: How many bytes were read from the brokers.
        period_s: For how many seconds the records of a topic are counted.
    """
    return document(
        "inspections",
        received_bytes=received_bytes,
        period_s=period_s,
        rule=_RANKING_RULE,
        topics=[
            {
                "gain_ratio": row.saved_ratio,
                "batches_ratio": row.batches_ratio,
                "bytes_ratio": row.bytes_ratio,
                "recent_batches": row.inspection.recent_batches,
                "recent_bytes": row.inspection.recent_bytes,
                **_json(row.inspection),
            }
            for row in rows
        ],
        unread=dict(unread),
    )


def _json(inspection: Inspection) -> dict[str, Any]:
    return {
        "topic": inspection.topic,
        "traffic": asdict(inspection.traffic),
        "ending": {**asdict(inspection.ending), "ending": str(inspection.ending.ending)},
        "savings": asdict(inspection.savings),
    }


def print_inspection(inspection: Inspection, sample: BatchSample, received_bytes: int) -> None:
    """Print the results of inspecting a topic: a line for each figure, and remarks about the figures."""
    OUT.show(*(f"{name:<22} {text}" for name, text in inspection_lines(inspection, received_bytes)))
    OUT.show("\nwhat this says")
    OUT.show(*(f"- {sentence}" for sentence in (*remarks(inspection), *notes(sample, inspection))))


def inspection_lines(inspection: Inspection, received_bytes: int) -> Iterator[tuple[str, str]]:
    """Yield the figures of a topic as pairs of a name and a text."""
    traffic, ending = inspection.traffic, inspection.ending
    yield (
        "topic",
        f"{inspection.topic}: {traffic.batches:,} of the newest batches of {traffic.partitions_read} of "
        f"{counted(traffic.partitions, 'partition')}, {counted(traffic.records, 'record')}; "
        f"{received_bytes / 1e6:.2f} MB read",
    )
    yield "records per batch", _spread(traffic.records_per_batch)
    yield "bytes per batch", _spread(traffic.bytes_per_batch)
    yield "batch fill", _fill(inspection)
    yield "linger.ms", linger(ending)
    yield "codec", ", ".join(f"{codec} {share(count / traffic.batches)}" for codec, count in traffic.codecs.items())
    if traffic.compressed_ratio is not None:
        yield "compressed to", f"{share(traffic.compressed_ratio)} of the size without compression"
    yield "with each codec", _coded(traffic.coded_bytes, traffic.bytes)
    yield "in larger batches", f"{_coded(traffic.merged.coded_bytes, traffic.merged.bytes)} ({IF_THEY_WAITED})"
    if traffic.wait_ms is not None:
        yield "first to last record", f"{_spread(traffic.wait_ms)} ms: that is how long a batch's first record waited"
    if traffic.between_ms is not None:
        yield "batch to next batch", f"{_spread(traffic.between_ms)} ms, of one producer in one partition"
    yield "creation to append", _lag(traffic.append_lag_ms)
    yield "producer ids", f"{traffic.producers:,}, in {share(traffic.idempotent_ratio)} of the batches"
    yield "transactions", f"{share(traffic.transactional_ratio)} of the batches"
    # A count of offsets from which transaction markers were taken out is an estimate.
    about = "about " if traffic.set_aside.get("control") else ""
    stored = about + counted(traffic.stored_records, "stored record")
    fullest = f"the fullest of {traffic.partitions} partitions has {share(traffic.largest_partition_ratio)} of"
    yield "balance", f"the only partition has {stored}" if traffic.partitions == 1 else f"{fullest} {stored}"
    yield "last 24 hours", about + counted(traffic.recent_records, "record")


def print_ranking(rows: Sequence[RankedTopic], unread: Mapping[str, str], received_bytes: int, top: int) -> None:
    """Print the `top` topics of a cluster, in the order of what they could save."""
    if rows:
        _print_ranked(rows, received_bytes, top)
    else:
        OUT.show("there is no topic to rank")
    reasons: dict[str, list[str]] = {}
    for topic, reason in unread.items():
        reasons.setdefault(reason, []).append(topic)
    OUT.show(*(f"not ranked, {reason}: {', '.join(topics)}" for reason, topics in reasons.items()))


def _print_ranked(rows: Sequence[RankedTopic], received_bytes: int, top: int) -> None:
    table = [["", "topic", "saved", "batches saved", "bytes saved", "codec", "today"]]
    for rank, row in enumerate(rows[:top], 1):
        inspection, savings = row.inspection, row.inspection.savings
        table.append(
            [
                str(rank),
                inspection.topic,
                share(row.saved_ratio),
                f"{number(savings.batches_ratio * inspection.recent_batches)} ({share(savings.batches_ratio)})",
                f"{number(savings.bytes_ratio * inspection.recent_bytes / 1e6)} MB ({share(savings.bytes_ratio)})",
                savings.codec,
                in_short(inspection),
            ]
        )
    OUT.show(*aligned(table))
    if len(rows) > top:
        OUT.show(f"and {counted(len(rows) - top, 'more topic')} (--top {len(rows)}, --json)")
    rule = f"Ranked by what would be saved in the last 24 hours {IF_THEY_WAITED}, compressed with the codec."
    OUT.show(f"\n{rule}", f"saved: {_RANKING_RULE}.")
    OUT.show(f"{counted(len(rows), 'topic')} ranked; {received_bytes / 1e6:.1f} MB read.")


def _spread(spread: Spread) -> str:
    return f"mean {number(spread.mean)}, median {number(spread.median)}, p90 {number(spread.p90)}"


def _fill(inspection: Inspection) -> str:
    if inspection.ending.full_bytes is not None:
        return f"full: batch.size is about {inspection.ending.full_bytes:,}"
    mean = inspection.traffic.plain_bytes / inspection.traffic.batches
    return (
        f"{share(mean / JAVA_BATCH_BYTES)} of {JAVA_BATCH_BYTES:,} (batch.size of the Java client by default), "
        f"{share(mean / LIBRDKAFKA_BATCH_BYTES)} of {LIBRDKAFKA_BATCH_BYTES:,} (librdkafka)"
    )


def _coded(coded_bytes: Mapping[str, int], today_bytes: int) -> str:
    known = [codec for codec in CODECS_BY_COST if codec in coded_bytes]
    return ", ".join(f"{codec} {share(coded_bytes[codec] / today_bytes)}" for codec in known) + " of today's bytes"


def _lag(lag_ms: Spread | None) -> str:
    if lag_ms is None:
        return "not stored: the topic keeps the time of the producers (message.timestamp.type=CreateTime)"
    return f"{_spread(lag_ms)} ms, for the first record of a batch; the clocks of producers and brokers may differ"
