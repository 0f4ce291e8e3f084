"""Which storage is in force: the one that is named, else the one of the environment, else folders of this host."""

import os
from typing import Final

from tuner.storage.folders import FolderStorage
from tuner.storage.protocols import Storage
from tuner.storage.url import StorageUrl

STORAGE_VARIABLE: Final = "KAFKA_TUNER_STORAGE"


def shared_url(url: str | None = None) -> StorageUrl | None:
    """The database that is named, else the environment's; None where studies lie in folders.

    Raises:
        StorageMisnamed: It is no such address.
    """
    named = url or os.environ.get(STORAGE_VARIABLE)
    return StorageUrl.parse(named) if named else None


def storage_at(url: str | None = None) -> Storage:
    """The storage at an address; connects to nothing yet.

    Args:
        url: `postgresql://USER@HOST:PORT/DATABASE`; by default `$KAFKA_TUNER_STORAGE`, and without that the studies'
            folders on this host.

    Raises:
        StorageMisnamed: It is no such address, or the driver is not installed; the message shows no password.
    """
    parsed = shared_url(url)
    if parsed is None:
        return FolderStorage()
    # Deferred: it is an extra, which studies in folders do without.
    from tuner.storage.postgres import PostgresStorage

    return PostgresStorage(parsed)
