"""Finds processes and free TCP ports on this host, and writes files that list what a process must clean up at its end.

A process is identified by its id and its start, because the system reuses process ids. The start is counted from the
boot of the host and not read from a clock, because somebody may set the clock.
"""

import contextlib
import os
import platform
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import psutil

from runners.errors import BrokerDidNotStart

_SAME_START_S = 2.0
"""How far the start times in the files of earlier releases may be off, since psutil computes them from the clock."""
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


def free_ports(host: str, count: int) -> list[int]:
    """Return several different ports on which no process listens at the moment.

    Args:
        host: The address that the ports will be bound to.
        count: The number of ports.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for opened in sockets:
            opened.bind((host, 0))
        return [int(opened.getsockname()[1]) for opened in sockets]


def require_free(host: str, port: int) -> None:
    """Check that a port is free to listen on.

    Raises:
        BrokerDidNotStart: The port is not free. The message names the process that uses it, if we can find out.
    """
    with socket.socket() as probe:
        # Java sets this option too. With it, connections that are still closing don't block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            holder = listener(port)
            by = f" (process {holder.pid}, {process_name(holder)})" if holder else ""
            raise BrokerDidNotStart(
                f"the broker's port must be free, but {host}:{port} is not available: {error.strerror}{by}; "
                "choose another port, or leave the port out to use a free one"
            ) from None


def listener(port: int) -> psutil.Process | None:
    """Return the process on this host that listens on a TCP port.

    The result is None if no process listens there, or if this user may not see which process does.
    """
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        listens_on = connection.laddr.port if connection.laddr and connection.status == psutil.CONN_LISTEN else None
        if listens_on == port and connection.pid:
            with contextlib.suppress(psutil.NoSuchProcess):
                return psutil.Process(connection.pid)
    return None


def process_name(process: psutil.Process) -> str:
    """Return the name of a process, or `?` if it has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return "?"


def runs(pid: int) -> bool:
    """Return whether a process has not ended and is not stopped."""
    try:
        return psutil.Process(pid).status() not in (psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False
