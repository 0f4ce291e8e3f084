"""A topic that was just created may have no leaders for a moment, and requests about it wait."""

from collections.abc import Mapping
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest
from confluent_kafka import KafkaError, KafkaException

from runners.clusters.topic_admin import TopicAdmin


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


@pytest.mark.parametrize("code", [KafkaError.LEADER_NOT_AVAILABLE, KafkaError._NOENT])
def test_offsets_are_read_when_all_partitions_have_leaders(code: int) -> None:
    admin = object.__new__(TopicAdmin)
    admin._admin = NewTopic(code, 3)  # type: ignore[assignment]
    assert admin.end_offsets("orders", 2) == (10, 11)
