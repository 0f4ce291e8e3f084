"""Free ports for tests, which no other process gets before the test uses them."""

import functools
import itertools
import os
import socket
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_RANGE: Final = Path("/proc/sys/net/ipv4/ip_local_port_range")
_USUAL_EPHEMERAL: Final = 32_768
_FIRST: Final = 20_000  # Ray's workers use the ports below it
_BLOCK: Final = 200


def free_port() -> int:
    """Return a port on which nobody listens.

    It lies in a block that no other test process uses at the same time and, unless this host was set up otherwise,
    below the ports that the kernel gives to connections and to port 0. So nobody takes it before it is bound, or while
    its server is down.
    """
    _, ports = _block(os.getpid())
    for port in itertools.islice(ports, _BLOCK):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("", port))
            return port
    raise AssertionError("no port of this process is free")


@functools.cache
def _block(pid: int) -> tuple[socket.socket, Iterator[int]]:
    """Reserve a block of ports until a process ends, and return the lock on it and its ports over and over again."""
    ephemeral = _USUAL_EPHEMERAL
    with suppress(OSError):
        ephemeral = int(_RANGE.read_text().split()[0])
    last = ephemeral if ephemeral >= _FIRST + 10 * _BLOCK else _USUAL_EPHEMERAL
    for first in range(_FIRST, last - _BLOCK + 1, _BLOCK):
        lock = socket.socket(socket.AF_UNIX)
        with suppress(OSError):
            lock.bind(f"\0kafka-tuner tests' ports {first}")
            return lock, itertools.cycle(range(first, first + _BLOCK))
        lock.close()
    raise AssertionError("no block of ports is free")
