"""Identifies processes and hosts.

A process is identified by its id and its start, because the system reuses process ids. The start is counted from the
boot of the host and not read from a clock, because somebody may set the clock.
"""

import os
import platform
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

_SAME_START_S = 2.0
"""The largest error of the start times in files of earlier releases; psutil computes them from the wall clock."""
_ENDED = ("Z", "X")
"""States of a process that has ended, in `/proc/PID/stat`: a zombie, and a process that is being removed."""


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process id together with the start, so that a later process with the same id is not mistaken for it.

    Attributes:
        pid: Process id.
        started: When the process started: the id of the host's boot, and the clock ticks from that boot to the start.
            A number is the time of the start in seconds since the epoch, as earlier releases wrote it.
    """

    pid: int
    started: str | float

    @classmethod
    def of(cls, pid: int | None = None) -> Self:
        """Return the identity of a running process, or of this process if no id is given.

        Raises:
            psutil.NoSuchProcess: The process has ended.
        """
        own = os.getpid() if pid is None else pid
        return cls(own, _started(own))

    @classmethod
    def parse(cls, pid: Any, started: Any) -> Self:
        """Return the identity that a file gives.

        Raises:
            ValueError or TypeError: A value has another form.
        """
        return cls(int(pid), started if isinstance(started, str) else float(started))

    def process(self) -> psutil.Process | None:
        """Return the process, or None if it has ended."""
        try:
            started, process = _started(self.pid), psutil.Process(self.pid)
            if isinstance(self.started, str):
                return process if started == self.started else None
            return process if abs(process.create_time() - self.started) <= _SAME_START_S else None
        except psutil.NoSuchProcess:
            return None


def _started(pid: int) -> str:
    """Return when a process started, as `ProcessIdentity.started` holds it.

    Raises:
        psutil.NoSuchProcess: The process has ended.
    """
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        raise psutil.NoSuchProcess(pid) from None
    # The name of the program comes second, in parentheses; it may contain any character.
    state, *others = stat.rpartition(")")[2].split()
    if state in _ENDED:
        raise psutil.NoSuchProcess(pid)
    return f"{boot_id()} {others[18]}"


def boot_id() -> str:
    """Return an id of this host's boot, which all containers on the host share. Only Linux has one."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def this_host() -> str:
    """Return the name of this host and of its process namespace.

    A process id is only valid in one namespace, and each container usually has its own.
    """
    try:
        ids = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path but `pid:[4026531836]`
    except OSError:
        ids = ""
    return f"{platform.node()} {ids}".strip()


def runs(pid: int) -> bool:
    """Return whether a process has not ended and is not stopped."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def has_ended(pid: int) -> bool:
    """Return whether a process has ended; a stopped process has not."""
    try:
        ProcessIdentity.of(pid)
    except psutil.NoSuchProcess:
        return True
    return False
