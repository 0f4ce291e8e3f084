"""The load generator that uses plain `confluent_kafka.Producer`, with one Python call and one callback per record.

It is a fallback for platforms where librdkafka's C functions can't be called. It reaches only a fraction of the
throughput of the generator that calls them, so the verdict of a measurement often says that the load generator was the
bottleneck.
"""

import logging
import threading
import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from numpy.typing import NDArray
from typing_extensions import override

from runners.errors import DeliveryFailed, GeneratorError, WorkloadRefused
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.tally import Tally
from runners.load.payload import PayloadPool


class PythonClient(LoadClient):
    """A `LoadClient` that calls `confluent_kafka.Producer.produce` once per record."""

    notes_arrivals = False

    def __init__(self, properties: Mapping[str, str], topic: str, pool: PayloadPool, tally: Tally) -> None:
        """Open a producer, with the same arguments and errors as `NativeClient`."""
        self._tally = tally
        self._topic = topic
        self._pool = pool
        keys = [pool.key(index) for index in range(len(pool.keys))]
        self._records = [(pool.value(index), keys[index % len(keys)]) for index in range(len(pool))]
        self._cursor = 0
        self._handed_over = 0
        # Each callback acquires the interpreter lock again, and would wait for it as long as the sender computes. So
        # `_turn` lets only one of the two threads run at a time. A thread that waits for `_turn` holds `_door`, so that
        # the other thread can't take `_turn` twice in a row before it.
        self._turn = threading.Lock()
        self._door = threading.Lock()
        logger = logging.Logger("librdkafka")  # outside the logger hierarchy, so that no other handler sees it
        logger.addHandler(logging.NullHandler())
        settings = {**properties, "stats_cb": self._on_statistics, "error_cb": self._on_error, "logger": logger}
        try:
            self._producer: Producer | None = Producer(settings)
        except KafkaException as error:
            raise GeneratorError(f"librdkafka refuses the configuration: {error.args[0].str()}") from None

    @override
    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        with self._door:
            self._turn.acquire()
        try:
            return self._send(intended_ns, count)
        finally:
            self._turn.release()

    def _send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        assert self._producer is not None
        produce, topic, records = self._producer.produce, self._topic, self._records
        moments = [intended_ns] * count if isinstance(intended_ns, int) else intended_ns.tolist()
        taken = 0
        try:
            for intended in moments[:count]:
                value, key = records[self._cursor]
                produce(topic, value=value, key=key, on_delivery=partial(self._on_delivery, intended))
                taken += 1
                self._cursor = (self._cursor + 1) % len(records)
        except BufferError:
            pass
        except KafkaException as error:
            self._raise_refusal(error.args[0])
        finally:
            self._handed_over += taken
        return taken

    def _raise_refusal(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            raise DeliveryFailed(f"the client stopped for good: {self._tally.fatal or error.str()}") from None
        size = int(self._pool.lengths[self._cursor])
        raise WorkloadRefused(f"the client refuses a record of {size} bytes: {error.str()}") from None

    def _on_delivery(self, intended_ns: int, error: KafkaError | None, message: Message) -> None:
        if error is not None:
            self._tally.fail(error.name())
        elif len(self._tally.delivered(1)):
            at_ns, offsets = time.monotonic_ns(), None
            if self._tally.keeps_offsets:
                partition, offset = message.partition(), message.offset()
                offsets = np.array([partition], dtype=np.int32), np.array([offset], dtype=np.int64)
            self._tally.sample(np.array([intended_ns], dtype=np.int64), at_ns, offsets)

    def _on_statistics(self, text: str) -> None:
        self._tally.statistics.append((time.monotonic_ns(), text))

    def _on_error(self, error: KafkaError) -> None:
        sentence = f"{error.name()}: {error.str()}"
        if error.fatal():
            self._tally.fatal = sentence
        self._tally.add_complaint(sentence)

    @override
    def drain(self, timeout_ms: int) -> None:
        assert self._producer is not None
        with self._door, self._turn:
            served = self._producer.poll(0)
        if not served:
            self._producer.poll(timeout_ms / 1e3)

    @override
    def waiting(self) -> int:
        return self._handed_over - self._tally.done

    @override
    def purge(self) -> None:
        assert self._producer is not None
        self._producer.purge()

    @override
    def close(self) -> None:
        if self._producer is not None:
            self._producer.purge()
            self._producer.poll(0)
            self._producer = None
