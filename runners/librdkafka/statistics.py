"""Reads librdkafka's statistics: what the client itself reports about its work, to compare with our measurements.

Source: librdkafka 2.16 `STATISTICS.md`. Latency and batch fields cover one interval, counters count from the start of
the client, and gauges hold the value at the moment of the report. Times are in microseconds, except `throttle`, which
is in milliseconds.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Self

from runners.load.sums import Sum


@dataclass(frozen=True, slots=True)
class BrokerInterval:
    """The times in one statistics report of librdkafka that belong to one broker. They cover one statistics interval.

    Attributes:
        queue_us: For each record, the time from its acceptance by the client until it is written into a request.
        outbuf_us: For each request of any kind, the time for which it waits in the output buffer before it is written
            to the socket.
        rtt_us: For each request of any kind, the time from writing it to the socket until the response.
        throttle_ms: For each response, the time for which the broker told the client to pause because of a quota.
    """

    queue_us: Sum
    outbuf_us: Sum
    rtt_us: Sum
    throttle_ms: Sum


@dataclass(frozen=True, slots=True)
class StatisticsReport:
    """One statistics report of librdkafka.

    Attributes:
        at_ns: The time at which we received the report, on the clock of the load.
        queued_records: Number of records in the client's queues, including those in flight (gauge).
        queued_bytes: Size of the records in the client's queues (gauge).
        tx_records: Number of records written into requests since the client started, including records that were sent
            again.
        wire_bytes: Bytes sent to brokers since the client started, after compression, in requests of all kinds.
        retries: Number of requests that were sent again since the client started.
        in_flight: Number of requests to all brokers that await a response (gauge).
        batch_bytes: Sizes of the batches that were sent in the interval, as sent (after compression).
        batch_records: Numbers of records in these batches.
        brokers: The times of the interval for each broker that received records or answered requests.
        partition_records: Number of records written to each partition since the client started, by partition number.
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
        """Return the report from one JSON text of librdkafka's statistics, received at the time `at_ns`."""
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
class SendAccount:
    """Totals of librdkafka's statistics reports over a period. They take the same memory for a period of any length.

    `queue_us`, `outbuf_us` and `rtt_us` hold the client's own latency values, summed over `records` records. Queue
    times are given per record. Output-buffer times and round trips are given per request, so for each broker and
    interval their mean is multiplied by the number of records written. These means cover requests of every kind, but
    under load nearly all requests are produce requests. The client does not measure the time for which it works on a
    batch; that time is in `LatencyCheck.batch_us`.
    """

    reports: int = 0
    records: int = 0
    queue_us: float = 0.0
    outbuf_us: float = 0.0
    rtt_us: float = 0.0
    queued_records: int = 0
    queued_bytes: int = 0
    in_flight: int = 0
    throttle_ms: Sum = field(default_factory=Sum)
    batch_bytes: Sum = field(default_factory=Sum)
    batch_records: Sum = field(default_factory=Sum)

    def add(self, report: StatisticsReport) -> None:
        """Add the next report of the period to the totals."""
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
        """Mean time in microseconds from handing a record to the client until the broker's response.

        The value is NaN if there are no records.
        """
        return (self.queue_us + self.outbuf_us + self.rtt_us) / self.records if self.records else math.nan
