"""Lists of the things that a process must remove at its end. If it is killed, a later process finds the list."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from runners.host_processes.folders import state_root, write_atomically
from runners.host_processes.processes import ProcessIdentity, this_host


@dataclass(frozen=True, slots=True)
class CleanUpList:
    """A file in the state folder that lists what a process has created and must remove in the end.

    If the process is killed before that, a later process finds the file and removes what it lists.

    Attributes:
        kind: `broker`, `java`, `mlflow`, `persistent`, `ray` or `topics`. The files of each kind have their own folder.
        run_id: The id of the list. No other list of the same kind has it.
        owner: The process that removes everything that is listed, unless it is killed before.
        facts: The things to remove, and where they are. This mapping contains no secrets.
        host: The host on which the owner's process id is valid.
    """

    kind: str
    run_id: str
    owner: ProcessIdentity
    facts: dict[str, Any]
    host: str = field(default_factory=lambda: this_host())

    @property
    def path(self) -> Path:
        """The file of this list."""
        return state_root() / "live" / self.kind / f"{self.run_id}.json"

    @property
    def state(self) -> Literal["live", "dead", "unknown"]:
        """`live` if the process that owns the list is still running, and `dead` if that process has ended.

        `unknown` if the list was written on another host that shares our home folder.
        """
        if self.host != this_host():
            return "unknown"
        return "live" if self.owner.process() else "dead"

    def save(self) -> None:
        """Write the list to its file.

        Call this before creating what the list names. If the process is killed between the two steps, the list
        names things that do not exist, which does no harm.
        """
        text = {"owner": [self.owner.pid, self.owner.started], "host": self.host, "facts": self.facts}
        write_atomically(self.path, json.dumps(text))

    def remove(self) -> None:
        """Delete the file of the list. Call this when everything that the list names has been removed."""
        self.path.unlink(missing_ok=True)


def clean_up_lists(kind: str) -> Iterator[CleanUpList]:
    """Yield the clean-up lists of one kind. Files that can't be read are skipped.

    Args:
        kind: `broker`, `java`, `mlflow`, `persistent`, `ray` or `topics`.
    """
    for path in _paths(kind):
        if found := _read(kind, path):
            yield found


def damaged_lists(kind: str) -> list[Path]:
    """Return the files of one kind that can't be read, although they are there.

    Args:
        kind: As for `clean_up_lists`.
    """
    return [path for path in _paths(kind) if _read(kind, path) is None and path.exists()]


def _paths(kind: str) -> list[Path]:
    return sorted((state_root() / "live" / kind).glob("*.json"))


def _read(kind: str, path: Path) -> CleanUpList | None:
    try:
        text = json.loads(path.read_text(encoding="utf-8"))
        pid, started = text["owner"]
        owner = ProcessIdentity.parse(pid, started)
        return CleanUpList(kind, path.stem, owner, dict(text["facts"]), str(text["host"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
