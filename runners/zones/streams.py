"""The forwarder's state of one direction of a connection (`Stream`) and of the link (`Flow`)."""

import socket
from collections import deque
from typing import Final

from runners.zones.delay_line import AHEAD_NS, DelayLine
from runners.zones.link import LinkDirection

STREAM_BYTES: Final = 64 * 1024 * 1024
"""The limit on the bytes that one direction of a connection holds. Above it, no more bytes are read.

This limits one connection to 335 MB/s at a delay of 200 ms.
"""
QUEUE_S: Final = 0.01
"""The size of the kernel's buffer before the link, in seconds of sending. A larger buffer would add latency."""
MIN_QUEUE_BYTES: Final = 128 * 1024


class Stream:
    """The bytes of one connection in one direction.

    Attributes:
        source: Where the bytes come from.
        target: Where they go.
        blocked: Bytes that have left the link and that the target has not accepted. None marks the end.
        held_bytes: Bytes that were read and that the target has not accepted.
        queued: Whether the stream is in the queue of streams that may have bytes to read.
        full: Whether reading waits until the target has accepted bytes.
        ending: Whether the source has ended or failed, so that it must be read to its end.
        read, ended: Whether the end was read, and whether it was passed on to the target.
    """

    __slots__ = (
        "blocked",
        "closed",
        "ended",
        "ending",
        "full",
        "held_bytes",
        "line",
        "opposite",
        "queued",
        "read",
        "source",
        "target",
        "waiting",
    )

    opposite: "Stream"

    def __init__(self, source: socket.socket, target: socket.socket, direction: "Flow") -> None:
        self.source, self.target, self.line, self.waiting = source, target, direction.line, direction.waiting
        self.blocked: deque[memoryview | None] = deque()
        self.held_bytes = 0
        self.queued = self.full = self.ending = self.read = self.ended = self.closed = False


class Flow:
    """One direction of the link, for all connections.

    Attributes:
        line: The chunks on their way.
        waiting: The streams that may have bytes to read, in turn.
        queue_bytes: Size of the kernel's buffer for what waits before the link. None leaves it to the kernel.
    """

    def __init__(self, direction: LinkDirection) -> None:
        self.line: DelayLine[Stream] = DelayLine(direction)
        self.waiting: deque[Stream] = deque()
        rate = direction.mb_per_s
        self.queue_bytes = None if rate is None else max(MIN_QUEUE_BYTES, round(rate * 1e6 * QUEUE_S))

    def wake_ns(self, lead_ns: int) -> int | None:
        """Return when to wake up for the next chunk that leaves or can be read; None if there is none.

        Args:
            lead_ns: How much earlier to wake up for a chunk that leaves at an exact moment.
        """
        leaves_ns = self.line.wake_ns(lead_ns)
        takes_ns = self.line.takes_ns() if self.waiting else None
        if takes_ns is None or leaves_ns is None:
            return leaves_ns if takes_ns is None else takes_ns
        # Reading can wait a while for a chunk that leaves, to save a wake-up.
        return min(leaves_ns, takes_ns + AHEAD_NS // 2)
