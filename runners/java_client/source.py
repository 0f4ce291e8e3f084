"""Consumers that read a load with Kafka's Java client, in a Java process."""

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from typing_extensions import override

from runners.clock import SystemClock
from runners.clusters.cluster import CLIENT_ID
from runners.consumers.consumption import Arrivals, Consumption, ReadCounts
from runners.consumers.fetch_account import FetchReport
from runners.consumers.reading import OffsetRange, Reading
from runners.consumers.reading_load import Reader, ReadWatch
from runners.consumers.source import ReadSnapshot, RecordSource
from runners.errors import BrokerLost, RunnerError, TargetRefused, WorkloadRefused
from runners.host.probe import ClientProcess
from runners.java_client.compiled import CompiledProgram
from runners.java_client.java_runner import COLLECTOR_THREADS
from runners.java_client.jvm import Jvm, Message
from runners.java_client.reports import MS_TO_US, ONE_SAMPLE, long_table
from runners.load.interpreter import quiet_interpreter
from runners.load.sums import Sum
from runners.measurements.resources import sum_if_all_known
from runners.runner import WindowSchedule
from search_spaces.connection.java_connection import connection_for_java

HEAP_BYTES: Final = 1 << 30
"""A consumer holds at most what it has fetched: 50 MiB by default (`fetch.max.bytes`), once more while it is parsed."""
_OPEN_S: Final = 60.0
_OURS: Final = {
    "key.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "value.deserializer": "org.apache.kafka.common.serialization.ByteArrayDeserializer",
    "enable.auto.commit": "false",
    # Retention may remove the first records before they are fetched. The check of offsets shows what was left out.
    "auto.offset.reset": "earliest",
    **ONE_SAMPLE,
}
"""The properties that the load sets."""
_INVALID: Final = "the properties must be valid for the Java client's consumer, but it reports: {}"


def check_properties(program: CompiledProgram, properties: Mapping[str, str]) -> None:
    """Have the Java client itself check consumer properties, without a connection.

    Args:
        program: The compiled load generator, with a release of the client.
        properties: The properties.

    Raises:
        WorkloadRefused: It does not know a property, or refuses a value.
        GeneratorError: Its process did not start or answer.
    """
    if not properties:
        return
    with Jvm(program, HEAP_BYTES) as jvm:
        whole = {"bootstrap.servers": "127.0.0.1:9092", **properties, **_OURS}
        jvm.send({"do": "check consumer", "properties": whole, "named": list(properties)})
        answer = jvm.answer(_OPEN_S)
    if answer["is"] == "refused":
        raise WorkloadRefused(_INVALID.format(answer["because"]))


class JavaSource(RecordSource):
    """Has the Java process take the records."""

    def __init__(
        self, jvm: Jvm, connection: Mapping[str, str], topic: str, ranges: Sequence[OffsetRange], reading: Reading
    ) -> None:
        """Open a consumer, and wait until it knows the brokers of the topic.

        Args:
            jvm: The Java process.
            connection: The Java client's properties of the connection.
            topic: Topic to read.
            ranges: What to read.
            reading: How to read it.

        Raises:
            WorkloadRefused: The client refuses the properties.
            TargetRefused: The cluster refuses us.
            BrokerLost: No broker answers.
        """
        self._jvm, self._ranges, self._reading = jvm, ranges, reading
        self._last: Message = {}
        self._reports: list[FetchReport] = []
        self._stopped = False
        jvm.send(
            {
                "do": "open reader",
                "properties": {"client.id": CLIENT_ID, **connection, **reading.properties, **_OURS},
                "topic": topic,
                "ranges": [
                    {
                        "partition": each.partition,
                        "first": each.first,
                        **({} if each.end is None else {"end": each.end}),
                    }
                    for each in ranges
                ],
                "keep_arrivals": reading.keep_arrivals,
            }
        )
        try:
            answer = jvm.receive(_OPEN_S)
        except TimeoutError:
            raise BrokerLost(
                f"the cluster did not return the metadata of topic {topic} within {_OPEN_S:.0f} s"
            ) from None
        if answer["is"] == "refused":
            raise _refusal(answer)

    @property
    @override
    def taken(self) -> int:
        return int(self._last.get("taken", 0))

    @property
    @override
    def failed(self) -> Mapping[str, int]:
        return {}

    @property
    @override
    def fatal(self) -> str | None:
        return None

    @property
    @override
    def threads(self) -> Mapping[str, threading.Thread]:
        return {}

    @override
    def begin(self, start_ns: int) -> None:
        schedule = WindowSchedule.lasting(self._reading.warmup_s, self._reading.measured_s)
        self._jvm.send({"do": "read", "start_ns": start_ns, "ends_ns": schedule.ends_ns})

    @override
    def next_snapshot(self, timeout_s: float) -> ReadSnapshot | None:
        message = self._jvm.next_message(timeout_s)
        if message is None:
            return None
        if message["is"] == "refused":
            raise _refusal(message)
        if not self._stopped or message["is"] == "ended":  # once the load is to stop, only the last report counts
            self._reports.append(_report(message, self._last))
        self._last = message
        if message["is"] != "window":
            return None
        return ReadSnapshot(
            int(message["at_ns"]),
            int(message["taken"]),
            int(message["bytes"]),
            int(message["inside_ns"]),
            bool(message["ended"]),
        )

    @override
    def reports(self) -> list[FetchReport]:
        found, self._reports = self._reports, []
        return found

    @override
    def complaints(self) -> list[str]:
        return self._jvm.complaints()

    @override
    def stop(self) -> None:
        if not self._stopped:
            self._stopped = True
            self._jvm.send({"do": "stop reading"})

    @override
    def close(self) -> None:
        """Do nothing. The consumer ends with the Java process, which the caller ends."""

    @override
    def counts(self, received: int | None) -> ReadCounts:
        return ReadCounts(
            taken=self.taken,
            repeated=int(self._last.get("repeated", 0)),
            skipped=int(self._last.get("skipped", 0)),
            unread=int(self._last.get("unread", 0)),
            stored=sum_if_all_known(each.offsets for each in self._ranges),
            received=received,
        )

    @override
    def arrivals(self) -> Arrivals | None:
        if "arrivals" not in self._last:  # only the last message has them
            return None
        table = long_table(self._last["arrivals"])
        return Arrivals(table[:, 0].astype(np.int32), table[:, 1], table[:, 2], table[:, 3])


