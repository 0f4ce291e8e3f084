"""Studies in a PostgreSQL database, driven and read by tests."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tuner.storage.postgres import PostgresStorage
from tuner.storage.protocols import ResultsStore, Storage
from tuner.storage.url import StorageUrl

SHORT_LEASE_S = 2.0


def storage_of(url: str, *, lease_s: float = 30.0, patience_s: float = 30.0) -> PostgresStorage:
    """The storage, with less patience than in real life."""
    return PostgresStorage(StorageUrl.parse(url), lease_s=lease_s, patience_s=patience_s)


class Opened:
    """Stores of one study; closed in the end."""

    def __init__(self, storage: Storage, folder: Path, stack: ExitStack) -> None:
        self.storage, self._folder, self._stack = storage, folder, stack
        self.told: list[str] = []

    def drive(self) -> ResultsStore:
        """As the study's driver."""
        return self._stack.enter_context(self.storage.drive(self._folder, "night", self.told.append))

    def read(self) -> ResultsStore:
        """To look at it."""
        store = self.storage.read(self._folder)
        self._stack.callback(store.close)
        return store


@contextmanager
def opened(url: str, folder: Path, *, lease_s: float = 30.0, patience_s: float = 30.0) -> Iterator[Opened]:
    """Opens stores of the study in that folder, in the database at an address."""
    with ExitStack() as stack:
        yield Opened(storage_of(url, lease_s=lease_s, patience_s=patience_s), folder, stack)
