"""Reads one topic with several consumers: finds the offsets to read, divides the partitions, merges the results."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.stored_topics import StoredTopics
from runners.consumers.consumer_processes import ConsumerProcesses
from runners.consumers.consumption import Consumption
from runners.consumers.reading import OffsetRange, Reading, Start, share_out
from runners.consumers.reading_load import Reader, ReadWatch, read_on
from runners.errors import WorkloadRefused
from runners.java_client.source import JavaReader
from runners.librdkafka.source import LibrdkafkaReader
from search_spaces.client import Client, ClientKind, librdkafka

_NOTHING: Final = "nobody wrote to the topic while it was read at its tail, so there was nothing to read"


@dataclass(frozen=True, slots=True)
class TopicConsumption:
    """A load of consumers on one topic.

    Attributes:
        cluster: The cluster of the topic.
        topic: The name of the topic.
        reading: The settings of the load.
        sole_writer: Whether only we write to the topic, so that every offset must hold a record.
        client: The client of the consumers.
    """

    cluster: RunningCluster
    topic: str
    reading: Reading
    sole_writer: bool = False
    client: Client = field(default_factory=librdkafka)

    def run(
        self,
        watch: ReadWatch = read_on,
        on_start: Callable[[int], None] = lambda _: None,
        ranges: Sequence[OffsetRange] | None = None,
    ) -> Consumption:
        """Read the topic, and return what was measured. The cluster is left as it was.

        Args:
            watch: Called with each window; it can stop the load.
            on_start: Called with the moment at which all consumers begin; see `ConsumerProcesses.run`.
            ranges: The offsets to read in each partition; None for the offsets that `self.offset_ranges()` returns now.

        Raises:
            WorkloadRefused: The topic does not exist or is empty, or it has fewer partitions than there are consumers.
            TargetRefused: We have no permission to read it.
            BrokerLost: The cluster did not answer, or no longer answers.
            RunnerError: A consumer gave no result.
        """
        ranges = self.offset_ranges() if ranges is None else ranges
        shares = share_out(ranges, self.reading.consumers)
        seen = ConsumerProcesses([self._reader(share) for share in shares]).run(watch, on_start)
        deleted = self._deleted(ranges) if seen.counts.skipped else 0
        counts = replace(seen.counts, sole_writer=self.sole_writer, deleted=deleted)
        return replace(seen, counts=counts, warnings=(*seen.warnings, *_warnings(seen)))

    def _reader(self, share: tuple[OffsetRange, ...]) -> Reader:
        match self.client.kind:
            case ClientKind.LIBRDKAFKA:
                return LibrdkafkaReader(self.cluster, self.topic, share, self.reading)
            case ClientKind.JAVA:
                return JavaReader(self.cluster, self.topic, share, self.reading, self.client.version)

    def _deleted(self, ranges: Sequence[OffsetRange]) -> int:
        """Return how many of these offsets the topic no longer has, because retention has deleted their records."""
        begins = {each.number: each.begin for each in StoredTopics(self.cluster.connection).one(self.topic).partitions}
        return sum(max(0, begins[each.partition] - each.first) for each in ranges)

    def offset_ranges(self) -> list[OffsetRange]:
        """Return the offsets to read, by `reading.start`: all offsets of the topic, or those after its current end.

        Raises:
            WorkloadRefused: The topic does not exist or is empty.
            TargetRefused: We have no permission to read it.
            BrokerLost: The cluster did not answer.
        """
        stored = StoredTopics(self.cluster.connection).one(self.topic)
        if self.reading.start is Start.TAIL:
            return [OffsetRange(each.number, each.end, None) for each in stored.partitions]
        if not stored.records:
            raise WorkloadRefused(
                f"a topic that is read from its beginning must have records, but {self.topic} is empty; name another "
                "topic, or read at the tail while records are written (--start tail)"
            )
        return [OffsetRange(each.number, each.begin, each.end) for each in stored.partitions]


def _warnings(consumption: Consumption) -> list[str]:
    sentences = []
    if consumption.in_warm_up and consumption.ended_s is not None:
        sentences.append(
            f"everything was read within the warm-up, after {consumption.ended_s:.2f} s, so the values are those of "
            "the warm-up; shorten it, or read a larger topic"
        )
    if consumption.reading.start is Start.TAIL and not consumption.counts.taken:
        sentences.append(_NOTHING)
    return sentences