def _report(message: Message, before: Message) -> FetchReport:
    """Return the client's metrics in a message. Durations are those of the fetches since the message before."""
    now, then = _metrics(message), _metrics(before)
    responses = int(now("response-total"))
    # The last message is an answer to `stop`, so it covers all records: it counts from its arrival.
    at_ns = SystemClock().now_ns() if message["is"] == "ended" else int(message["at_ns"])
    return FetchReport(
        at_ns=at_ns,
        fetches=int(now("fetch-total")),
        responses=responses,
        wire_bytes=int(now("incoming-byte-total")),
        records=int(now("records-consumed-total")),
        queued_records=0,
        in_flight=max(0, int(now("request-total")) - responses),
        lag_records=int(now("records-lag")),
        rtt_us=_since(now, then, "fetch-latency-avg", MS_TO_US),
        throttle_ms=_since(now, then, "fetch-throttle-time-avg", 1.0),
    )


def _metrics(message: Message) -> Callable[[str], float]:
    metrics: Mapping[str, float] = message.get("metrics", {})
    return lambda name: metrics.get(name, 0.0)


def _since(now: Callable[[str], float], then: Callable[[str], float], average: str, factor: float) -> Sum:
    """Return the sum and the number of an average's values since the message before, one value for each fetch.

    Args:
        now: Returns a metric of the newest message.
        then: Returns a metric of the message before.
        average: The metric that is an average over all fetches.
        factor: Factor that converts the unit of the metric.
    """
    fetches, earlier_fetches = now("fetch-total"), then("fetch-total")
    total = now(average) * fetches - then(average) * earlier_fetches
    return Sum(max(0.0, total) * factor, int(fetches - earlier_fetches))


def _refusal(message: Message) -> RunnerError:
    kind, because = str(message["kind"]), str(message["because"])
    if kind == "config":
        return WorkloadRefused(_INVALID.format(because))
    if "Authentication" in kind or "Authorization" in kind:
        return TargetRefused(f"the cluster does not let us read the topic; the Java client reports: {because}")
    return BrokerLost(f"the Java client stopped reading the topic: {because}")


_READING_THREAD: Final = "tuner-read"


@dataclass(frozen=True, slots=True)
class JavaReader(Reader):
    """One consumer of a load, with Kafka's Java client. It can be pickled and used in another process.

    The client's code runs in the thread that takes the records. So `ReadWindow.waiting_ratio` is the share of the time
    in which that thread was inside the client, and the verdict uses the thread's demand of CPU.

    Attributes:
        version: The release of kafka-clients.
    """

    version: str

    @override
    def read(self, ready: Callable[[], int], watch: ReadWatch) -> Consumption:
        program = CompiledProgram.prepare(self.version)
        program.check_login(self.cluster.connection.get("security.protocol", "plaintext"))
        connection = connection_for_java(self.cluster.connection, self.version)
        with quiet_interpreter(), Jvm(program, HEAP_BYTES) as jvm:
            source = JavaSource(jvm, connection, self.topic, self.ranges, self.reading)
            process = ClientProcess(jvm.pid, (_READING_THREAD,), collector=COLLECTOR_THREADS)
            return self.read_from(source, f"kafka-clients {jvm.version}", ready, watch, process)
