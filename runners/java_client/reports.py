"""The reports of the Java process: our own counters, and the client's metrics.

Source: `KafkaProducerMetrics`, `SenderMetricsRegistry` and `BufferPool` of kafka-clients 2.8 to 4.3. With `ONE_SAMPLE`,
each average of a client covers everything since the client began. We compute sums from the averages and their counts,
and from two sums the mean of the time between them.
"""

import base64
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

from runners.measurements.histogram import Histogram

MS_TO_US: Final = 1e3
ONE_SAMPLE: Final = {"metrics.sample.window.ms": str(24 * 60 * 60 * 1000)}
"""The property with which the samples of a client's averages last as long as the client."""


@dataclass(frozen=True, slots=True)
class ClientTotals:
    """The client's counters since it began. All of them except the gauges only increase.

    Attributes:
        records: Records written into requests, including those sent again.
        retried_records: Records that were sent again.
        batches: Batches written into requests.
        batch_bytes: Their size on the wire.
        responses: Responses to requests with records.
        queue_us: Time from the start of a batch until it was written into a request, summed over the batches.
        rtt_us: Time from sending a request until its response, summed over the responses.
        throttle_ms: Time for which brokers told the client to pause, summed over the responses.
        wait_ns: Time for which `send` waited for room in the buffer.
        wire_bytes: Bytes sent to brokers, in requests of all kinds.
        in_flight: Requests that await a response (gauge).
        queued_bytes: Bytes of the buffer in use (gauge).
    """

    records: float = 0.0
    retried_records: float = 0.0
    batches: float = 0.0
    batch_bytes: float = 0.0
    responses: float = 0.0
    queue_us: float = 0.0
    rtt_us: float = 0.0
    throttle_ms: float = 0.0
    wait_ns: float = 0.0
    wire_bytes: float = 0.0
    in_flight: float = 0.0
    queued_bytes: float = 0.0

    @classmethod
    def of(cls, metrics: Mapping[str, float]) -> Self:
        """Return the totals from the client's metrics by name; a metric that the client does not know yet is left out.

        A batch has one value in `batch-size-avg` and in `record-queue-time-avg`, and its bytes are added to the topic's
        `byte-total`. A request has one value in `records-per-request-avg`. A response has one value in
        `request-latency-avg`.
        """

        def value(name: str) -> float:
            return metrics.get(name, 0.0)

        batches = _ratio(value("byte-total"), value("batch-size-avg"))
        requests = _ratio(value("record-send-total"), value("records-per-request-avg"))
        responses = max(0.0, requests - value("requests-in-flight"))
        waited = "bufferpool-wait-time-ns-total" if "bufferpool-wait-time-ns-total" in metrics else _OLD_WAIT
        return cls(
            records=value("record-send-total"),
            retried_records=value("record-retry-total"),
            batches=batches,
            batch_bytes=value("byte-total"),
            responses=responses,
            queue_us=value("record-queue-time-avg") * batches * MS_TO_US,
            rtt_us=value("request-latency-avg") * responses * MS_TO_US,
            throttle_ms=value("produce-throttle-time-avg") * responses,
            wait_ns=value(waited),
            wire_bytes=value("outgoing-byte-total"),
            in_flight=value("requests-in-flight"),
            queued_bytes=value("buffer-total-bytes") - value("buffer-available-bytes"),
        )


_OLD_WAIT: Final = "bufferpool-wait-time-total"
"""The name of the metric before Kafka 3.1 (KIP-773)."""


@dataclass(frozen=True, slots=True)
class JavaReport:
    """The counters of a run at one moment. They begin at 0 and never decrease, except for the client's gauges.

    Attributes:
        at_ns: Time on the clock of the load.
        handed_over: Records that the client was given.
        sent_bytes: The size of their keys and values.
        acknowledged: Records whose delivery has succeeded.
        failed: Number of records that the client gave up, by the name of its exception.
        sampled: Records whose latency is recorded.
        in_send_ns: Time that the calls of `send` for the sampled records took, with the wait for room in the buffer.
        batch_age_ns: Time from the millisecond in which a record's batch began until `send` returned for the record,
            summed over sampled records. A batch begins when `send` is called for its first record.
        timed: Sampled records whose delivery has succeeded.
        callback_ns: Time from the first callback of a response until the callback of a record, summed over these
            records.
        responses: Responses of which at least one record was sampled.
        response_fraction_ns: Time since the last whole millisecond at the first callback, summed over these responses.
        collector_ms: Time for which the garbage collector stopped the process.
        client: The client's own counters.
    """

    at_ns: int = 0
    handed_over: int = 0
    sent_bytes: int = 0
    acknowledged: int = 0
    failed: Mapping[str, int] = field(default_factory=dict)
    sampled: int = 0
    in_send_ns: int = 0
    batch_age_ns: int = 0
    timed: int = 0
    callback_ns: int = 0
    responses: int = 0
    response_fraction_ns: int = 0
    collector_ms: int = 0
    client: ClientTotals = ClientTotals()

    @classmethod
    def parse(cls, message: Mapping[str, Any]) -> Self:
        """Return the report in a message of the Java process."""
        return cls(
            at_ns=int(message["at_ns"]),
            handed_over=int(message["handed_over"]),
            sent_bytes=int(message["bytes"]),
            acknowledged=int(message["acknowledged"]),
            failed=dict(message["failed"]),
            sampled=int(message["sampled"]),
            in_send_ns=int(message["in_send_ns"]),
            batch_age_ns=int(message["batch_age_ns"]),
            timed=int(message["timed"]),
            callback_ns=int(message["callback_ns"]),
            responses=int(message["responses"]),
            response_fraction_ns=int(message["response_fraction_ns"]),
            collector_ms=int(message["collector_ms"]),
            client=ClientTotals.of(message.get("metrics", {})),
        )

    @property
    def done(self) -> int:
        """Number of records whose delivery has succeeded or failed."""
        return self.acknowledged + sum(self.failed.values())

    @property
    def waiting(self) -> int:
        """Number of records that the client accepted and whose delivery has neither succeeded nor failed yet."""
        return self.handed_over - self.done


def histogram_of(part: Mapping[str, Any]) -> Histogram:
    """Return the histogram in a part of a message."""
    return Histogram.decoded(part["hdr"], int(part["sum_us"]))


def long_table(encoded: str) -> NDArray[np.int64]:
    """Return the table that the Java class `Longs` has encoded, shape (rows, 4)."""
    return np.frombuffer(base64.b64decode(encoded), dtype=">i8").astype(np.int64).reshape(-1, 4)


def _ratio(total: float, mean: float) -> float:
    """Return how many values have this total and this mean."""
    return total / mean if mean and math.isfinite(mean) else 0.0
