"""Processes of this host, told apart even when ids are used again; records of what they clean up; and their ports."""

import contextlib
import json
import os
import platform
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import psutil

from runners.errors import BrokerDidNotStart
from runners.places import state_root, write_atomically

# psutil derives the time from the boot time, which steps with the clock: two readings may differ by a tick.
_SAME_START_S = 2.0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """A process, and no other that gets its id later.

    Attributes:
        pid: Process id.
        started_s: Seconds since the epoch at which it started.
    """

    pid: int
    started_s: float

    @classmethod
    def of(cls, pid: int | None = None) -> Self:
        """The identity of a live process; of this one by default.

        Raises:
            psutil.NoSuchProcess: It has ended.
        """
        process = psutil.Process(pid)
        return cls(pid=process.pid, started_s=process.create_time())

    def process(self) -> psutil.Process | None:
        """The live process; None once it has ended."""
        try:
            process = psutil.Process(self.pid)
            if abs(process.create_time() - self.started_s) > _SAME_START_S:
                return None
            return None if process.status() == psutil.STATUS_ZOMBIE else process
        except psutil.NoSuchProcess:
            return None


@dataclass(frozen=True, slots=True)
class Record:
    """A note in the state folder of something that must be removed, should its owner not do it.

    Attributes:
        kind: `broker`, `topics`: one folder of records each.
        run_id: Unique within the kind.
        owner: Who removes it in the normal case.
        facts: What is to be removed, and how to reach it. No secrets.
        host: Where the owner's process id means something.
    """

    kind: str
    run_id: str
    owner: ProcessIdentity
    facts: dict[str, Any]
    host: str = field(default_factory=lambda: this_host())

    @property
    def path(self) -> Path:
        """The file of this record."""
        return state_root() / "live" / self.kind / f"{self.run_id}.json"

    @property
    def state(self) -> Literal["live", "dead", "unknown"]:
        """Whether its owner still runs; `unknown` for another host's (a home folder may be shared)."""
        if self.host != this_host():
            return "unknown"
        return "live" if self.owner.process() else "dead"

    def save(self) -> None:
        """Write it down; before the thing is made, so that a kill in between leaves a record too many."""
        text = {"owner": [self.owner.pid, self.owner.started_s], "host": self.host, "facts": self.facts}
        write_atomically(self.path, json.dumps(text))

    def remove(self) -> None:
        """Forget it: the thing is gone."""
        self.path.unlink(missing_ok=True)


def this_host() -> str:
    """Name of this host, and of its process ids: those of a container are not its host's."""
    try:
        ids = os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - not a path but `pid:[4026531836]`
    except OSError:
        ids = ""
    return f"{platform.node()} {ids}".strip()


def records(kind: str) -> Iterator[Record]:
    """All records of a kind; unreadable ones are passed over."""
    for path in sorted((state_root() / "live" / kind).glob("*.json")):
        try:
            text = json.loads(path.read_text(encoding="utf-8"))
            pid, started_s = text["owner"]
            owner = ProcessIdentity(int(pid), float(started_s))
            yield Record(kind, path.stem, owner, dict(text["facts"]), str(text["host"]))
        except (OSError, ValueError, KeyError, TypeError):
            continue


def free_ports(host: str, count: int) -> list[int]:
    """Ports that nobody listens on at this moment, all different.

    Args:
        host: Address that they will be bound to.
        count: How many.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def require_free(host: str, port: int) -> None:
    """See that a port can be listened on.

    Raises:
        BrokerDidNotStart: It can't; the message names who has it, where that may be known.
    """
    with socket.socket() as probe:
        # As Java does: connections that are still closing don't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            holder = listener(port)
            by = f" (process {holder.pid}, {process_name(holder)})" if holder else ""
            raise BrokerDidNotStart(
                f"The broker's port must be free, but {host}:{port} can't be had: {error.strerror}{by}. "
                "Choose another port, or name none to have a free one taken."
            ) from None


def listener(port: int) -> psutil.Process | None:
    """The process of this host that listens on a TCP port; None if there is none, or we may not know."""
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
    """Its name; `?` once it has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return "?"
