"""The queue in a file."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.service_tests.queue_contract import JobQueueContract, Open, submission
from tuner.service.errors import QueueDamaged
from tuner.service.queue.protocol import JobQueue
from tuner.service.queue.sqlite_queue import QUEUE_FILE, SqliteQueue


class TestSqliteQueue(JobQueueContract):
    covers = SqliteQueue

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Open]:
        opened: list[JobQueue] = []

        def make() -> JobQueue:
            opened.append(SqliteQueue(tmp_path))
            return opened[-1]

        yield make
        for queue in opened:
            queue.close()


def test_a_newer_queue_is_refused(tmp_path: Path) -> None:
    SqliteQueue(tmp_path).close()
    with sqlite3.connect(tmp_path / QUEUE_FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(QueueDamaged, match="newer release"):
        SqliteQueue(tmp_path)


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / QUEUE_FILE).write_text("these are not rows" * 100)
    with pytest.raises(QueueDamaged, match=QUEUE_FILE):
        SqliteQueue(tmp_path)


def test_what_fails_half_way_leaves_nothing(tmp_path: Path) -> None:
    queue = SqliteQueue(tmp_path)
    queue.submit(submission("first"))

    def half() -> None:
        with queue._transaction():
            queue._db.execute("DELETE FROM jobs")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        half()
    assert len(queue.jobs()) == 1
    queue.close()
