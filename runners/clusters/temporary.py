"""Temporary folders that disappear even if their process is killed."""

import contextlib
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from runners.clusters.processes import ProcessIdentity, Record, records


@contextlib.contextmanager
def temporary_folder(kind: str, prefix: str, parent: str | None = None) -> Iterator[Path]:
    """Make a temporary folder, and remove the folder at the end of the block.

    If this process is killed, the next process that asks for a folder of this kind on this host removes the folder.

    Args:
        kind: The kind of the `Record` that lists the folder, such as `ray`.
        prefix: How the folder's name begins.
        parent: Where to make it; by default the host's folder for temporary files.
    """
    for record in records(kind):
        if record.state == "dead" and (left := Path(record.facts["folder"])).name == record.run_id:
            shutil.rmtree(left, ignore_errors=True)
            record.remove()
    folder = Path(parent or tempfile.gettempdir(), f"{prefix}{secrets.token_hex(4)}")
    record = Record(kind, folder.name, ProcessIdentity.of(), {"folder": str(folder)})
    record.save()
    try:
        folder.mkdir(mode=0o700)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        record.remove()
