"""A consumer that uses librdkafka's C functions, and runs no Python code for each record.

It assigns partitions itself and begins at given offsets. It has no group, so it needs no permission on a group, and
leaves nothing on the cluster. The records of all partitions come through one queue, and are taken and freed in bulk.
"""

import re
import time
from collections import deque
from collections.abc import Mapping, Sequence
from ctypes import byref, c_void_p
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.clusters.cluster import CLIENT_ID
from runners.consumers.counting import ReadCounter
from runners.consumers.reading import OffsetRange
from runners.errors import BrokerLost, GeneratorError, WorkloadRefused
from runners.librdkafka import capi
from runners.librdkafka.opening import complaint_of, log_text_of, open_client, statistics_interval
from search_spaces.client import librdkafka

BATCH_RECORDS: Final = 4_000
"""The largest number of records that are taken at one moment.

Larger batches save little. All records of a batch get the time at which the whole batch was taken.
"""
OWN_PROPERTIES: Final = {
    "enable.partition.eof": "true",
    "enable.auto.commit": "false",
    "enable.auto.offset.store": "false",
    # Retention may remove the first records before they are fetched. The check of offsets shows what was left out.
    "auto.offset.reset": "earliest",
}
_METADATA_TIMEOUT_MS: Final = 10_000
_COMPLAINTS_KEPT: Final = 200
_EVENTS: Final = capi.EVENT_STATS | capi.EVENT_ERROR | capi.EVENT_LOG
_IGNORED: Final = re.compile(r"property (\S+) is a producer property")
"""What librdkafka logs about a property that a consumer ignores."""


