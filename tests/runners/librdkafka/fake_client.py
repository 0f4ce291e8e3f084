"""A load client without Kafka, which passes the same contract tests as the real load clients."""

import json
from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from typing_extensions import override

from runners.clock import Clock, SystemClock
from runners.errors import GeneratorError, WorkloadRefused
from runners.librdkafka.load_client import LoadClient
from runners.librdkafka.tally import Tally
from runners.load.payload import PayloadPool

_KNOWN = {
    "bootstrap.servers",
    "queue.buffering.max.messages",
    "batch.num.messages",
    "message.max.bytes",
    "statistics.interval.ms",
    "linger.ms",
}
_OVERHEAD_BYTES = 36


class FakeClient(LoadClient):
    """A `LoadClient` that acknowledges all records when somebody drains it.

    Attributes:
        sent: For each accepted record, its index in the pool, in order.
        intended: For each accepted record, its intended send time.
        taken_at: For each accepted record, when it was handed over, by `clock`.
        closed_door: While it is set, no record is acknowledged, so the queue fills.
    """

    notes_arrivals = False

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        pool: PayloadPool,
        tally: Tally,
        clock: Clock | None = None,
    ) -> None:
        """Open a client with the arguments of a real one. `clock` times the hand-over and the deliveries."""
        if unknown := set(properties) - _KNOWN:
            raise GeneratorError(f"the fake client does not know {unknown}")
        self.sent: list[int] = []
        self.intended: list[int] = []
        self.taken_at: list[int] = []
        self.closed_door = False
        self._room = int(properties.get("queue.buffering.max.messages", "100000"))
        self._largest = int(properties.get("message.max.bytes", "1000000")) - _OVERHEAD_BYTES
        self._reports = properties.get("statistics.interval.ms", "0") != "0"
        self._pool = pool
        self._tally = tally
        self._clock = clock or SystemClock()
        self._held: deque[int] = deque()
        self._given_up = 0
        self._transmitted = 0

    @override
    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        moments = [intended_ns] * count if isinstance(intended_ns, int) else intended_ns.tolist()
        for taken, moment in enumerate(moments[:count]):
            if self.waiting() >= self._room:
                return taken
            index = len(self.sent) % len(self._pool)
            if (size := int(self._pool.lengths[index]) + self._pool.keys.shape[1]) > self._largest:
                raise WorkloadRefused(f"the client refuses a record of {size} bytes")
            self.sent.append(index)
            self.intended.append(moment)
            self.taken_at.append(self._clock.now_ns())
            self._held.append(moment)
        return count

    @override
    def drain(self, timeout_ms: int) -> None:
        if self._given_up:
            self._tally.fail("_PURGE_QUEUE", self._given_up)
            self._given_up = 0
        if not self.closed_door and self._held:
            moments = np.array(self._held, dtype=np.int64)
            self._held.clear()
            self._transmitted += len(moments)
            self._tally.sample(moments[self._tally.delivered(len(moments))], self._clock.now_ns())
        if self._reports:
            self._tally.statistics.append((self._clock.now_ns(), self._report()))

    def _report(self) -> str:
        return json.dumps(
            {
                "msg_cnt": len(self._held),
                "msg_size": 0,
                "txmsgs": self._transmitted,
                "txmsg_bytes": 0,
                "brokers": {},
                "topics": {},
            }
        )

    @override
    def waiting(self) -> int:
        return len(self._held) + self._given_up

    @override
    def purge(self) -> None:
        self._given_up += len(self._held)
        self._held.clear()

    @override
    def close(self) -> None:
        self._held.clear()
