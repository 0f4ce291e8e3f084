"""Chooses which record batches of topics are read, within a limit on the bytes.

The newest batches of a partition can't be requested: a broker reads forwards, and nobody knows how many records a batch
has. So a partition is read up to twice. To get N batches, the first reading begins N records before the end. If this
reading finds fewer than N batches, because batches have several records, the second reading begins earlier. How much
earlier follows from the records per batch in the first reading.

A broker sends no part of a batch. If the next batch of a partition is larger than the requested size, the response has
no batch of this partition. The partition is then requested alone, because a broker always sends the first batch of a
request, whatever its size.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol

from runners.clusters.topics.stored_topics import BrokerAddress, StoredPartition, StoredTopic
from runners.inspection.batch_reader import FetchedBatches, FetchRange, ResponseNotRead
from runners.inspection.record_batch import BatchSequence

LEAST_BYTES: Final = 1_000_000
"""The smallest limit on bytes that a user may set, because batches of a megabyte are usual."""
_RESPONSES: Final = 5
"""The largest response has the byte limit of the whole sample, divided by this number."""
_SHARE: Final = 0.4
"""The part of the bytes that each of the two readings may take. The rest is for partitions that are requested alone."""
_MOST_PARTITIONS: Final = 200
_LEAST_BATCHES: Final = 10
_OVERHEAD_BYTES: Final = 120
"""Bytes that a response needs for a partition, besides the topic's name and the batches."""
_FILL: Final = 0.9
"""The share of a response's bytes that is requested for batches: the protocol needs the rest."""
LARGEST_BATCH_RATIO: Final = _FILL / _RESPONSES
"""The size of the largest batch that is read, as a share of the byte limit of the whole sample."""
_ALONE_BYTES: Final = 65_536
"""The least number of bytes to request of a partition that is requested alone. Larger batches come all the same."""


class BatchFetcher(Protocol):
    """Reads batches; see `BatchReader`."""

    @property
    def received_bytes(self) -> int:
        """The bytes that have been received so far."""

    def fetch(self, broker: BrokerAddress, ranges: Sequence[FetchRange], most_bytes: int) -> list[FetchedBatches]:
        """Send one request to a broker; see `BatchReader.fetch`."""


@dataclass(frozen=True, slots=True)
class SampleLimits:
    """Limits of what is read.

    Attributes:
        batches: About how many batches of each topic.
        most_bytes: The highest number of bytes that are received, over all topics.
    """

    batches: int
    most_bytes: int

    @property
    def most_response_bytes(self) -> int:
        """The highest number of bytes of one response."""
        return self.most_bytes // _RESPONSES


@dataclass(frozen=True, slots=True)
class BatchSample:
    """Record batches of a topic.

    Attributes:
        topic: The topic, with the offsets of its partitions.
        sequences: Batches that follow each other, by the number of the partition.
        unread: Why partitions that were chosen gave no batch, by their number.
        lacks_bytes: Whether one of them gave none because its batches are too large for the limit on the bytes.
    """

    topic: StoredTopic
    sequences: Mapping[int, BatchSequence]
    unread: Mapping[int, str]
    lacks_bytes: bool = False


@dataclass(slots=True)
class _Cursor:
    """The state of reading one partition: what was read, and what is read next.

    Attributes:
        topic: Name of the topic.
        partition: The partition, with the offsets that can be read.
        wanted: How many batches to read.
        share_bytes: The most bytes that each of the two readings may take.
        offset: The next offset to read.
        end: The offset before which the current reading ends.
        spent_bytes: Size of the batches of the current reading.
        first_offset: The first offset of the first reading's first batch; None before that batch.
        read: The batches of the current reading.
        first_read: The batches of the first reading, once the second one has begun.
        alone: Whether the partition is requested alone from now on, because its next batch is large.
        done: Whether nothing more is read.
        error: Kafka's name of the error with which the broker answered; empty if there was none.
        too_large: In words, how its batches are too large for the limit on the bytes; empty if they are not.
    """

    topic: str
    partition: StoredPartition
    wanted: int
    share_bytes: int
    offset: int = 0
    end: int = 0
    spent_bytes: int = 0
    first_offset: int | None = None
    read: BatchSequence = field(default_factory=BatchSequence)
    first_read: BatchSequence | None = None
    alone: bool = False
    done: bool = False
    error: str = ""
    too_large: str = ""

    def __post_init__(self) -> None:
        """Place the first reading `wanted` records before the end."""
        self.end = self.partition.end
        self.offset = max(self.partition.begin, self.end - self.wanted)

    @property
    def sequence(self) -> BatchSequence:
        """The batches: those of both readings if they meet, otherwise those of the longer one."""
        if self.first_read is None:
            return self.read
        if self.offset >= self.end:
            return self.read + self.first_read
        return max(self.first_read, self.read, key=lambda each: len(each.batches))

    @property
    def batches(self) -> int:
        return len(self.sequence.batches)

    @property
    def most_bytes(self) -> int:
        return max(_ALONE_BYTES, self.share_bytes) if self.alone else self.share_bytes - self.spent_bytes

    def range_to_fetch(self, most_bytes: int) -> FetchRange:
        return FetchRange(self.topic, self.partition.number, self.offset, self.end, most_bytes)

    def take(self, fetched: FetchedBatches) -> None:
        """Add the batches that a broker has sent, and choose the next offset to read."""
        if fetched.error:
            self.error, self.done = fetched.error, True
        elif fetched.next_offset is None:
            # The next batch is larger than the requested size. If the partition was requested alone, there is no batch.
            self.done = self.alone or self.batches >= _LEAST_BATCHES
            self.alone = True
        else:
            self.read += fetched.sequence
            self.first_offset = fetched.first_offset if self.first_offset is None else self.first_offset
            self.offset = fetched.next_offset
            self.spent_bytes += sum(each.bytes for each in fetched.sequence.batches)
            if self.offset >= self.end or len(self.read.batches) >= self.wanted:
                self._go_back()
            elif not self.alone and self.spent_bytes >= self.share_bytes:
                self.done = True

    def _go_back(self) -> None:
        """Begin the second reading, before the first one, if that had too few batches; otherwise set `done`."""
        batches, first = len(self.read.batches), self.first_offset
        assert first is not None
        if self.first_read is not None or batches >= self.wanted or first <= self.partition.begin:
            self.done = True
            return
        offsets = (self.end - first) / max(1, batches)
        self.offset = max(self.partition.begin, self.end - round(offsets * self.wanted))
        self.first_read, self.read, self.end, self.spent_bytes = self.read, BatchSequence(), first, 0


