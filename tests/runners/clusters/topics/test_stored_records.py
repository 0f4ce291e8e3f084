"""The number of records that a topic has is read when its replicas have them."""

from collections.abc import Iterator, Mapping, Sequence
from uuid import uuid4

import pytest

from runners.clock import NS_PER_S
from runners.clusters.admin_connection import AdminConnection
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics import stored_records as stored_records_module
from runners.clusters.topics.stored_records import once_replicated, stored_records
from runners.clusters.topics.topic_admin import TopicAdmin
from tests.helpers.mock_cluster import PARTITIONS
from tests.helpers.moved_clock import MovedClock


def counts(values: Sequence[int]) -> Iterator[int]:
    """Yield the values, and then the last one for ever."""
    yield from values
    while True:
        yield values[-1]


@pytest.mark.parametrize(
    ("values", "acknowledged", "stored"),
    [
        ([100], 100, 100),
        ([100], 0, 100),  # nobody waits for a number that is not known
        ([40, 60, 60, 100], 100, 100),  # the replicas catch up
        ([40, 60, 90], 100, 90),  # records were lost
        ([120], 100, 120),  # another producer writes, too
    ],
)
def test_the_number_of_stored_records_is_the_last_that_was_read(
    values: list[int], acknowledged: int, stored: int
) -> None:
    read = counts(values)
    assert once_replicated(lambda: next(read), acknowledged, MovedClock()) == stored


def test_leaders_are_asked_for_when_there_is_a_connection(
    mock_cluster: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Otherwise librdkafka asks again seconds later, and one of several producers begins that much later."""
    contacts: list[AdminConnection] = []

    class Noted(TopicAdmin):
        def __init__(self, connection: Mapping[str, str]) -> None:
            super().__init__(connection)
            contacts.append(self._admin_connection)

    monkeypatch.setattr(stored_records_module, "TopicAdmin", Noted)
    topic, connection = str(uuid4()), {**mock_cluster.connection, "debug": "metadata"}
    AdminConnection(connection).admin.list_topics(topic, timeout=60)  # the mock cluster creates the topic
    for _ in range(10):  # without a connection, 7 of 10 clients ask in vain
        assert stored_records(connection, topic, PARTITIONS) == 0
        said = contacts.pop().complaints()
        assert any("Received metadata" in line for line in said), said
        assert not any("no usable brokers" in line for line in said), said


def test_a_number_that_grows_for_ever_is_not_waited_for() -> None:
    clock, read = MovedClock(), iter(range(10_000))
    assert once_replicated(lambda: next(read), 100_000, clock) < 10_000
    assert clock.at_ns < 100 * NS_PER_S
