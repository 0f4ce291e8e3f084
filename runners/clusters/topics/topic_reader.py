"""Reads the newest records of a topic, without a consumer group and without leaving anything on the cluster."""

import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TIMESTAMP_NOT_AVAILABLE, Consumer, KafkaError, KafkaException, TopicPartition

from runners.clusters.admin_connection import READ, AdminConnection, AdminRequest
from runners.clusters.topics.stored_topics import StoredTopic
from runners.errors import BrokerLost

_AT_ONCE: Final = 500
_WAIT_S: Final = 1.0
_PATIENCE_S: Final = 20.0


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """A record as it lies in the topic.

    Attributes:
        partition: Number of the partition that holds the record.
        key: Its key; None if it has none.
        value: Its value; None for a tombstone, which deletes a key.
        timestamp_ms: Its timestamp in milliseconds since 1970; None if it has none.
    """

    partition: int
    key: bytes | None
    value: bytes | None
    timestamp_ms: int | None


def newest_records(connection: Mapping[str, str], topic: StoredTopic, records: int) -> Iterator[ReadRecord]:
    """Yield about `records` of the newest records of a topic, equally many from each partition with records.

    Args:
        connection: Client properties under librdkafka's names.
        topic: The user's topic, with the offsets that can be read.
        records: About how many records to yield.

    Raises:
        TargetRefused: We have no permission to read the topic.
        BrokerLost: The cluster did not answer.
    """
    filled = {each.number: each for each in topic.partitions if each.records}
    share = -(-records // max(1, len(filled)))
    starts = {number: max(each.begin, each.end - share) for number, each in filled.items()}
    with closing(_consumer(connection)) as consumer:
        consumer.assign([TopicPartition(topic.name, number, offset) for number, offset in starts.items()])
        unread, waited_s = set(starts), 0.0
        while unread:
            messages = consumer.consume(_AT_ONCE, _WAIT_S)
            waited_s = 0.0 if messages else waited_s + _WAIT_S
            if waited_s >= _PATIENCE_S:
                raise BrokerLost(
                    f"the cluster sent no records of topic {topic.name} for {_PATIENCE_S:.0f} s; check that its "
                    "brokers are running"
                )
            for message in messages:
                number, offset, failed = message.partition(), message.offset(), message.error()
                if failed is not None and failed.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    continue  # the client asks for a group's coordinator, which we do without
                if failed is not None and failed.code() != KafkaError._PARTITION_EOF:
                    request = AdminRequest(f"read topic {topic.name}", (READ,), topic.name)
                    raise AdminConnection(connection).refusal(KafkaException(failed), request)
                if number is None or offset is None:
                    continue
                if failed is not None or offset >= filled[number].end - 1:
                    unread.discard(number)
                if failed is None and offset < filled[number].end:
                    kind, at_ms = message.timestamp()
                    has_timestamp = kind != TIMESTAMP_NOT_AVAILABLE
                    yield ReadRecord(number, message.key(), message.value(), at_ms if has_timestamp else None)


def _consumer(connection: Mapping[str, str]) -> Consumer:
    """Return a consumer that stores no offsets. Its group exists only as a name in this process."""
    return Consumer(
        {
            **connection,
            "group.id": f"tuner-sample-{uuid.uuid4().hex}",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "auto.offset.reset": "earliest",
            "allow.auto.create.topics": False,
            "queued.max.messages.kbytes": 16_384,
        }
    )
