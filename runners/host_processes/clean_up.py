"""What a process must remove at its end, such as temporary folders. If it is killed, a later process removes it."""

import atexit
import contextlib
import itertools
import json
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, Final, Literal

from runners.host_processes.folders import state_root, write_atomically
from runners.host_processes.processes import ProcessIdentity, this_host

KINDS: Final = ("java", "mlflow", "ray")
"""The kinds of the `CleanUpList`s that list our temporary folders."""


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
    host: str = field(default_factory=this_host)

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
        content = {"owner": [self.owner.pid, self.owner.started], "host": self.host, "facts": self.facts}
        write_atomically(self.path, json.dumps(content))

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


def remove_folders_of_dead(kinds: Iterable[str] = KINDS) -> None:
    """Remove the temporary folders of processes of this host that were killed.

    Args:
        kinds: Only folders of these kinds.
    """
    for record in itertools.chain.from_iterable(map(clean_up_lists, kinds)):
        if record.state == "dead" and (left := Path(record.facts["folder"])).name == record.run_id:
            _remove(left, record)


def _remove(folder: Path, record: CleanUpList) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    # The last processes of a killed run, or a thread, may have written to the folder while it was removed. The record
    # then stays for the next try.
    if not folder.exists():
        record.remove()


@contextlib.contextmanager
def temporary_folder(kind: str, prefix: str, parent: str | None = None) -> Iterator[Path]:
    """Make a temporary folder, and remove it at the end of the block.

    If a thread is still in the block when this process ends, the folder is removed then. If this process is killed, the
    next process that asks for a folder of this kind on this host removes the folder, and so does the end of the next
    study.

    Args:
        kind: The kind of the `CleanUpList` that lists the folder, such as `ray`.
        prefix: How the folder's name begins.
        parent: Where to make it; by default the host's folder for temporary files.
    """
    remove_folders_of_dead((kind,))
    folder = Path(parent or tempfile.gettempdir(), f"{prefix}{secrets.token_hex(4)}")
    record = CleanUpList(kind, folder.name, ProcessIdentity.of(), {"folder": str(folder)})
    record.save()
    remove = partial(_remove, folder, record)
    atexit.register(remove)
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        remove()
        atexit.unregister(remove)
