"""Consumers in processes of their own, on librdkafka's mock cluster: a common start, and nothing is left behind."""

import os
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import psutil
import pytest
from confluent_kafka import Producer
from typing_extensions import override

from runners.clusters.cluster import RunningCluster
from runners.consumers.consumer_processes import ConsumerProcesses
from runners.consumers.consumption import Consumption, ReadWindow
from runners.consumers.reading import OffsetRange, Reading, Start, share_out
from runners.consumers.reading_load import Reader, ReadWatch, read_on
from runners.errors import BrokerLost, GeneratorError, WorkerLost, WorkloadRefused
from runners.java_client.compiled import CompiledProgram
from runners.java_client.source import check_properties as check_java_properties
from runners.librdkafka.consumer import check_properties
from runners.librdkafka.source import LibrdkafkaReader
from runners.runner import WatchDecision
from search_spaces.client import java
from tests.helpers.children import child_of
from tests.helpers.mock_cluster import PARTITIONS
from tests.helpers.runner_contract import Left, check_nothing_left

EACH = 5_000


@pytest.fixture
def filled(mock_cluster: RunningCluster, request: pytest.FixtureRequest) -> str:
    """Give a topic with 5,000 records of 0 to 6 bytes in each of its four partitions."""
    name = f"read-{abs(hash(request.node.name))}"
    producer = Producer(dict(mock_cluster.connection))
    for number in range(EACH * PARTITIONS):
        producer.produce(name, b"x" * (number % 7), partition=number % PARTITIONS)
        producer.poll(0)
    assert producer.flush(30) == 0
    return name


def processes(
    cluster: RunningCluster, topic: str, reading: Reading, end: int | None = EACH, first: int = 0
) -> ConsumerProcesses:
    shares = share_out([OffsetRange(number, first, end) for number in range(PARTITIONS)], reading.consumers)
    return ConsumerProcesses([LibrdkafkaReader(cluster, topic, share, reading) for share in shares])


@pytest.mark.parametrize("consumers", [1, 3])
def test_every_record_is_read_once_by_one_or_several_consumers(
    mock_cluster: RunningCluster, filled: str, consumers: int
) -> None:
    before, windows, starts = Left.now(), list[ReadWindow](), list[int]()

    def watch(window: ReadWindow) -> WatchDecision:
        windows.append(window)
        return WatchDecision.GO_ON

    reading = Reading(consumers=consumers, warmup_s=0.1, measured_s=20.0, keep_arrivals=True)
    seen = processes(mock_cluster, filled, reading).run(watch, starts.append)
    check_nothing_left(before)
    assert seen.counts.differences() == ()
    assert seen.counts.taken == seen.counts.stored == seen.counts.received == EACH * PARTITIONS
    assert seen.ended_s is not None
    assert not seen.stopped_early
    assert [each.records for each in windows] == [each.records for each in seen.series]
    assert sum(each.records for each in windows) == EACH * PARTITIONS
    assert sum(each.value_bytes for each in windows) == sum(number % 7 for number in range(EACH * PARTITIONS))
    assert seen.arrivals is not None
    assert seen.arrivals.records == EACH * PARTITIONS
    for partition in range(PARTITIONS):
        mine = seen.arrivals.partitions == partition
        lengths = seen.arrivals.last_offsets[mine] - seen.arrivals.first_offsets[mine] + 1
        assert seen.arrivals.first_offsets[mine].tolist() == [0, *np.cumsum(lengths)[:-1].tolist()]
        assert np.all(np.diff(seen.arrivals.at_ns[mine]) >= 0)
    assert len(starts) == 1
    assert starts[0] <= seen.arrivals.at_ns.min() <= seen.arrivals.at_ns.max() < time.monotonic_ns()


def test_what_is_written_after_the_start_is_read_at_the_tail(mock_cluster: RunningCluster, filled: str) -> None:
    producer = Producer(dict(mock_cluster.connection))
    read = 0

    def write(_: int) -> None:
        for number in range(100):
            producer.produce(filled, b"new", partition=number % PARTITIONS)
        assert producer.flush(30) == 0

    def watch(window: ReadWindow) -> WatchDecision:
        nonlocal read
        read += window.records
        return WatchDecision.STOP if read == 100 else WatchDecision.GO_ON

    reading = Reading(Start.TAIL, consumers=2, warmup_s=0.0, measured_s=60.0)
    seen = processes(mock_cluster, filled, reading, end=None, first=EACH).run(watch, write)
    assert seen.stopped_early
    assert seen.counts.differences() == ()
    assert (seen.counts.taken, seen.counts.stored) == (100, None)
    assert sum(each.value_bytes for each in seen.series) == 300


