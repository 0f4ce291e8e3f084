"""Helpers for tests that write and read studies in a PostgreSQL database."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tuner.storage.postgres import PostgresStorage
from tuner.storage.postgres_url import PostgresUrl
from tuner.storage.protocols import ResultsStore, Storage

SHORT_LEASE_S = 2.0


def storage_of(url: str, *, lease_s: float = 30.0, patience_s: float = 30.0) -> PostgresStorage:
    """Return the storage at an address, with less patience than in production."""
    return PostgresStorage(PostgresUrl.parse(url), lease_s=lease_s, patience_s=patience_s)


class Opened:
    """Opens stores of one study, which are closed with the stack."""

    def __init__(self, storage: Storage, folder: Path, stack: ExitStack) -> None:
        self.storage, self._folder, self._stack = storage, folder, stack
        self.told: list[str] = []

    def drive(self) -> ResultsStore:
        """Open a store as the study's driver."""
        return self._stack.enter_context(self.storage.drive(self._folder, "night", self.told.append))

    def read(self) -> ResultsStore:
        """Open a store for reading."""
        store = self.storage.read(self._folder)
        self._stack.callback(store.close)
        return store


@contextmanager
def opened(url: str, folder: Path, *, lease_s: float = 30.0, patience_s: float = 30.0) -> Iterator[Opened]:
    """Yield an opener for stores of the study with this folder, in the database at an address."""
    with ExitStack() as stack:
        yield Opened(storage_of(url, lease_s=lease_s, patience_s=patience_s), folder, stack)
