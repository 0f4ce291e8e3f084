"""Computes what producers could save with larger or better compressed batches, and ranks the topics of a cluster.

Savings are counted in batches and in bytes, because the load of a cluster grows with both: a broker does the same work
for a batch of one record as for a batch of a hundred, and each byte is sent, stored and replicated.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import CODECS_BY_COST, UNCOMPRESSED
from runners.inspection.topic_traffic import TopicTraffic, traffic_of
from tuner.inspection.batch_ending import BatchEnding, ending_of

_NEARLY_BEST: Final = 1.05
_NOTICEABLE_RATIO: Final = 0.05


@dataclass(frozen=True, slots=True)
class Savings:
    """The savings if producers waited longer for their batches and compressed them well.

    Attributes:
        batches_ratio: The share of the batches that would be saved.
        bytes_ratio: The share of the bytes that would be saved, with larger batches and the best codec.
        codec: The best codec: the first of lz4, zstd, snappy and gzip that needs at most 5 % more bytes than the codec
            with the fewest bytes; `none` if compression saves less than 5 %.
    """

    batches_ratio: float
    bytes_ratio: float
    codec: str


@dataclass(frozen=True, slots=True)
class Inspection:
    """A topic, and the conclusions from its batches about its producers.

    Attributes:
        topic: The name of the topic.
        traffic: The figures of the topic's batches.
        ending: What ends the batches.
        savings: What the producers could save.
    """

    topic: str
    traffic: TopicTraffic
    ending: BatchEnding
    savings: Savings

    @property
    def recent_batches(self) -> float:
        """The approximate number of batches that were written since the start of the inspected period."""
        return self.traffic.recent_records / self.traffic.records_per_batch.mean

    @property
    def recent_bytes(self) -> float:
        """The approximate number of bytes that were written since the start of the inspected period."""
        return self.traffic.recent_records * self.traffic.bytes / self.traffic.records


@dataclass(frozen=True, slots=True)
class RankedTopic:
    """A topic's place among those of its cluster.

    Attributes:
        inspection: The topic.
        batches_ratio: The batches that could be saved here, as a share of the batches of all topics.
        bytes_ratio: The bytes that could be saved here, as a share of the bytes of all topics.
    """

    inspection: Inspection
    batches_ratio: float
    bytes_ratio: float

    @property
    def saved_ratio(self) -> float:
        """The mean of both ratios, by which topics are ranked."""
        return (self.batches_ratio + self.bytes_ratio) / 2


def inspection_of(sample: BatchSample) -> Inspection | None:
    """Return the inspection of a topic from a sample of its batches; None if the sample is empty."""
    traffic = traffic_of(sample)
    if traffic is None:
        return None
    return Inspection(sample.topic.name, traffic, ending_of(sample), savings_of(traffic))


def savings_of(traffic: TopicTraffic) -> Savings:
    """Return what the producers could save with other settings."""
    merged = traffic.merged
    if not merged.before or not merged.bytes:
        return Savings(0.0, 0.0, UNCOMPRESSED)
    codec = best_codec(merged.coded_bytes, merged.plain_bytes)
    fewest = merged.coded_bytes.get(codec, merged.plain_bytes)
    return Savings(1 - merged.after / merged.before, max(0.0, 1 - fewest / merged.bytes), codec)


def best_codec(coded_bytes: Mapping[str, int], plain_bytes: int) -> str:
    """Return the codec to use: the first of `CODECS_BY_COST` that is nearly the best; `none` if none helps.

    Args:
        coded_bytes: The size with each codec, by codec.
        plain_bytes: The size without compression.
    """
    fewest = min(coded_bytes.values(), default=plain_bytes)
    if fewest > (1 - _NOTICEABLE_RATIO) * plain_bytes:
        return UNCOMPRESSED
    return next(codec for codec in CODECS_BY_COST if coded_bytes.get(codec, plain_bytes) <= _NEARLY_BEST * fewest)


def rank_topics(inspections: Iterable[Inspection]) -> list[RankedTopic]:
    """Return topics by what could be saved, the topic with the largest savings first.

    Only batches since the start of the inspected period count. Topics are ranked by the mean of two shares: the batches
    that could be saved divided by the batches of all topics, and the bytes that could be saved divided by the bytes of
    all topics.
    """
    found = list(inspections)
    batches = sum(each.recent_batches for each in found)
    size = sum(each.recent_bytes for each in found)
    rows = [
        RankedTopic(
            each,
            each.savings.batches_ratio * each.recent_batches / batches if batches else 0.0,
            each.savings.bytes_ratio * each.recent_bytes / size if size else 0.0,
        )
        for each in found
    ]
    return sorted(rows, key=lambda row: (-row.saved_ratio, row.inspection.topic))