class ConsumerClient:
    """A consumer of librdkafka on one topic.

    One thread may call `start` and `take`, and another one `listen`; everything else is for the thread that opened it.

    Attributes:
        statistics: The client's statistics reports that nobody has read yet, each with the time of its arrival.
        complaints: The newest error messages of the client.
        fatal: The error after which the client can't continue; None if there was none.
    """

    def __init__(self, properties: Mapping[str, str], topic: str, partitions: int) -> None:
        """Open a client, and wait until it knows the brokers of the topic.

        Args:
            properties: librdkafka properties of the connection and of the consumer.
            topic: Topic to read.
            partitions: Number of partitions that will be read.

        Raises:
            GeneratorError: librdkafka refuses the properties. The message quotes its reason.
            BrokerLost: No broker answers.
        """
        capi.check_message_list()
        self.statistics: deque[tuple[int, str]] = deque()
        self.complaints: deque[str] = deque(maxlen=_COMPLAINTS_KEPT)
        self.fatal: str | None = None
        self._lib = capi.library()
        whole = {"client.id": CLIENT_ID, **properties, **OWN_PROPERTIES, **statistics_interval(partitions)}
        self._rk = open_client(capi.CONSUMER, whole, _EVENTS)
        self._events = self._lib.rd_kafka_queue_get_main(self._rk)
        self._lib.rd_kafka_set_log_queue(self._rk, None)
        self._records = self._lib.rd_kafka_queue_new(self._rk)
        self._rkt = self._lib.rd_kafka_topic_new(self._rk, topic.encode(), None)
        self._started: list[int] = []
        self._spare: capi.MessageList | None = None
        try:
            if not self._rkt:
                raise GeneratorError(f"librdkafka could not open the topic {topic!r}")
            self._await_metadata(topic)
        except BaseException:
            self.close()
            raise

    def _await_metadata(self, topic: str) -> None:
        found = c_void_p()
        error = self._lib.rd_kafka_metadata(self._rk, 0, self._rkt, byref(found), _METADATA_TIMEOUT_MS)
        if error:
            self.listen(0)
            why = "; ".join([*self.complaints][-2:]) or capi.error_text(error)
            raise BrokerLost(f"the cluster did not return the metadata of topic {topic}: {why}")
        self._lib.rd_kafka_metadata_destroy(found)

    def start(self, ranges: Sequence[OffsetRange]) -> None:
        """Begin to fetch the given partitions, each at its first offset.

        Raises:
            GeneratorError: The client refuses a partition.
        """
        for offset_range in ranges:
            if self._lib.rd_kafka_consume_start_queue(
                self._rkt, offset_range.partition, offset_range.first, self._records
            ):
                error = capi.error_text(self._lib.rd_kafka_last_error())
                raise GeneratorError(f"librdkafka refuses to fetch partition {offset_range.partition}: {error}")
            self._started.append(offset_range.partition)

    def take(self, timeout_ms: int, counter: ReadCounter) -> int:
        """Take the records that the client has fetched, at most `BATCH_RECORDS`, and count them.

        Args:
            timeout_ms: Longest wait for the first record, in milliseconds.
            counter: Counts the records, and errors that come in place of records.

        Returns:
            Number of records and errors that were taken.
        """
        lib, listed = self._lib, self._spare or capi.MessageList(BATCH_RECORDS)
        self._spare = None
        # A call that waits returns only when it has as many records as were asked for, or when the time is over.
        wanted = 1 if timeout_ms else listed.room
        taken: int = max(0, lib.rd_kafka_consume_batch_queue(self._records, timeout_ms, listed.first, wanted))
        if timeout_ms and taken:
            rest = listed.first + taken * capi.WORD_BYTES
            taken += max(0, lib.rd_kafka_consume_batch_queue(self._records, 0, rest, listed.room - taken))
        at_ns = time.monotonic_ns()
        if not taken:
            self._spare = listed
            return 0
        try:
            self._count(listed.addresses(taken), at_ns, counter)
        finally:
            listed.free(taken)
        return taken

    def _count(self, addresses: NDArray[np.int64], at_ns: int, counter: ReadCounter) -> None:
        fetched = capi.read_fetched(addresses)
        if not fetched.errors.any():
            counter.add(fetched.partitions, fetched.offsets, int(fetched.value_bytes.sum()), at_ns)
            return
        fine = fetched.errors == capi.ERR_NONE
        if fine.any():
            counter.add(fetched.partitions[fine], fetched.offsets[fine], int(fetched.value_bytes[fine].sum()), at_ns)
        for index in np.flatnonzero(~fine).tolist():
            code = int(fetched.errors[index])
            if code == capi.ERR_PARTITION_EOF:
                counter.reach_end(int(fetched.partitions[index]), int(fetched.offsets[index]))
                continue
            text = self._lib.rd_kafka_message_errstr(int(addresses[index])) or b""
            self.complaints.append(f"{capi.error_name(code)}: {text.decode(errors='replace')}")
            counter.fail(capi.error_name(code))

    def listen(self, timeout_ms: int) -> None:
        """Take the client's statistics and messages.

        Args:
            timeout_ms: Longest wait for the first of them, in milliseconds.
        """
        while event := self._lib.rd_kafka_queue_poll(self._events, timeout_ms):
            timeout_ms = 0
            if self._lib.rd_kafka_event_type(event) == capi.EVENT_STATS:
                self.statistics.append((time.monotonic_ns(), self._lib.rd_kafka_event_stats(event).decode()))
            elif (complaint := complaint_of(event)) is not None:
                self.complaints.append(complaint.text)
                self.fatal = complaint.text if complaint.fatal else self.fatal
            self._lib.rd_kafka_event_destroy(event)

    def close(self) -> None:
        """Stop fetching and close the client, and drop the records that were fetched and not taken."""
        if not self._rk:
            return
        for partition in self._started:
            self._lib.rd_kafka_consume_stop(self._rkt, partition)
        if self._spare is not None:
            self._spare.free(0)
        if self._rkt:
            self._lib.rd_kafka_topic_destroy(self._rkt)
        for queue in (self._records, self._events):
            self._lib.rd_kafka_queue_destroy(queue)
        self._lib.rd_kafka_destroy_flags(self._rk, 0)
        self._rk = self._rkt = 0
        self._spare = None


def check_properties(properties: Mapping[str, str]) -> None:
    """Have librdkafka itself check consumer properties, without a connection.

    Raises:
        WorkloadRefused: It refuses them, or ignores one of them because only a producer uses it. The message has the
            name under which the property was given.
    """
    lib = capi.library()
    try:
        handle = open_client(capi.CONSUMER, {**OWN_PROPERTIES, **properties}, _EVENTS)
    except GeneratorError as error:
        raise WorkloadRefused(f"{error}; change it (-X)") from None
    queue = lib.rd_kafka_queue_get_main(handle)
    lib.rd_kafka_set_log_queue(handle, None)
    ignored = []
    while event := lib.rd_kafka_queue_poll(queue, 0):
        if lib.rd_kafka_event_type(event) == capi.EVENT_LOG:
            ignored += _IGNORED.findall(log_text_of(event)[0])
        lib.rd_kafka_event_destroy(event)
    lib.rd_kafka_queue_destroy(queue)
    lib.rd_kafka_destroy_flags(handle, 0)
    if ignored:
        # librdkafka may log another name of the property: queue.buffering.max.ms for linger.ms.
        find = librdkafka().catalogue.find
        name = next(each for each in properties if find(each) is find(ignored[0]))
        raise WorkloadRefused(
            f"a property must be one of a consumer, but {name} is a producer property, which librdkafka's consumer "
            "ignores; leave it out (-X)"
        )
