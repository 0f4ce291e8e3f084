"""Tests of the limits on a record's size, to the byte, against the client and its in-process cluster."""

import pytest
from confluent_kafka import KafkaException, Producer

from runners.clusters.cluster import RunningCluster
from search_spaces import ProducerConfig, RuleBroken, check_record
from search_spaces.client_facts.record_format import record_overhead_bytes, single_record_batch_bytes
from search_spaces.librdkafka.limits import RECORD_OVERHEAD_BYTES
from tests.helpers.mock_cluster import largest_batch_bytes


@pytest.mark.parametrize("limit_bytes", [1_000, 100_000, 1_000_000])
@pytest.mark.parametrize("key_bytes", [None, 1, 500])
def test_the_largest_allowed_record_is_the_largest_the_client_accepts(
    mock_cluster: RunningCluster, limit_bytes: int, key_bytes: int | None
) -> None:
    config = ProducerConfig.parse({"message.max.bytes": limit_bytes})
    largest = limit_bytes - RECORD_OVERHEAD_BYTES - (key_bytes or 0)
    check_record(config, largest, key_bytes)
    with pytest.raises(RuleBroken, match=f"record-within-message-max.*message.max.bytes={limit_bytes}"):
        check_record(config, largest + 1, key_bytes)

    producer = Producer({**config.values, "bootstrap.servers": mock_cluster.bootstrap, "log_level": 0})
    failures: list[object] = []
    key = None if key_bytes is None else bytes(key_bytes)
    producer.produce("sizes", bytes(largest), key=key, on_delivery=lambda error, _: failures.append(error))
    assert producer.flush(10) == 0
    assert failures == [None]
    with pytest.raises(KafkaException, match="MSG_SIZE_TOO_LARGE"):
        producer.produce("sizes", bytes(largest + 1), key=key)


def test_a_value_larger_than_the_queue_is_never_accepted(mock_cluster: RunningCluster) -> None:
    config = ProducerConfig.parse({"queue.buffering.max.kbytes": 1})
    check_record(config, 1024, 24)
    with pytest.raises(RuleBroken, match=r"record-within-queue.*1025 bytes.*1024"):
        check_record(config, 1025, 24)
    producer = Producer({**config.values, "bootstrap.servers": mock_cluster.bootstrap, "log_level": 0})
    with pytest.raises(BufferError):
        producer.produce("sizes", bytes(1025), key=bytes(24))
    producer.produce("sizes", bytes(1024), key=bytes(24))
    assert producer.flush(10) == 0


@pytest.mark.parametrize("record_bytes", [0, 1, 50, 60, 8_000, 9_000, 100_000])
@pytest.mark.parametrize("key_bytes", [None, 0, 100])
def test_the_computed_size_of_a_batch_of_one_is_what_the_client_sends(
    mock_cluster: RunningCluster, record_bytes: int, key_bytes: int | None
) -> None:
    key = None if key_bytes is None else bytes(key_bytes)
    sent = largest_batch_bytes(mock_cluster, "sizes", {"linger.ms": 0}, [bytes(record_bytes)], key)
    assert sent == single_record_batch_bytes(record_bytes, key_bytes)


@pytest.mark.parametrize(("value_bytes", "overhead"), [(1, 7 + 2), (100, 10), (1_000, 10), (10_000, 12)])
def test_a_record_has_the_overhead_of_the_message_format(value_bytes: int, overhead: int) -> None:
    """Source: measured batches of 16,384 B have 148 records of 100 B, and those of 1 MB have 99 records of 10,000 B."""
    found = record_overhead_bytes(value_bytes)
    assert found == pytest.approx(overhead, abs=1)
    assert record_overhead_bytes(value_bytes, 100) > found


def test_batches_stop_growing_at_message_max_bytes(mock_cluster: RunningCluster) -> None:
    config = {"linger.ms": 100, "batch.size": 100_000, "message.max.bytes": 5_000}
    assert 4_000 < largest_batch_bytes(mock_cluster, "sizes", config, [bytes(200)] * 100) <= 5_000


def test_records_and_full_batches_must_fit_the_topic() -> None:
    config = ProducerConfig.parse({})
    with pytest.raises(RuleBroken, match=r"record-within-topic.*max\.message\.bytes=1000; measure smaller"):
        check_record(config, 1000, None, topic_max_message_bytes=1000)
    with pytest.raises(RuleBroken, match=r"batch-within-topic.*lower batch\.size"):
        check_record(config, 100, None, topic_max_message_bytes=100_000)
    check_record(config.updated({"batch.size": 100_000}), 100, None, topic_max_message_bytes=100_000)
    check_record(config.updated({"batch.num.messages": 100}), 100, None, topic_max_message_bytes=100_000)


def test_the_topics_limit_is_not_checked_for_compressed_batches() -> None:
    check_record(ProducerConfig.parse({"compression.type": "lz4"}), 2000, None, topic_max_message_bytes=1000)
