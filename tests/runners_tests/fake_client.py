"""A producer with no Kafka behind it, under the same contract tests as the real ones."""

import json
from collections import deque
from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from runners.clock import Clock, SystemClock
from runners.errors import GeneratorError, WorkloadRefused
from runners.librdkafka.tally import Tally
from runners.payload import PayloadPool

_KNOWN = {
    "bootstrap.servers",
    "queue.buffering.max.messages",
    "batch.num.messages",
    "message.max.bytes",
    "statistics.interval.ms",
    "linger.ms",
}
_OVERHEAD_BYTES = 36


class FakeClient:
    """A `LoadClient` whose broker acknowledges everything handed over as soon as somebody drains.

    Attributes:
        sent: Index of each record taken into the pool, in order.
        intended: When each of them was meant to leave.
        taken_at: When each of them was handed over, by `clock`.
        closed_door: While it is set, no record is acknowledged, so that the queue fills up.
    """

    def __init__(
        self,
        properties: Mapping[str, str],
        topic: str,
        pool: PayloadPool,
        tally: Tally,
        clock: Clock | None = None,
    ) -> None:
        """As the real ones; the clock is that of `taken_at` and of deliveries."""
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

    def send(self, intended_ns: NDArray[np.int64] | int, count: int) -> int:
        """See `LoadClient.send`."""
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

    def drain(self, timeout_ms: int) -> None:
        """See `LoadClient.drain`."""
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

    def waiting(self) -> int:
        """See `LoadClient.waiting`."""
        return len(self._held) + self._given_up

    def purge(self) -> None:
        """See `LoadClient.purge`."""
        self._given_up += len(self._held)
        self._held.clear()

    def close(self) -> None:
        """See `LoadClient.close`."""
        self._held.clear()
