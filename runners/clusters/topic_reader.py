"""Reads the newest records of a topic, without a consumer group and without leaving anything on the cluster."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition

from runners.clusters.contact import READ, AdminRequest, Contact
from runners.clusters.topic_admin import TopicAdmin
from runners.errors import BrokerLost, WorkloadRefused

_AT_ONCE: Final = 500
_WAIT_S: Final = 1.0
_PATIENCE_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record as it lies in the topic.

    Attributes:
        partition: Its partition.
        key: Its key; None if it has none.
        value: Its value; None for a tombstone, which deletes a key.
        timestamp_ms: Its timestamp in milliseconds since 1970; None if it has none.
    """

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None


@dataclass(frozen=True, slots=True)
class Extent:
    """What of a topic can be read.

    Attributes:
        begins: The first offset of each partition.
        ends: The offset after the last record of each partition.
    """

    begins: tuple[int, ...]
    ends: tuple[int, ...]

    @property
    def records(self) -> int:
        """Number of offsets; less records if the topic is compacted or has transactions."""
        return sum(self.ends) - sum(self.begins)


@dataclass(frozen=True, slots=True)
class TopicReader:
    """Reads a topic of the user's.

    Attributes:
        connection: Client properties under librdkafka's names.
        topic: The name of the topic.
    """

    connection: Mapping[str, str]
    topic: str

    def extent(self) -> Extent:
        """Return what can be read.

        Raises:
            WorkloadRefused: The topic does not exist.
            TargetRefused: We have no right to read it.
            BrokerLost: The cluster did not answer.
        """
        # A topic of ours may be so new that the cluster does not tell its leaders yet; then this waits for them.
        admin = TopicAdmin(self.connection)
        shape = admin.shape(self.topic, (READ,))
        if shape is None:
            raise WorkloadRefused(f"a topic that is read must exist, but the cluster has no topic {self.topic!r}")
        ends = admin.end_offsets(self.topic, shape.partitions)
        return Extent(admin.begin_offsets(self.topic, shape.partitions), ends)

    def newest(self, extent: Extent, records: int) -> Iterator[ReadRecord]:
        """Yield about as many of the newest records as asked for, an equal number from each partition that has some.

        Args:
            extent: What can be read.
            records: The number of records.

        Raises:
            TargetRefused: We have no right to read the topic.
            BrokerLost: The cluster did not answer.
        """
        filled = [
            (number, low, high)
            for number, (low, high) in enumerate(zip(extent.begins, extent.ends, strict=True))
            if high > low
        ]
        each = -(-records // max(1, len(filled)))
        starts = {number: max(low, high - each) for number, low, high in filled}
        with closing(self._consumer()) as consumer:
            consumer.assign([TopicPartition(self.topic, number, offset) for number, offset in starts.items()])
            unread, waited_s = set(starts), 0.0
            while unread:
                messages = consumer.consume(_AT_ONCE, _WAIT_S)
                waited_s = 0.0 if messages else waited_s + _WAIT_S
                if waited_s >= _PATIENCE_S:
                    raise BrokerLost(
                        f"the cluster sent no records of topic {self.topic} for {_PATIENCE_S:.0f} s; check that its "
                        "brokers are running"
                    )
                for message in messages:
                    number, offset, failed = message.partition(), message.offset(), message.error()
                    if failed is not None and failed.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                        continue  # the client asks for a group's coordinator, which we do without
                    if failed is not None and failed.code() != KafkaError._PARTITION_EOF:
                        raise self._refusal(KafkaException(failed))
                    if number is None or offset is None:
                        continue
                    if failed is not None or offset >= extent.ends[number] - 1:
                        unread.discard(number)
                    if failed is None and offset < extent.ends[number]:
                        kind, at_ms = message.timestamp()
                        known = kind != TIMESTAMP_NOT_AVAILABLE
                        yield ReadRecord(number, message.key(), message.value(), at_ms if known else None)

    def _consumer(self) -> Consumer:
        """Return a consumer that stores no offsets. Its group exists only as a name in this process."""
        return Consumer(
            {
                **self.connection,
                "group.id": f"tuner-sample-{uuid.uuid4().hex}",
                "enable.auto.commit": False,
                "enable.auto.offset.store": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "earliest",
                "allow.auto.create.topics": False,
                "queued.max.messages.kbytes": 16_384,
            }
        )

    def _refusal(self, error: KafkaException) -> Exception:
        return Contact(self.connection).refusal(error, AdminRequest(f"read topic {self.topic}", (READ,), self.topic))