def sample_batches(reader: BatchFetcher, topics: Sequence[StoredTopic], limits: SampleLimits) -> list[BatchSample]:
    """Return some of the newest batches of each topic.

    Args:
        reader: Reads them.
        topics: The topics.
        limits: Limits of what is read. A topic whose batches are larger than the bytes that are left gets no batches.

    Raises:
        BrokerLost: A broker did not answer.
        TargetRefused: A broker refused us.
    """
    chosen = {topic.name: _chosen(topic, max(1, _MOST_PARTITIONS // max(1, len(topics)))) for topic in topics}
    count = max(1, sum(len(partitions) for partitions in chosen.values()))
    share_bytes = int(_SHARE * (limits.most_bytes - limits.most_response_bytes) / count)
    cursors = [
        _Cursor(name, partition, max(_LEAST_BATCHES, -(-limits.batches // len(partitions))), share_bytes)
        for name, partitions in chosen.items()
        for partition in partitions
    ]
    room_bytes = int(_FILL * limits.most_response_bytes)
    while (going := [cursor for cursor in cursors if not cursor.done]) and _has_room(reader, limits):
        together = [cursor for cursor in going if not cursor.alone]
        for leader, several in _requests(together, room_bytes) if together else _requests_for_one_partition(going):
            if _has_room(reader, limits):
                _read(reader, leader, several, room_bytes)
    for cursor in cursors:
        if not cursor.done and not cursor.batches:
            cursor.too_large = f"its batches are larger than {_size(share_bytes)}, and no more bytes may be read"
    return [_sample(topic, [cursor for cursor in cursors if cursor.topic == topic.name]) for topic in topics]


def _has_room(reader: BatchFetcher, limits: SampleLimits) -> bool:
    """Return whether a response of the largest size still fits into the limit on the bytes."""
    return reader.received_bytes + limits.most_response_bytes <= limits.most_bytes


def _chosen(topic: StoredTopic, most: int) -> list[StoredPartition]:
    """Return at most `most` partitions with the most records, without empty partitions."""
    filled = [each for each in topic.partitions if each.records]
    return sorted(filled, key=lambda each: -(each.recent or each.records))[:most]


def _requests(cursors: Iterable[_Cursor], room_bytes: int) -> Iterator[tuple[BrokerAddress, list[_Cursor]]]:
    """Yield a broker and some of its partitions for each request, so that the response has room for all of them."""
    by_leader: dict[BrokerAddress, list[_Cursor]] = defaultdict(list)
    for cursor in cursors:
        by_leader[cursor.partition.leader].append(cursor)
    for leader, own in by_leader.items():
        several, used = list[_Cursor](), 0
        for cursor in own:
            needed = min(cursor.most_bytes, room_bytes) + _OVERHEAD_BYTES + len(cursor.topic)
            if several and used + needed > room_bytes:
                yield leader, several
                several, used = [], 0
            several.append(cursor)
            used += needed
        yield leader, several


def _requests_for_one_partition(cursors: Iterable[_Cursor]) -> Iterator[tuple[BrokerAddress, list[_Cursor]]]:
    """Yield a request for one partition of each topic, first for the topics with the fewest batches so far.

    Of each topic, the partition with the most batches so far is read on, because only successive batches show how long
    their producer waits.
    """
    by_topic: dict[str, list[_Cursor]] = defaultdict(list)
    for cursor in cursors:
        by_topic[cursor.topic].append(cursor)
    for own in sorted(by_topic.values(), key=lambda own: sum(cursor.batches for cursor in own)):
        longest = max(own, key=lambda cursor: cursor.batches)
        yield longest.partition.leader, [longest]


def _read(reader: BatchFetcher, leader: BrokerAddress, cursors: Sequence[_Cursor], room_bytes: int) -> None:
    ranges = [each.range_to_fetch(max(1, min(each.most_bytes, room_bytes))) for each in cursors]
    try:
        responses = reader.fetch(leader, ranges, room_bytes)
    except ResponseNotRead:
        if len(cursors) == 1:
            cursors[0].done = True
            cursors[0].too_large = f"a batch is larger than {_size(room_bytes)}, or the broker closed the connection"
        for each in cursors:
            each.alone = True
        return
    for cursor, response in zip(cursors, responses, strict=True):
        cursor.take(response)


def _sample(topic: StoredTopic, cursors: Sequence[_Cursor]) -> BatchSample:
    sequences = {each.partition.number: each.sequence for each in cursors if each.first_offset is not None}
    unread = {each.partition.number: why for each in cursors if (why := each.error or each.too_large)}
    return BatchSample(topic, sequences, unread, any(each.too_large for each in cursors))


def _size(count: int) -> str:
    return f"{count / 1e3:,.0f} kB"
