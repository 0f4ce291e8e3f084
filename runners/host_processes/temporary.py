"""Temporary folders that disappear even if their process is killed."""

import atexit
import contextlib
import itertools
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Final

from runners.host_processes.clean_up import CleanUpList, clean_up_lists
from runners.host_processes.processes import ProcessIdentity

KINDS: Final = ("java", "mlflow", "ray")
"""The kinds of the `CleanUpList`s that list our temporary folders."""


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
    """Make a temporary folder, and remove the folder at the end of the block, or of this process if a thread is in it.

    If this process is killed, the next process that asks for a folder of this kind on this host removes the folder, and
    so does the end of the next study.

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
