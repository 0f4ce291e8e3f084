"""Processes of this host, told apart even when ids are used again; and records of what they clean up."""

import json
import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import psutil

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
