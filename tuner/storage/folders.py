"""Studies in folders of this host: the storage where no other is named."""

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from runners.locks import target_lock
from tuner.model.errors import StudyBusy
from tuner.storage.places import RESULTS_FILE
from tuner.storage.protocols import ResultsStore, Tell
from tuner.storage.sqlite import SqliteStore


class FolderStorage:
    """A folder each, anywhere; looked for below one root."""

    @property
    def shown(self) -> str:
        """See `Storage.shown`."""
        return "folders of this host"

    @property
    def is_shared(self) -> bool:
        """See `Storage.is_shared`."""
        return False

    def find(self, name: str, root: Path) -> Path | None:
        """See `Storage.find`."""
        given = Path(name)
        for folder in (given, root / name, root / given.stem):
            if (folder / RESULTS_FILE).is_file():
                return folder.absolute()
        return None

    def names(self, root: Path) -> list[str]:
        """See `Storage.names`."""
        found = list(root.glob(f"*/{RESULTS_FILE}"))
        found.sort(key=lambda path: path.stat().st_mtime, reverse=True)
        return [path.parent.name for path in found]

    def read(self, folder: Path) -> ResultsStore:
        """See `Storage.read`."""
        return SqliteStore(folder, create=False)

    @contextmanager
    def drive(self, folder: Path, name: str, tell: Tell) -> Iterator[ResultsStore]:
        """See `Storage.drive`. The kernel ends the lock with its holder, so nothing is ever waited for."""
        folder.mkdir(parents=True, exist_ok=True)
        lock = target_lock(str(folder), name, root=folder / "lock", on_wait=_refuse_second(name))
        with lock, closing(SqliteStore(folder)) as store:
            yield store


def _refuse_second(name: str) -> Callable[[str], None]:
    def on_wait(holder: str) -> None:
        raise StudyBusy(f"one process at a time may run the study {name}, but {holder} does; `tuner status {name}`")

    return on_wait
