"""The contract of every `LoadClient`, as a class of tests that the tests of each implementation inherit."""

from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, Protocol
from uuid import uuid4

import numpy as np
import pytest
from numpy.typing import NDArray
from typing_extensions import override

from runners.errors import GeneratorError, WorkloadRefused
from runners.librdkafka.librdkafka_runner import OpenClient
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.statistics import StatisticsReport
from runners.librdkafka.tally import Offsets, Tally
from runners.load.payload import PayloadPool
from tests.helpers.waiting import eventually

POLL_MS = 20
NEVER = "250000"
"""A value of `linger.ms` that keeps records in the client's queue longer than any test runs."""


class RememberingTally(Tally):
    """A tally that keeps the intended send times that came back with deliveries."""

    @override
    def sample(self, intended_ns: NDArray[np.int64], served_ns: int, offsets: Offsets | None = None) -> None:
        self.came_back = getattr(self, "came_back", [])
        self.came_back += intended_ns.tolist()
        super().sample(intended_ns, served_ns, offsets)


class Opened(NamedTuple):
    """An open client, with its tally and its pool."""

    client: LoadClient
    tally: RememberingTally
    pool: PayloadPool

    def drain_all(self) -> None:
        """Serve events until every record is delivered or has failed."""
        eventually(self._drained)

    def _drained(self) -> bool:
        self.client.drain(POLL_MS)
        return not self.client.waiting()

    def send_all(self, count: int, moment_ns: int = 1) -> None:
        """Hand over `count` records, serving deliveries whenever the queue is full."""
        while count:
            taken = self.client.send(moment_ns, min(count, 1_000))
            count -= taken
            if not taken:
                self.client.drain(POLL_MS)

    def next_report(self) -> StatisticsReport:
        """Wait for the client's next statistics."""
        eventually(self._told)
        return StatisticsReport.parse(*self.tally.statistics.popleft())

    def _told(self) -> bool:
        self.client.drain(POLL_MS)
        return bool(self.tally.statistics)


class Open(Protocol):
    """Opens a client, which the fixture closes."""

    def __call__(self, sizes: Sequence[int] = (100,) * 10, key_bytes: int = 0, **properties: str) -> Opened:
        """Open a client. In the names of `properties`, underscores stand for dots."""


def pool_of(sizes: Sequence[int], key_bytes: int = 0) -> PayloadPool:
    rng = np.random.default_rng(0)
    lengths = np.array(sizes, dtype=np.int64)
    values = rng.integers(0, 256, size=int(lengths.sum()), dtype=np.uint8)
    keys = rng.integers(0, 256, size=(len(lengths), key_bytes), dtype=np.uint8)
    return PayloadPool(values, np.cumsum(lengths) - lengths, lengths, keys)


