"""Estimates for how much of the time a TCP connection of a consumer was receiving.

The kernel counts the bytes that a connection has received, but not for how long it received. So several times a second
we read the count twice, a few milliseconds apart: if it grew, the connection was receiving. A connection that receives
nearly all the time is limited by the network or by a busy peer. A connection with gaps waits for its peer's answers.

Source: `tcpi_bytes_received`, Linux, include/uapi/linux/tcp.h.
"""

import time
from collections import Counter
from dataclasses import dataclass, field
from typing import Final

from runners.host.kernel_counters import Connection, tcp_bytes

SHORTEST_S: Final = 0.002
LONGEST_S: Final = 0.02
_PARTS: Final = 8


@dataclass(slots=True)
class Receiving:
    """Samples whether the connections of a process are receiving. A sample takes some milliseconds.

    Attributes:
        pid: The process: this process or one that it has started. None: this process.
        samples: Number of samples so far.
    """

    pid: int | None = None
    samples: int = 0
    _first_bytes: dict[Connection, int] = field(default_factory=dict)
    _last_bytes: dict[Connection, int] = field(default_factory=dict)
    _receiving: Counter[Connection] = field(default_factory=Counter)

    def sample(self, exchange_s: float = 0.0) -> None:
        """Take one sample. It takes an eighth of `exchange_s`, but at least 2 ms and at most 20 ms.

        A slow network passes bytes in portions, some milliseconds apart. A sample must be longer than that, and shorter
        than the gap between two exchanges of a connection that waits for answers.

        Args:
            exchange_s: Mean time from a request to the end of its response; 0 if unknown.
        """
        before = self._received()
        time.sleep(min(max(exchange_s / _PARTS, SHORTEST_S), LONGEST_S))
        after = self._received()
        self.samples += 1
        for connection, count in after.items():
            self._first_bytes.setdefault(connection, count)
            self._last_bytes[connection] = count
            self._receiving[connection] += count > before.get(connection, count)

    def ratio(self) -> float | None:
        """Return the share of the samples in which the connection with the most bytes was receiving.

        The result is None if there was no sample, or if the platform does not report the bytes.
        """
        received = {each: last - self._first_bytes[each] for each, last in self._last_bytes.items()}
        busiest = max(received, key=lambda each: received[each], default=None)
        return None if busiest is None else self._receiving[busiest] / self.samples

    def _received(self) -> dict[Connection, int]:
        return {connection: received for connection, (_, received) in (tcp_bytes(self.pid) or {}).items()}
