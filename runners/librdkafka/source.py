"""Consumers of a load with librdkafka: the thread that takes records window by window, and the client's reports."""

import contextlib
import json
import queue
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from typing_extensions import override

from runners.clock import NS_PER_MS, Clock, SystemClock
from runners.consumers.consumption import Arrivals, Consumption, ReadCounts
from runners.consumers.counting import ReadCounter
from runners.consumers.fetch_account import FetchReport
from runners.consumers.reading import OffsetRange, Reading, Start
from runners.consumers.reading_load import Reader, ReadWatch
from runners.consumers.source import ReadSnapshot, RecordSource
from runners.librdkafka import capi
from runners.librdkafka.consumer import ConsumerClient
from runners.load.interpreter import quiet_interpreter
from runners.load.sums import Sum
from runners.runner import WindowSchedule

REST_NS: Final = 2_000_000
"""How long records may gather before they are taken, when they are read from the beginning.

Waking for each fetch would take CPU time from the client and from a broker on the same host. Longer rests could let the
client's queue grow so full that it pauses fetching.
"""
_POLL_MS: Final = 20


@dataclass(slots=True)
class Taker:
    """Takes records until the windows are over, everything was read, or `over` is set.

    Attributes:
        client: The consumer from which the records are taken.
        counter: Counts the records.
        clock: The clock of the load.
        ranges: The offsets to read in each partition.
        schedule: The windows of the warm-up and of the measured phase.
        rest_ns: How long to wait for more records when there are none to take; 0 takes each record as soon as it comes.
        start_ns: Start of the load. The times in `schedule` are relative to this moment.
        snapshots: Queue that receives the counters at the end of each window, or the error that ended this thread.
        over: Set by another thread to end this one.
    """

    client: ConsumerClient
    counter: ReadCounter
    clock: Clock
    ranges: Sequence[OffsetRange]
    schedule: WindowSchedule
    rest_ns: int = 0
    start_ns: int = 0
    snapshots: "queue.SimpleQueue[ReadSnapshot | BaseException]" = field(default_factory=queue.SimpleQueue)
    over: threading.Event = field(default_factory=threading.Event)
    _waited_ns: int = 0

    def run(self) -> None:
        """Let the client fetch from the start of the load on, and take the records."""
        try:
            self.clock.sleep_until(self.start_ns)
            self.client.start(self.ranges)
            for end_ns in self.schedule.ends_ns:
                ended = self._take_until(self.start_ns + end_ns)
                self.snapshots.put(self._snapshot(ended=ended))
                if ended or self.over.is_set():
                    break
        except BaseException as error:  # noqa: BLE001 - raised again in the thread that controls the load
            self.snapshots.put(error)
        # The thread lives on until the end, so that its CPU time can still be read.
        self.over.wait()

    def _take_until(self, end_ns: int) -> bool:
        """Take records until a moment, and return whether everything was read before it."""
        client, counter, clock = self.client, self.counter, self.clock
        while (now := clock.now_ns()) < end_ns and not self.over.is_set():
            if not counter.unfinished:
                return True
            if client.take(0, counter):
                continue
            if self.rest_ns:
                clock.sleep_until(min(now + self.rest_ns, end_ns))
            else:
                client.take(max(1, min(_POLL_MS, (end_ns - now) // NS_PER_MS)), counter)
            self._waited_ns += clock.now_ns() - now
        return not counter.unfinished

    def _snapshot(self, *, ended: bool) -> ReadSnapshot:
        counter = self.counter
        return ReadSnapshot(self.clock.now_ns(), counter.taken, counter.value_bytes, self._waited_ns, ended)


class LibrdkafkaSource(RecordSource):
    """Takes the records from a librdkafka consumer, in a thread of this process."""

    def __init__(
        self, properties: Mapping[str, str], topic: str, ranges: Sequence[OffsetRange], reading: Reading
    ) -> None:
        """Open a client, and wait until it knows the brokers of the topic.

        Args:
            properties: librdkafka properties of the connection and of the consumer.
            topic: Topic to read.
            ranges: The offsets to read in each partition.
            reading: The settings of the load: when it starts and ends, and the consumer properties.

        Raises:
            GeneratorError: librdkafka refuses the properties.
            BrokerLost: No broker answers.
        """
        self._client = ConsumerClient(properties, topic, len(ranges))
        self._counter = ReadCounter(ranges, keep_arrivals=reading.keep_arrivals)
        self._taker = Taker(
            self._client,
            self._counter,
            SystemClock(),
            ranges,
            WindowSchedule.lasting(reading.warmup_s, reading.measured_s),
            REST_NS if reading.start is Start.BEGINNING else 0,
        )
        self._thread = threading.Thread(target=self._taker.run, name="tuner-take", daemon=True)

    @property
    @override
    def taken(self) -> int:
        return self._counter.taken

    @property
    @override
    def failed(self) -> Mapping[str, int]:
        return self._counter.failed

    @property
    @override
    def fatal(self) -> str | None:
        return self._client.fatal

    @property
    @override
    def threads(self) -> Mapping[str, threading.Thread]:
        return {"drain": self._thread}

    @override
    def begin(self, start_ns: int) -> None:
        self._taker.start_ns = start_ns
        self._thread.start()

    @override
    def next_snapshot(self, timeout_s: float) -> ReadSnapshot | None:
        with contextlib.suppress(queue.Empty):
            found = self._taker.snapshots.get(timeout=timeout_s)
            if isinstance(found, ReadSnapshot):
                return found
            raise found
        return None

    @override
    def reports(self) -> list[FetchReport]:
        self._client.listen(0)
        found = []
        while self._client.statistics:
            found.append(fetch_report(*self._client.statistics.popleft()))
        return found

    @override
    def complaints(self) -> list[str]:
        found = []
        while self._client.complaints:
            found.append(self._client.complaints.popleft())
        return found

    @override
    def stop(self) -> None:
        self._taker.over.set()

    @override
    def close(self) -> None:
        self.stop()
        if self._thread.is_alive():
            self._thread.join()
        self._client.close()

    @override
    def counts(self, received: int | None) -> ReadCounts:
        return self._counter.counts(received)

    @override
    def arrivals(self) -> Arrivals | None:
        return self._counter.arrivals()


@dataclass(frozen=True, slots=True)
class LibrdkafkaReader(Reader):
    """One consumer of a load, with librdkafka as the client. It can be pickled and used in another process."""

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        properties = {**self.cluster.connection, **self.reading.properties}
        with quiet_interpreter():
            source = LibrdkafkaSource(properties, self.topic, self.ranges, self.reading)
            return self.read_from(source, f"librdkafka {capi.version()}", ready, watch)


def fetch_report(at_ns: int, text: str) -> FetchReport:
    """Return the report in one JSON text of librdkafka's statistics, received at the time `at_ns`."""
    data = json.loads(text)
    brokers = list(data["brokers"].values())
    partitions = [each for topic in data["topics"].values() for each in topic["partitions"].values()]
    return FetchReport(
        at_ns=at_ns,
        fetches=sum(int(broker.get("req", {}).get("Fetch", 0)) for broker in brokers),
        responses=sum(int(broker["rx"]) for broker in brokers),
        wire_bytes=sum(int(broker["rxbytes"]) for broker in brokers),
        records=sum(int(each["rxmsgs"]) for each in partitions),
        # All partitions share one queue, and each of them reports the length of the whole queue.
        queued_records=max((int(each["fetchq_cnt"]) for each in partitions), default=0),
        in_flight=sum(max(0, int(broker["waitresp_cnt"])) for broker in brokers),
        lag_records=sum(_lag(each) for each in partitions),
        rtt_us=sum((Sum.read(broker.get("rtt")) for broker in brokers), Sum()),
        throttle_ms=sum((Sum.read(broker.get("throttle")) for broker in brokers), Sum()),
    )


def _lag(partition: dict[str, Any]) -> int:
    end, place = int(partition["hi_offset"]), int(partition["app_offset"])
    return max(0, end - place) if min(end, place) >= 0 else 0  # negative: not known yet
