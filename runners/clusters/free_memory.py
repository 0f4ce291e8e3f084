"""How much memory is left to this process: the machine's, or what its control group may still take.

A container or a systemd unit with a limit is ended by the kernel at that limit, however much memory the machine has
left. Files in memory count against it.

Source: Linux's documentation of control groups, version 2 (`memory.max`, `memory.current`) and version 1
(`memory.limit_in_bytes`, `memory.usage_in_bytes`). What is cached of files on a disk is given up when memory is
asked for, and counts as free.
"""

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import psutil

CGROUPS: Final = Path("/sys/fs/cgroup")
MEMBERSHIP: Final = Path("/proc/self/cgroup")


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
