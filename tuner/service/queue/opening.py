"""Which queue the service has: beside its studies, or where these are recorded."""

from pathlib import Path

from tuner.service.queue.protocol import JobQueue
from tuner.service.queue.sqlite_queue import SqliteQueue
from tuner.storage.chosen import shared_url


def open_queue(root: Path) -> JobQueue:
    """The queue of the service whose studies lie below `root`.

    Raises:
        QueueDamaged: It can't be read, or a newer release wrote it.
        StorageUnreachable: The database does not answer.
        RecordDamaged: The database's tables are of a newer release.
    """
    shared = shared_url()
    if shared is None:
        return SqliteQueue(root)
    # Deferred: its driver is an extra, which a service of one host does without.
    from tuner.service.queue.pg_queue import PostgresQueue

    return PostgresQueue(shared)
