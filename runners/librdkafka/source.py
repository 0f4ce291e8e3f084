"""The `RecordSource` of a load that reads with a librdkafka consumer."""

import contextlib
import queue
import threading
from collections.abc import Mapping, Sequence

from typing_extensions import override

from runners.clock import SystemClock
from runners.consumers.consumption import Arrivals, ReadCounts
from runners.consumers.counting import ReadCounter
from runners.consumers.fetch_account import FetchReport
from runners.consumers.reading import OffsetRange, Reading, Start
from runners.consumers.source import ReadSnapshot, RecordSource
from runners.librdkafka.consumer import ConsumerClient
from runners.librdkafka.fetch_statistics import fetch_report
from runners.librdkafka.taker import REST_NS, Taker
from runners.runner import WindowSchedule


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
