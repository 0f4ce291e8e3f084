"""Reads bytes from a socket, and returns when they arrived in the kernel.

Waking up and reading takes this process tens of microseconds, and much more if all cores are busy. The bytes still
leave in time, because their delay counts from the moment of their arrival. Source: SO_TIMESTAMPNS in socket(7).
"""

import socket
import struct
import time
from typing import Final

from runners.clock import NS_PER_S

OLDEST_NS: Final = 5_000_000
"""Bytes count as having arrived at most this long before they are read.

If this process wakes up late by less than this, the link has sent meanwhile, and no bandwidth is lost.
"""
_SO_TIMESTAMPNS: Final = 35
_TIMESTAMP: Final = struct.Struct("qq")
_ANCILLARY_BYTES: Final = socket.CMSG_SPACE(_TIMESTAMP.size)


def note_arrivals(source: socket.socket) -> None:
    """Let the kernel record when bytes arrive at a socket."""
    source.setsockopt(socket.SOL_SOCKET, _SO_TIMESTAMPNS, 1)


def receive(source: socket.socket, most_bytes: int) -> tuple[bytes, int]:
    """Read from a socket that was given to `note_arrivals`.

    Args:
        source: The socket, which does not block.
        most_bytes: How many bytes to read at most.

    Returns:
        The bytes, and the time when the last of them arrived, by the monotonic clock in nanoseconds.

    Raises:
        BlockingIOError: There is nothing to read.
        OSError: The connection has failed.
    """
    data, ancillary, _, _ = source.recvmsg(most_bytes, _ANCILLARY_BYTES)
    now_ns = time.monotonic_ns()
    for level, kind, content in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, _SO_TIMESTAMPNS) and len(content) == _TIMESTAMP.size:
            seconds, nanoseconds = _TIMESTAMP.unpack(content)
            arrived_ns = now_ns - time.time_ns() + seconds * NS_PER_S + nanoseconds
            return data, min(max(arrived_ns, now_ns - OLDEST_NS), now_ns)  # somebody may have set the host's clock
    return data, now_ns