class LoadClientContract:
    """The contract tests. A subclass names its implementation in `covers` and its cluster in the fixture `address`."""

    covers: ClassVar[type]

    @pytest.fixture
    def address(self) -> dict[str, str]:
        raise NotImplementedError

    @pytest.fixture
    def open_client(self, address: dict[str, str]) -> Iterator[Open]:
        opened: list[LoadClient] = []
        make: OpenClient = self.covers

        def open_one(sizes: Sequence[int] = (100,) * 10, key_bytes: int = 0, **properties: str) -> Opened:
            named = {name.replace("_", "."): value for name, value in properties.items()}
            tally, pool = RememberingTally(sample_ratio=1.0), pool_of(sizes, key_bytes)
            client = make({**address, **named}, f"topic-{uuid4()}", pool, tally)
            opened.append(client)
            return Opened(client, tally, pool)

        yield open_one
        for client in opened:
            client.close()

    def test_every_record_is_acknowledged_once(self, open_client: Open) -> None:
        opened = open_client(key_bytes=4)
        opened.send_all(2_345)
        opened.drain_all()
        assert opened.tally.acknowledged == 2_345
        assert not opened.tally.failed

    def test_waiting_counts_accepted_records_that_were_not_served(self, open_client: Open) -> None:
        opened = open_client(linger_ms=NEVER)
        assert opened.client.waiting() == 0
        taken = opened.client.send(1, 7)
        assert opened.client.waiting() == taken == 7

    def test_each_record_brings_its_own_intended_time_back(self, open_client: Open) -> None:
        opened = open_client()
        moments = np.arange(1_000, 1_010, dtype=np.int64)
        sent = 0
        while sent < len(moments):
            sent += opened.client.send(moments[sent:], len(moments) - sent)
        opened.drain_all()
        assert sorted(opened.tally.came_back) == moments.tolist()

    def test_all_records_of_a_call_may_share_one_intended_time(self, open_client: Open) -> None:
        opened = open_client()
        opened.send_all(4, moment_ns=123_456)
        opened.drain_all()
        assert opened.tally.came_back == [123_456] * 4

    def test_a_pool_is_sent_again_and_again(self, open_client: Open) -> None:
        opened = open_client(sizes=(10, 20, 30))
        opened.send_all(10)
        opened.drain_all()
        assert opened.tally.acknowledged == 10

    def test_a_full_queue_accepts_what_fits_and_fails_nothing(self, open_client: Open) -> None:
        opened = open_client(
            linger_ms=NEVER, queue_buffering_max_messages="10", batch_num_messages="10", sizes=(100,) * 50
        )
        first = opened.client.send(1, 4)
        second = opened.client.send(1, 46)
        assert (first, second) == (4, 6)
        assert opened.client.send(1, 40) == 0
        assert opened.client.waiting() == 10
        assert not opened.tally.failed

    def test_sending_continues_after_a_full_queue(self, open_client: Open) -> None:
        opened = open_client(queue_buffering_max_messages="10", batch_num_messages="10", linger_ms="1")
        opened.send_all(137)
        opened.drain_all()
        assert opened.tally.acknowledged == 137
        assert not opened.tally.failed

    def test_a_record_that_is_too_large_is_refused_and_the_others_count(self, open_client: Open) -> None:
        opened = open_client(sizes=(100, 100, 2_000, 100), message_max_bytes="1000")
        with pytest.raises(WorkloadRefused, match="refuses a record of 2000 bytes"):
            opened.send_all(4)
        assert opened.client.waiting() >= 2
        opened.drain_all()
        assert opened.tally.acknowledged >= 2

    def test_purged_records_arrive_as_failed(self, open_client: Open) -> None:
        opened = open_client(linger_ms=NEVER)
        opened.send_all(7)
        opened.client.purge()
        assert opened.client.waiting() == 7
        opened.drain_all()
        assert (opened.tally.acknowledged, opened.tally.failed) == (0, {"_PURGE_QUEUE": 7})

    def test_statistics_arrive_and_count_transmitted_records(self, open_client: Open) -> None:
        opened = open_client(statistics_interval_ms="100")
        opened.send_all(50)
        opened.drain_all()
        reports = [opened.next_report() for _ in range(3)]  # the first report may be older than the last delivery
        assert (reports[-1].tx_records, reports[-1].queued_records) == (50, 0)
        assert [report.at_ns for report in reports] == sorted(report.at_ns for report in reports)

    def test_draining_with_nothing_to_serve_is_harmless(self, open_client: Open) -> None:
        opened = open_client()
        opened.client.drain(0)
        opened.client.drain(1)
        assert opened.tally.done == 0

    def test_closing_drops_held_records_and_may_be_repeated(self, open_client: Open) -> None:
        opened = open_client(linger_ms=NEVER)
        opened.send_all(7)
        opened.client.close()
        opened.client.close()
        assert opened.tally.acknowledged == 0

    def test_an_unknown_property_is_named(self, open_client: Open) -> None:
        with pytest.raises(GeneratorError, match=r"no\.such\.property"):
            open_client(no_such_property="1")
