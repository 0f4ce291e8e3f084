"""Where a broker of our own keeps its log in memory, where the machine has room for it.

What a broker's disk does is then no part of what is measured: other programs' writes, a journal that is written
out, and memory for cached files that a virtual machine has given back to its host after each deletion. Measured on 2
cores of such a machine, records of 1,000 B with the client's defaults: between other loads, 190 to 250 MB/s with the
log on disk (3.2 to 4.5 ms of a core per MB), in the same minutes 400 to 450 MB/s in memory (1.8 to 2.1 ms).
"""

import os
from pathlib import Path
from typing import Final

import psutil

from runners.clusters.free_memory import free_memory_bytes

ROOT: Final = Path("/dev/shm")
"""Where Linux offers files in memory."""

LEAST_FREE_BYTES: Final = 1 << 30
"""What a load leaves of the machine's memory."""

_LOG_BYTES: Final = 3 << 30
"""One broker's log at its longest, with room: see `topics.owned_configs`."""
_BESIDE_BYTES: Final = 3 << 30
"""A broker's heap, a producer's buffer, and the programs themselves."""


def memory_root(brokers: int) -> Path | None:
    """The folder for the logs of so many brokers; None where there is no room, or `TMPDIR` says where data goes."""
    if "TMPDIR" in os.environ or not os.access(ROOT, os.W_OK | os.X_OK):
        return None
    needed = brokers * _LOG_BYTES
    if psutil.disk_usage(str(ROOT)).free < needed + LEAST_FREE_BYTES:
        return None
    return ROOT if free_memory_bytes() >= needed + _BESIDE_BYTES else None


def in_memory(path: Path) -> bool:
    """Whether a broker's log lies in memory."""
    return path.is_relative_to(ROOT)


def room_bytes() -> int:
    """What files in memory may still take."""
    return min(psutil.disk_usage(str(ROOT)).free, free_memory_bytes())
