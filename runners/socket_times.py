"""What held the TCP connections of this process back: the network, or a receiver that did not read.

The kernel counts how long a connection had data on its way (`tcpi_busy_time`), and how much of that the receiver's
window or the send buffer explains. The rest is not yet the network's doing: it holds the wait for a peer that has all
data and is slow to acknowledge, as in any exchange of one request and one response. Only while data lies *unsent* in
the kernel does the network hold it back, and that is a gauge (`tcpi_notsent_bytes`): so it is looked at several times
a second, and each interval counts that ends with unsent data.
Source: Linux, include/uapi/linux/tcp.h and net/ipv4/tcp_output.c (tcp_chrono_*).
"""

import contextlib
import os
import socket
import struct
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from runners.clock import NS_PER_S

_INFO_BYTES: Final = 192
_UNSENT: Final = struct.Struct("=I")
_UNSENT_OFFSET: Final = 144
_TIMES: Final = struct.Struct("=QQQ")
_TIMES_OFFSET: Final = 168
_US_PER_S: Final = NS_PER_S // 1_000

Connection = tuple[int, str]
"""Descriptor and peer."""


@dataclass(frozen=True, slots=True)
class HeldBack:
    """How long a connection was held back since it was first seen, in seconds."""

    network_s: float = 0.0
    receiver_s: float = 0.0


@dataclass(slots=True)
class SocketTimes:
    """Adds up what held each connection back; looked at by one thread."""

    _seen: dict[Connection, tuple[int, int]] = field(default_factory=dict)
    _held: dict[Connection, HeldBack] = field(default_factory=dict)

    def look(self) -> None:
        """Take one more sample of every connection."""
        self.add(_tcp_infos())

    def add(self, sample: Iterable[tuple[Connection, bytes]]) -> None:
        """Take in one sample: of each open connection what the kernel tells as `struct tcp_info`."""
        seen = {}
        for connection, info in sample:
            (unsent,) = _UNSENT.unpack_from(info, _UNSENT_OFFSET)
            busy_us, receiver_us, buffer_us = _TIMES.unpack_from(info, _TIMES_OFFSET)
            seen[connection] = (busy_us - receiver_us - buffer_us, receiver_us)
            self._add(connection, seen[connection], unsent)
        self._seen = seen
        self._held = {connection: self._held[connection] for connection in seen}

    def _add(self, connection: Connection, now: tuple[int, int], unsent: int) -> None:
        before = self._seen.get(connection, now)
        held = self._held.get(connection, HeldBack())
        on_its_way_us, receiver_us = now[0] - before[0], now[1] - before[1]
        self._held[connection] = HeldBack(
            held.network_s + (on_its_way_us / _US_PER_S if unsent else 0.0),
            held.receiver_s + receiver_us / _US_PER_S,
        )

    def held_back(self) -> Mapping[Connection, HeldBack] | None:
        """The sums so far, of connections that are still open; None where the platform does not tell."""
        return dict(self._held) if _can_tell() else None


def _can_tell() -> bool:
    return Path("/proc/self/fd").exists() and hasattr(socket, "TCP_INFO")


def _tcp_infos() -> Iterator[tuple[Connection, bytes]]:
    if not _can_tell():
        return
    for entry in os.listdir("/proc/self/fd"):  # noqa: PTH208 - iterdir would hold a descriptor of the folder itself
        # Descriptors come and go under our hands: librdkafka's are not ours.
        with contextlib.suppress(OSError):
            if not str(Path("/proc/self/fd", entry).readlink()).startswith("socket:"):
                continue
            copy = os.dup(int(entry))
            try:
                connection = socket.socket(fileno=copy)
            except OSError:
                os.close(copy)
                continue
            with connection:
                if connection.type != socket.SOCK_STREAM or connection.family not in (socket.AF_INET, socket.AF_INET6):
                    continue
                info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _INFO_BYTES)
                if len(info) == _INFO_BYTES:  # an older kernel tells less
                    yield (int(entry), str(connection.getpeername())), info


def most_held_back(
    before: Mapping[Connection, HeldBack], after: Mapping[Connection, HeldBack], elapsed_s: float
) -> HeldBack:
    """The most that any one connection was held back per second between two readings, by each cause."""
    spans = [(before.get(connection, HeldBack()), now) for connection, now in after.items()]
    return HeldBack(
        max((now.network_s - was.network_s for was, now in spans), default=0.0) / elapsed_s,
        max((now.receiver_s - was.receiver_s for was, now in spans), default=0.0) / elapsed_s,
    )
