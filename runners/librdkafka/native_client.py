"""The load generator that uses librdkafka's C functions.

The message structs of all records are prepared once and handed to the client in slices. The client does not copy keys
and values, because the pool that holds them outlives the client. Deliveries arrive as events; one event reports
thousands of records.
"""

import queue
import threading
import time
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from runners.errors import DeliveryFailed, GeneratorError, WorkloadRefused
from runners.librdkafka import capi
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.opening import Complaint, complaint_of, open_client
from runners.librdkafka.tally import Tally
from runners.load.payload import PayloadPool

_MAX_EVENT_RECORDS = 1_000_000
_POLL_MS = 50

_Arrival = tuple[int, int, int]
"""An event, the time at which it was taken from the client's queue, and how many events were still in that queue."""


class NativeClient(LoadClient):
    """A `LoadClient` that calls librdkafka's C functions, and runs no Python code per record."""

    notes_arrivals = True

    def __init__(self, properties: Mapping[str, str], topic: str, pool: PayloadPool, tally: Tally) -> None:
        """Open a producer client.

        Args:
            properties: librdkafka properties of the connection and of the producer.
            topic: Topic to write to.
            pool: Records to send. The pool must stay at the same place in memory while the client is open.
            tally: Counts the deliveries.

        Raises:
            GeneratorError: librdkafka refuses the properties. The message quotes its reason.
        """
        self._lib = capi.library()
        self._pool = pool
        self._tally = tally
        self._cursor = 0
        self._handed_over = 0
        self._slots = _slots(pool)
        self._first_slot = self._slots.ctypes.data
        self._found = np.zeros(_MAX_EVENT_RECORDS, dtype=np.uint64)
        self._found_at = self._found.ctypes.data
        events = capi.EVENT_DELIVERY | capi.EVENT_STATS | capi.EVENT_ERROR | capi.EVENT_LOG
        self._rk = open_client(capi.PRODUCER, properties, events)
        self._queue = self._lib.rd_kafka_queue_get_main(self._rk)
        self._lib.rd_kafka_set_log_queue(self._rk, None)
        self._rkt = self._lib.rd_kafka_topic_new(self._rk, topic.encode(), None)
        self._arrivals: queue.SimpleQueue[_Arrival] = queue.SimpleQueue()
        self._closing = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="tuner-poll", daemon=True)
        self._poller.start()
        if not self._rkt:
            self.close()
            raise GeneratorError(f"librdkafka could not open the topic {topic!r}")

    @override
    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        first = self._cursor
        count = min(count, len(self._slots) - first)
        if isinstance(intended_ns, int):
            self._slots["private"][first : first + count] = intended_ns
        else:
            self._slots["private"][first : first + count] = intended_ns[:count]
        taken: int = self._lib.rd_kafka_produce_batch(
            self._rkt,
            capi.PARTITION_UNASSIGNED,
            0,
            self._first_slot + first * capi.MESSAGE.itemsize,
            count,
        )
        self._handed_over += taken
        self._cursor = (first + taken) % len(self._slots)
        if taken < count:
            self._raise_if_refused(first, count)
        return taken

    def _raise_if_refused(self, first: int, count: int) -> None:
        errors = self._slots["err"][first : first + count]
        # librdkafka skips a refused record and continues, but a full queue ends the call. So the refused records can be
        # anywhere in the slice.
        refused = np.flatnonzero((errors != capi.ERR_NONE) & (errors != capi.ERR_QUEUE_FULL))
        if not len(refused):
            return
        error = int(errors[refused[0]])
        if error == capi.ERR_FATAL:
            raise DeliveryFailed(f"the client stopped for good: {self._tally.fatal or capi.error_text(error)}")
        size = int(self._pool.lengths[first + refused[0]])
        raise WorkloadRefused(f"the client refuses a record of {size} bytes: {capi.error_text(error)}")

    def _poll(self) -> None:
        """Move events from the client to our own queue as they arrive, each with the time of its arrival.

        Counting the deliveries of a large event takes milliseconds, which must not be added to the latencies of the
        next event.
        """
        lib = self._lib
        while not self._closing.is_set():
            event = lib.rd_kafka_queue_poll(self._queue, _POLL_MS)
            if event:
                self._arrivals.put((event, time.monotonic_ns(), lib.rd_kafka_queue_length(self._queue)))

    @override
    def drain(self, timeout_ms: int) -> None:
        try:
            self._take(*self._arrivals.get(timeout_ms > 0, timeout_ms / 1e3))
            for _ in range(self._arrivals.qsize()):
                self._take(*self._arrivals.get_nowait())
        except queue.Empty:
            return

    def _take(self, event: int, at_ns: int, left_behind: int) -> None:
        lib = self._lib
        try:
            kind = lib.rd_kafka_event_type(event)
            if kind == capi.EVENT_DELIVERY:
                self._tally.drain_delay.count(at_ns, left_behind)
                self._on_deliveries(event, at_ns)
            elif kind == capi.EVENT_STATS:
                self._tally.statistics.append((at_ns, lib.rd_kafka_event_stats(event).decode()))
            elif (complaint := complaint_of(event)) is not None:
                self._on_complaint(complaint)
        finally:
            lib.rd_kafka_event_destroy(event)

    def _on_deliveries(self, event: int, at_ns: int) -> None:
        lib, tally = self._lib, self._tally
        count = lib.rd_kafka_event_message_count(event)
        error = lib.rd_kafka_event_error(event)
        if error:
            tally.fail(capi.error_name(error), count)
            return
        picks = tally.delivered(count)
        if len(picks):
            wanted = min(int(picks[-1]) + 1, _MAX_EVENT_RECORDS)
            got = lib.rd_kafka_event_message_array(event, self._found_at, wanted)
            picked = self._found[picks[picks < got]]
            tally.sample(capi.read_private(picked), at_ns, capi.read_offsets(picked) if tally.keeps_offsets else None)

    def _on_complaint(self, complaint: Complaint) -> None:
        if complaint.fatal:
            self._tally.fatal = complaint.text
        self._tally.add_complaint(complaint.text)

    @override
    def waiting(self) -> int:
        return self._handed_over - self._tally.done

    @override
    def purge(self) -> None:
        self._lib.rd_kafka_purge(self._rk, capi.PURGE_QUEUE | capi.PURGE_INFLIGHT)

    @override
    def close(self) -> None:
        if not self._rk:
            return
        self._closing.set()
        self._poller.join()
        while not self._arrivals.empty():
            self._lib.rd_kafka_event_destroy(self._arrivals.get()[0])
        self._lib.rd_kafka_purge(self._rk, capi.PURGE_QUEUE | capi.PURGE_INFLIGHT)
        if self._rkt:
            self._lib.rd_kafka_topic_destroy(self._rkt)
        self._lib.rd_kafka_queue_destroy(self._queue)
        self._lib.rd_kafka_destroy_flags(self._rk, 0)
        self._rk = self._rkt = self._queue = 0


def _slots(pool: PayloadPool) -> NDArray[np.void]:
    """Return the message structs of all records of a pool, shape (records,)."""
    slots = np.zeros(len(pool), dtype=capi.MESSAGE)
    slots["payload"] = pool.values.ctypes.data + pool.offsets
    slots["len"] = pool.lengths
    if pool.keys.shape[1]:
        slots["key"] = pool.keys.ctypes.data + np.arange(len(pool)) % len(pool.keys) * pool.keys.shape[1]
        slots["key_len"] = pool.keys.shape[1]
    return slots
