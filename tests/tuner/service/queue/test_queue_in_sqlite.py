"""The queue in a SQLite file."""

import contextlib
import resource
import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.tuner.service.queue.queue_contract import LONG_S, JobQueueContract, Open, claimed, submission
from tuner.model.errors import ResultsDamaged, ResultsUnwritable
from tuner.model.study_files import QUEUE_FILE
from tuner.service.queue.job import JobState, Task
from tuner.service.queue.job_queue import JobQueue
from tuner.service.queue.tables import Ask, SqliteTable

KEPT = Path(__file__).parent / "kept"


class TestSqliteQueue(JobQueueContract):
    covers = SqliteTable

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Open]:
        opened: list[JobQueue] = []

        def make() -> JobQueue:
            opened.append(JobQueue(SqliteTable(tmp_path)))
            return opened[-1]

        yield make
        for queue in opened:
            queue.close()


def test_a_queue_of_an_earlier_release_continues(tmp_path: Path) -> None:
    """`kept/queue-1.sql` is the `iterdump` of a queue that a release wrote. Never regenerate it."""
    with contextlib.closing(sqlite3.connect(tmp_path / QUEUE_FILE)) as db:
        db.executescript((KEPT / "queue-1.sql").read_text(encoding="utf-8"))
    with contextlib.closing(JobQueue(SqliteTable(tmp_path))) as queue:
        done = queue.find("done")
        assert (done.number, done.state, done.owner) == (1, JobState.COMPLETE, "old")
        assert done.task == Task(), "earlier releases could only run studies"
        assert done.submitted_at == "2026-11-23T08:00:56.762+00:00"
        assert queue.study_file("done") == "study: done\n# größer\n"
        assert queue.find("runs").targets == ("lab", "other")
        assert claimed(queue, "b").name == "left", "the lease of this study has run out"
        assert claimed(queue, "b").name == "again", "earlier studies occupy their targets"
        assert queue.claim("b", at_once=1, lease_s=LONG_S) is None
        assert [job.name for job in queue.renew("old", lease_s=LONG_S)] == ["runs"]
        assert queue.find("off").note == "by ann"
        job, new = queue.submit(submission("later"))
        assert (job.number, new) == (7, True)


def test_a_newer_queue_is_refused(tmp_path: Path) -> None:
    JobQueue(SqliteTable(tmp_path)).close()
    with sqlite3.connect(tmp_path / QUEUE_FILE) as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(ResultsDamaged, match="newer release"):
        JobQueue(SqliteTable(tmp_path))


def test_a_file_that_is_no_queue_is_refused(tmp_path: Path) -> None:
    (tmp_path / QUEUE_FILE).write_text("these are not rows" * 100)
    with pytest.raises(ResultsDamaged, match=QUEUE_FILE):
        JobQueue(SqliteTable(tmp_path))


def test_a_change_that_fails_half_way_is_rolled_back(tmp_path: Path) -> None:
    queue = JobQueue(SqliteTable(tmp_path))
    queue.submit(submission("first"))

    def half(ask: Ask, _: bool) -> None:
        ask("DELETE FROM jobs")
        raise RuntimeError

    with pytest.raises(RuntimeError):
        queue._table.change(half)
    assert len(queue.jobs()) == 1
    queue.close()


def test_a_change_that_the_disk_refuses_at_its_end_is_a_tuner_error(tmp_path: Path) -> None:
    with contextlib.closing(JobQueue(SqliteTable(tmp_path))) as queue:
        queue.submit(submission("first"))
        most, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        # Only the end of a transaction writes to the file of the log.
        resource.setrlimit(resource.RLIMIT_FSIZE, ((tmp_path / f"{QUEUE_FILE}-wal").stat().st_size, hard))
        try:
            with pytest.raises(ResultsUnwritable, match=f"{QUEUE_FILE} can't be written: "):
                queue.submit(submission("second"))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most, hard))
        assert queue.names() == {"first"}
        assert queue.submit(submission("second"))[1]


def test_a_queue_that_another_process_keeps_locked_is_a_tuner_error(tmp_path: Path) -> None:
    with contextlib.closing(JobQueue(SqliteTable(tmp_path))) as queue:
        queue._table.rows("PRAGMA busy_timeout = 0")
        with contextlib.closing(sqlite3.connect(tmp_path / QUEUE_FILE, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(ResultsUnwritable, match=f"another process has kept .*{QUEUE_FILE} locked for"):
                queue.submit(submission("first"))
        assert queue.submit(submission("first"))[1]
