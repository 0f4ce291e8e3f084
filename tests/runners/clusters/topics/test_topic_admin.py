"""A topic that was just created may have no leaders for a moment, and requests about it wait."""

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.topics.stored_topics import StoredTopics
from runners.clusters.topics.topic_admin import TopicAdmin, TopicShape


class NewTopic:
    """Stands in for librdkafka's admin client: its first answers say that no partition has a leader yet."""

    def __init__(self, code: int, answers_without_leader: int) -> None:
        self.code, self.left = code, answers_without_leader

    def list_offsets(self, asked: Mapping[Any, Any], *, request_timeout: float) -> dict[Any, "Future[Any]"]:
        self.left -= 1
        answers: dict[Any, Future[Any]] = {key: Future() for key in asked}
        for key, answer in answers.items():
            if self.left >= 0:
                answer.set_exception(KafkaException(KafkaError(self.code)))
            else:
                answer.set_result(SimpleNamespace(offset=10 + key.partition))
        return answers

    def describe_topics(self, _: Any, **__: Any) -> dict[str, "Future[Any]"]:
        leader = SimpleNamespace(id=1, host="broker", port=9092)
        partitions = [SimpleNamespace(id=number, leader=leader, replicas=[leader]) for number in range(2)]
        described: Future[Any] = Future()
        described.set_result(SimpleNamespace(name="orders", partitions=partitions, authorized_operations=None))
        return {"orders": described}


@pytest.mark.parametrize("code", [KafkaError.LEADER_NOT_AVAILABLE, KafkaError._NOENT])
def test_a_new_topic_is_settled_when_all_its_partitions_have_leaders(
    code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    admin, cluster = object.__new__(TopicAdmin), NewTopic(code, 3)
    monkeypatch.setattr(TopicAdmin, "shape", lambda *_: TopicShape(2, 1, in_sync=True))
    admin._admin = cluster  # type: ignore[assignment]
    admin.await_created("orders", 2)
    assert cluster.left < 0
    assert admin.end_offsets("orders", 2) == (10, 11)


def test_a_new_topic_is_described_once_all_its_partitions_have_leaders() -> None:
    stored, admin = object.__new__(StoredTopics), object.__new__(AdminConnection)
    stored._admin_connection, admin.admin = admin, NewTopic(KafkaError.LEADER_NOT_AVAILABLE, 3)  # type: ignore[assignment]
    found = [(each.number, each.begin, each.end) for each in stored.one("orders").partitions]
    assert found == [(0, 10, 10), (1, 11, 11)]
