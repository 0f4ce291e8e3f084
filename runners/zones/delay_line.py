"""The schedule of one direction of a link: when each chunk of bytes leaves it.

A chunk that arrives at a moment t passes the link's bandwidth after the chunks before it, and then takes the delay:

    sent    = max(t, sent of the chunk before) + bytes / bandwidth
    leaves  = sent + delay

So the delay does not limit the throughput: the line holds all bytes that are on their way. This module uses no socket
and no clock.
"""

from collections import deque
from typing import Final, Generic, TypeVar

from runners.zones.link import LinkDirection

SLICE_S: Final = 0.00025
"""The seconds that the link takes for a chunk. Chunks leave whole: short ones are smoother, but cost more CPU time."""
AHEAD_NS: Final = 1_000_000
"""The line takes a chunk up to this long before the link can send it.

If this process wakes up late by less than this, the link has bytes to send without a gap.
"""
PACKET_BYTES: Final = 1_460
"""The smallest limit for a chunk: the payload of one Ethernet packet. It matters only below 6 MB/s."""
CHUNK_BYTES: Final = 256 * 1024
"""The limit for a chunk if the bandwidth has no limit."""
LINE_BYTES: Final = 256 * 1024 * 1024
"""The most bytes that a direction holds. When it is full, the senders have to wait."""

Owner = TypeVar("Owner")


class DelayLine(Generic[Owner]):
    """The chunks that are on their way in one direction, in the order in which they leave.

    `Owner` is what each chunk belongs to, such as a connection.

    Attributes:
        chunk_bytes: The largest chunk to give to `take`.
        held_bytes: Bytes of the chunks that were taken and that the receiver has not accepted completely. The caller
            subtracts a chunk when the receiver has all of it.
    """

    def __init__(self, direction: LinkDirection) -> None:
        self._delay_ns = round(direction.delay_ms * 1e6)
        rate = direction.mb_per_s
        self._ns_per_byte = 0.0 if rate is None else 1e3 / rate
        self.chunk_bytes = (
            CHUNK_BYTES if rate is None else min(max(round(rate * 1e6 * SLICE_S), PACKET_BYTES), CHUNK_BYTES)
        )
        self.held_bytes = 0
        self._free_ns = 0.0
        self._last_ns = 0
        self._chunks: deque[tuple[int, Owner, bytes | None]] = deque()

    def take(self, arrived_ns: int, owner: Owner, data: bytes | None) -> None:
        """Take a chunk that has arrived.

        Args:
            arrived_ns: When the chunk arrived, by any monotonic clock.
            owner: The owner of the chunk, such as a connection.
            data: The bytes. None marks the end of the owner's bytes, and takes the same time on the link.
        """
        if data is not None:
            self.held_bytes += len(data)
            self._free_ns = max(self._free_ns, arrived_ns) + len(data) * self._ns_per_byte
        # A chunk of another connection may have arrived before one that was taken already.
        self._last_ns = max(self._last_ns, round(max(self._free_ns, arrived_ns)) + self._delay_ns)
        self._chunks.append((self._last_ns, owner, data))

    def release(self, now_ns: int) -> tuple[int, Owner, bytes | None] | None:
        """Return the next chunk that leaves at `now_ns` or has left before; None if there is none.

        Returns:
            When the chunk leaves, its owner, and the bytes or None.
        """
        if self._chunks and self._chunks[0][0] <= now_ns:
            return self._chunks.popleft()
        return None

    def wake_ns(self, lead_ns: int) -> int | None:
        """Return when to wake up for the next chunk; None if no chunk is on its way.

        Args:
            lead_ns: How much earlier to wake up for a chunk that leaves at an exact moment. A full chunk needs no exact
                moment: others follow it, and only when the last one arrives matters.
        """
        if not self._chunks:
            return None
        leaves_ns, _, data = self._chunks[0]
        return leaves_ns if data is not None and len(data) == self.chunk_bytes else leaves_ns - lead_ns

    def takes_ns(self) -> int | None:
        """Return when the line can take the next chunk; None if receivers must accept bytes first."""
        return int(self._free_ns) - AHEAD_NS if self.held_bytes < LINE_BYTES else None
