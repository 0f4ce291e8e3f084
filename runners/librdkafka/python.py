"""The load generator on plain `confluent_kafka.Producer`: one Python call and one callback per record.

A fallback for platforms where the C functions can't be reached, and the yardstick for what these bring. Its ceiling is
a fraction of the native one's: the verdict then says that the generator was the bottleneck.
"""

import logging
import threading
import time
from collections.abc import Mapping
from functools import partial

import numpy as np
from confluent_kafka import KafkaError, KafkaException, Message, Producer
from numpy.typing import NDArray

from runners.errors import DeliveryFailed, GeneratorError, WorkloadRefused
from runners.librdkafka.tally import Tally
from runners.payload import PayloadPool


class PythonClient:
    """A `LoadClient` of ordinary Python calls. See the protocol for the contract."""

    def __init__(self, properties: Mapping[str, str], topic: str, pool: PayloadPool, tally: Tally) -> None:
        """Open a producer; arguments and errors as for `NativeClient`."""
        self._tally = tally
        self._topic = topic
        self._pool = pool
        self._records = [(pool.value(index), pool.key(index)) for index in range(len(pool))]
        self._cursor = 0
        self._handed_over = 0
        # Each callback asks for the interpreter lock anew, and would wait for it as long as the sender computes: so the
        # two threads take turns. Who waits for the turn holds the door, else the sender would always be first.
        self._turn = threading.Lock()
        self._door = threading.Lock()
        logger = logging.Logger("librdkafka")  # in nobody's tree, so that no handler of others sees it
        logger.addHandler(logging.NullHandler())
        settings = {**properties, "stats_cb": self._statistics, "error_cb": self._error, "logger": logger}
        try:
            self._producer: Producer | None = Producer(settings)
        except KafkaException as error:
            raise GeneratorError(f"librdkafka refuses the configuration: {error.args[0].str()}") from None

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """See `LoadClient.send`."""
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
                produce(topic, value=value, key=key, on_delivery=partial(self._delivered, intended))
                taken += 1
                self._cursor = (self._cursor + 1) % len(records)
        except BufferError:
            pass
        except KafkaException as error:
            self._explain(error.args[0])
        finally:
            self._handed_over += taken
        return taken

    def _explain(self, error: KafkaError) -> None:
        if error.fatal() or error.code() == KafkaError._FATAL:
            raise DeliveryFailed(f"the client stopped for good: {self._tally.fatal or error.str()}") from None
        size = int(self._pool.lengths[self._cursor])
        raise WorkloadRefused(f"the client refuses a record of {size} bytes: {error.str()}") from None

    def _delivered(self, intended_ns: int, error: KafkaError | None, _: Message) -> None:
        if error is not None:
            self._tally.fail(error.name())
        elif len(self._tally.delivered(1)):
            self._tally.sample(np.array([intended_ns], dtype=np.int64), time.monotonic_ns())

    def _statistics(self, text: str) -> None:
        self._tally.statistics.append((time.monotonic_ns(), text))

    def _error(self, error: KafkaError) -> None:
        sentence = f"{error.name()}: {error.str()}"
        if error.fatal():
            self._tally.fatal = sentence
        self._tally.say(sentence)

    def drain(self, timeout_ms: int) -> None:
        """See `LoadClient.drain`."""
        assert self._producer is not None
        with self._door, self._turn:
            served = self._producer.poll(0)
        if not served:
            self._producer.poll(timeout_ms / 1e3)

    def waiting(self) -> int:
        """See `LoadClient.waiting`."""
        return self._handed_over - self._tally.done

    def purge(self) -> None:
        """See `LoadClient.purge`."""
        assert self._producer is not None
        self._producer.purge()

    def close(self) -> None:
        """See `LoadClient.close`."""
        if self._producer is not None:
            self._producer.purge()
            self._producer.poll(0)
            self._producer = None