def test_a_stop_ends_the_load_soon(mock_cluster: RunningCluster, filled: str) -> None:
    reading = Reading(Start.TAIL, warmup_s=0.2, measured_s=60.0)
    seen = processes(mock_cluster, filled, reading, end=None, first=EACH).run(lambda _: WatchDecision.STOP)
    assert seen.stopped_early
    assert len(seen.series) < 10


def test_an_error_of_the_watcher_ends_all_consumers(mock_cluster: RunningCluster, filled: str) -> None:
    class Enough(Exception):
        pass

    def watch(_: ReadWindow) -> WatchDecision:
        raise Enough

    before = Left.now()
    with pytest.raises(Enough):
        processes(mock_cluster, filled, Reading(Start.TAIL, consumers=2, warmup_s=0.2), end=None, first=EACH).run(watch)
    check_nothing_left(before)


def test_a_killed_consumer_ends_the_others(mock_cluster: RunningCluster, filled: str) -> None:
    def watch(_: ReadWindow) -> WatchDecision:
        os.kill(child_of(psutil.Process()).pid, signal.SIGKILL)
        return WatchDecision.GO_ON

    before = Left.now()
    with pytest.raises(WorkerLost, match="exit code -9"):
        processes(mock_cluster, filled, Reading(Start.TAIL, consumers=2, warmup_s=0.2), end=None, first=EACH).run(watch)
    check_nothing_left(before)


@pytest.mark.campaign
def test_consumers_without_a_broker_get_a_clear_error() -> None:
    nowhere = RunningCluster(
        "existing", {"bootstrap.servers": "127.0.0.1:1", "socket.connection.setup.timeout.ms": "1000"}
    )
    before = Left.now()
    with pytest.raises(BrokerLost, match="did not return the metadata of topic t"):
        processes(nowhere, "t", Reading(consumers=2)).run()
    check_nothing_left(before)


@dataclass(frozen=True, slots=True)
class Failing(Reader):
    """A reader that has a defect, or that waits forever for the start."""

    fails: bool

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch = read_on) -> Consumption:
        """Fail, or wait."""
        if self.fails:
            raise ValueError("a defect")
        ready()
        raise AssertionError("there is no start without all consumers")


def test_a_consumer_that_fails_before_the_start_ends_those_that_wait_for_it() -> None:
    before, nowhere = Left.now(), RunningCluster("existing", {})
    with pytest.raises(GeneratorError, match="ValueError: a defect"):
        ConsumerProcesses([Failing(nowhere, "t", (), Reading(), fails) for fails in (False, True)]).run()
    check_nothing_left(before)


def test_shares_differ_by_at_most_one_partition() -> None:
    ranges = [OffsetRange(number, 0, 1) for number in range(7)]
    shares = share_out(ranges, 3)
    assert sorted(each.partition for share in shares for each in share) == list(range(7))
    assert sorted(map(len, shares)) == [2, 2, 3]
    with pytest.raises(WorkloadRefused, match="has 2 partitions for 3 consumers"):
        share_out(ranges[:2], 3)


@pytest.mark.parametrize("wrong", [{"consumers": 0}, {"consumers": 65}, {"warmup_s": -1}, {"measured_s": 0}])
def test_an_impossible_load_of_consumers_is_refused(wrong: dict[str, int]) -> None:
    (name, value), *_ = wrong.items()
    with pytest.raises(WorkloadRefused, match=f"^{name} must be a .*number .*, but got {value}$"):
        Reading(**wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"fetch.min.bytes": "200000000"}, "fetch.min.bytes"),
        ({"fetch.max.bytes": "1000", "message.max.bytes": "100000"}, "fetch.max.bytes"),
        ({"linger.ms": "5"}, "but linger.ms is a producer property"),
        ({"request.required.acks": "1"}, "but request.required.acks is a producer property"),
        ({"no.such.property": "5"}, "no.such.property"),
    ],
)
def test_the_client_itself_refuses_properties(given: dict[str, str], said: str) -> None:
    with pytest.raises(WorkloadRefused, match=said):
        check_properties(given)
    check_properties({"fetch.min.bytes": "100000", "queued.min.messages": "1000"})


def test_java_consumer_properties_are_checked_by_the_client_itself() -> None:
    program = CompiledProgram.prepare(java().version)
    check_java_properties(program, {"max.poll.records": "5000", "fetch.min.bytes": "1000"})
    for name, value, said in (
        ("fetch.min.byte", "1", "no property fetch.min.byte"),
        ("max.poll.records", "0", "max.poll.records"),
        ("linger.ms", "5", "no property linger.ms"),
    ):
        with pytest.raises(WorkloadRefused, match=said):
            check_java_properties(program, {name: value})
