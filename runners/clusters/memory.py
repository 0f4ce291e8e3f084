"""Where a broker of our own keeps its log in memory, and how much of it is left to this process.

What a broker's disk does is then no part of what is measured: other programs' writes, a journal that is written
out, and memory for cached files that a virtual machine has given back to its host after each deletion. Measured on 2
cores of such a machine, records of 1,000 B with the client's defaults: between other loads, 190 to 250 MB/s with the
log on disk (3.2 to 4.5 ms of a core per MB), in the same minutes 400 to 450 MB/s in memory (1.8 to 2.1 ms).

A container or a systemd unit with a limit is ended by the kernel at that limit, however much memory the machine has
left. Files in memory count against it.

Source: Linux's documentation of control groups, version 2 (`memory.max`, `memory.current`) and version 1
(`memory.limit_in_bytes`, `memory.usage_in_bytes`). What is cached of files on a disk is given up when memory is
asked for, and counts as free.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

ROOT: Final = Path("/dev/shm")
"""Where Linux offers files in memory."""

LEAST_FREE_BYTES: Final = 1 << 30
"""What a load leaves of the machine's memory."""

_LOG_BYTES: Final = 3 << 30
"""One broker's log at its longest, with room: see `topics.owned_configs`."""
_BESIDE_BYTES: Final = 3 << 30
"""A broker's heap, a producer's buffer, and the programs themselves."""
CGROUPS: Final = Path("/sys/fs/cgroup")
MEMBERSHIP: Final = Path("/proc/self/cgroup")


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


def free_memory_bytes() -> int:
    """What may still be taken."""
    return min([psutil.virtual_memory().available, *_left_to_groups()])


def _left_to_groups() -> Iterator[int]:
    """Of each group above this process that has a limit."""
    with contextlib.suppress(OSError):
        for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield from _left(CGROUPS, path, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
                yield from _left(root, path, *names, "total_inactive_file")


def _left(root: Path, path: str, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Of a group and those above it. In a container the path may be that of the host: then only the root is there."""
    group = root / path.lstrip("/")
    for each in (group, *group.parents):
        if not each.is_relative_to(root):
            return
        with contextlib.suppress(OSError, ValueError):  # "max" is no number, and no limit
            bound, used = int((each / limit).read_text()), int((each / usage).read_text())
            stats = dict(line.split(" ", 1) for line in (each / "memory.stat").read_text().splitlines())
            yield max(0, bound - used + int(stats.get(cached, "0")))
