"""librdkafka's own statistics, read as data: the client's view of its work, against which ours is checked.

Source: librdkafka 2.16 `STATISTICS.md`. Latency and batch fields cover one interval; counters run from the start; the
gauges are as of the moment of the report. Times there are microseconds except `throttle`, which is milliseconds.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Self


@dataclass(frozen=True, slots=True)
class Sum:
    """Sum and number of the values of one interval."""

    total: float = 0.0
    count: int = 0

    def __add__(self, other: "Sum") -> "Sum":
        return Sum(self.total + other.total, self.count + other.count)

    @property
    def mean(self) -> float:
        """Mean; 0 of nothing."""
        return self.total / self.count if self.count else 0.0

    @classmethod
    def read(cls, window: dict[str, Any] | None) -> Self:
        """From a `{sum, cnt, ...}` object of a report."""
        return cls(float(window["sum"]), int(window["cnt"])) if window else cls()


@dataclass(frozen=True, slots=True)
class BrokerInterval:
    """One broker, one interval.

    Attributes:
        queue_us: Per record: from being handed over to being written into a request.
        outbuf_us: Per request of any kind: from there to the socket.
        rtt_us: Per request of any kind: from the socket to the response.
        throttle_ms: Per response: how long the broker told the client to hold back (a quota).
    """

    queue_us: Sum
    outbuf_us: Sum
    rtt_us: Sum
    throttle_ms: Sum


@dataclass(frozen=True, slots=True)
class Report:
    """One statistics report.

    Attributes:
        at_ns: When we received it, on the benchmark's clock.
        queued_records: Records in the client's queues, those in flight included (gauge).
        queued_bytes: Their size (gauge).
        tx_records: Records written into requests since the start, repeats by retry included.
        wire_bytes: Bytes sent to brokers since the start, after compression, all request kinds.
        retries: Requests sent again since the start.
        in_flight: Requests awaiting a response, all brokers (gauge).
        batch_bytes: Produce batches of the interval: size on the wire.
        batch_records: Produce batches of the interval: records each.
        brokers: Brokers that records were written for in the interval.
        partition_records: Records written per partition since the start, by partition number.
    """

    at_ns: int
    queued_records: int
    queued_bytes: int
    tx_records: int
    wire_bytes: int
    retries: int
    in_flight: int
    batch_bytes: Sum
    batch_records: Sum
    brokers: tuple[BrokerInterval, ...]
    partition_records: tuple[tuple[int, int], ...]

    @classmethod
    def parse(cls, at_ns: int, text: str) -> Self:
        """Read one JSON report of librdkafka."""
        data = json.loads(text)
        brokers = list(data["brokers"].values())
        topics = list(data["topics"].values())
        return cls(
            at_ns=at_ns,
            queued_records=int(data["msg_cnt"]),
            queued_bytes=int(data["msg_size"]),
            tx_records=int(data["txmsgs"]),
            wire_bytes=sum(int(broker["txbytes"]) for broker in brokers),
            retries=sum(int(broker["txretries"]) for broker in brokers),
            in_flight=sum(max(0, int(broker["waitresp_cnt"])) for broker in brokers),
            batch_bytes=_total(topic.get("batchsize") for topic in topics),
            batch_records=_total(topic.get("batchcnt") for topic in topics),
            brokers=tuple(
                BrokerInterval(
                    queue_us=Sum.read(broker.get("int_latency")),
                    outbuf_us=Sum.read(broker.get("outbuf_latency")),
                    rtt_us=Sum.read(broker.get("rtt")),
                    throttle_ms=Sum.read(broker.get("throttle")),
                )
                for broker in brokers
                if broker.get("int_latency", {}).get("cnt") or broker.get("throttle", {}).get("cnt")
            ),
            partition_records=tuple(
                (int(number), int(partition["txmsgs"]))
                for topic in topics
                for number, partition in sorted(topic["partitions"].items(), key=lambda item: int(item[0]))
                if int(number) >= 0
            ),
        )


def _total(windows: Iterable[dict[str, Any] | None]) -> Sum:
    return sum((Sum.read(window) for window in windows), Sum())


@dataclass(slots=True)
class Account:
    """Sums over the reports of one span of time; small however long the span is.

    `queue_us`, `outbuf_us` and `rtt_us` are the client's own account of latency, summed over `records` records. The
    formula: for each broker and interval, records written x (mean queue time per record + mean output-buffer time per
    request + mean round trip per request), added up over brokers and intervals, and divided by all records written. The
    per-request means cover requests of every kind; under load all but a few are produce requests. The client does not
    time its work on a batch; `LatencyCheck.batch_us` adds it.
    """

    reports: int = 0
    records: int = 0
    queue_us: float = 0.0
    outbuf_us: float = 0.0
    rtt_us: float = 0.0
    queued_records: int = 0
    queued_bytes: int = 0
    in_flight: int = 0
    throttle_ms: Sum = Sum()
    batch_bytes: Sum = Sum()
    batch_records: Sum = Sum()

    def add(self, report: Report) -> None:
        """Take in the next report of the span."""
        self.reports += 1
        self.queued_records += report.queued_records
        self.queued_bytes += report.queued_bytes
        self.in_flight += report.in_flight
        self.batch_bytes += report.batch_bytes
        self.batch_records += report.batch_records
        for broker in report.brokers:
            weight = broker.queue_us.count
            self.records += weight
            self.queue_us += broker.queue_us.total
            self.outbuf_us += broker.outbuf_us.mean * weight
            self.rtt_us += broker.rtt_us.mean * weight
            self.throttle_ms += broker.throttle_ms

    @property
    def latency_us(self) -> float:
        """Mean from hand-over to response in microseconds; NaN without records."""
        return (self.queue_us + self.outbuf_us + self.rtt_us) / self.records if self.records else math.nan
