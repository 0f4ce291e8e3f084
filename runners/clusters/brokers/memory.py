"""Decides whether a broker that we start keeps its partitions in memory, and how much memory is left.

With the partitions in memory, disk writes don't influence the measurement. With the partitions on disk, three things
would influence it: the writes of other programs, commits of the file system's journal, and the cache of files, because
a virtual machine returns the memory of the cache to its host after each deletion.

Measured within the same minutes on 2 cores of a virtual machine, with records of 1,000 B and the client's defaults:
with the partitions on disk, 190 to 250 MB/s and 3.2 to 4.5 ms of CPU time per MB; with the partitions in memory, 400 to
450 MB/s and 1.8 to 2.1 ms of CPU time per MB.

If a container or a systemd unit has a memory limit, the kernel kills its processes at that limit, even if the machine
has memory left. Files in memory count towards the limit.

Source: Linux's documentation of control groups, version 2 (`memory.max`, `memory.current`) and version 1
(`memory.limit_in_bytes`, `memory.usage_in_bytes`). The kernel frees the cache of files on disk when a program needs
memory, so we count that cache as free.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

ROOT: Final = Path("/dev/shm")
"""The folder that Linux keeps in memory."""

LEAST_FREE_MEMORY_BYTES: Final = 1 << 30
"""Bytes of the machine's memory that a load must leave free."""

_LOG_BYTES: Final = 3 << 30
"""Upper limit of the size of one broker's partitions in bytes, with a reserve; see `owned_topics.owned_configs`."""
_OTHER_BYTES: Final = 3 << 30
"""Memory for the broker's heap, the producer's buffer, and the programs themselves."""
CGROUPS: Final = Path("/sys/fs/cgroup")
MEMBERSHIP: Final = Path("/proc/self/cgroup")


def memory_root(brokers: int) -> Path | None:
    """Return the folder in memory for the brokers' partitions, or None if they have to go to disk.

    The partitions go to disk if there is too little memory. They also go to disk if `TMPDIR` is set, because the user
    has then chosen the folder for our data.

    Args:
        brokers: The number of brokers.
    """
    if "TMPDIR" in os.environ or not os.access(ROOT, os.W_OK | os.X_OK):
        return None
    needed = brokers * _LOG_BYTES
    if psutil.disk_usage(str(ROOT)).free < needed + LEAST_FREE_MEMORY_BYTES:
        return None
    return ROOT if free_memory_bytes() >= needed + _OTHER_BYTES else None


def in_memory(path: Path) -> bool:
    """Return whether a folder, such as that of a broker's partitions, lies in a file system in memory."""
    return path.is_relative_to(ROOT)


def room_bytes() -> int:
    """Return the number of bytes that new files in memory may take."""
    return min(psutil.disk_usage(str(ROOT)).free, free_memory_bytes())


def free_memory_bytes() -> int:
    """Return how many more bytes of memory this process and its brokers may use."""
    return min([psutil.virtual_memory().available, *_left_to_groups()])


def _left_to_groups() -> Iterator[int]:
    """Yield how many more bytes each control group of this process may use, if the group has a memory limit."""
    with contextlib.suppress(OSError):
        for line in MEMBERSHIP.read_text(encoding="utf-8").splitlines():
            _, controllers, path = line.split(":", 2)
            if not controllers:
                yield from _left(CGROUPS, path, "memory.max", "memory.current", "inactive_file")
            elif "memory" in controllers.split(","):
                root, names = CGROUPS / "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")
                yield from _left(root, path, *names, "total_inactive_file")


def _left(root: Path, path: str, limit: str, usage: str, cached: str) -> Iterator[int]:
    """Yield how many more bytes a control group, and each group above it, may use, if the group has a memory limit.

    In a container, `path` may be the group's path on the host. Then the container sees only the root group.
    """
    group = root / path.lstrip("/")
    for folder in (group, *group.parents):
        if not folder.is_relative_to(root):
            return
        with contextlib.suppress(OSError, ValueError):  # without a limit the file holds "max", which is not a number
            bound, used = int((folder / limit).read_text()), int((folder / usage).read_text())
            stats = dict(line.split(" ", 1) for line in (folder / "memory.stat").read_text().splitlines())
            yield max(0, bound - used + int(stats.get(cached, "0")))
