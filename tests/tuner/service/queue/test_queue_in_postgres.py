"""The queue in PostgreSQL passes the common tests, and survives crashes of the database server."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.cutting_proxy import CuttingProxy
from tests.helpers.postgres_server import PostgresServer
from tests.tuner.service.queue.queue_contract import LONG_S, JobQueueContract, Open, claimed, submission
from tuner.service.queue.job import JobState
from tuner.service.queue.job_queue import JobQueue, open_queue
from tuner.service.queue.tables import Ask, PostgresTable, SqliteTable
from tuner.storage.locations import STORAGE_VARIABLE
from tuner.storage.postgres_url import PostgresUrl


def queue_at(url: str, *, silence_s: float = 5.0) -> JobQueue:
    return JobQueue(PostgresTable(PostgresUrl.parse(url), patience_s=30.0, silence_s=silence_s))


@pytest.fixture(scope="module")
def emptied(postgres: PostgresServer) -> str:
    """Make one database for all common tests, since making one takes longer than most of these tests."""
    postgres.execute("CREATE DATABASE queue")
    queue_at(postgres.url("queue")).close()
    return "queue"


class TestPostgresQueue(JobQueueContract):
    covers = PostgresTable

    @pytest.fixture
    def reopen(self, postgres: PostgresServer, emptied: str) -> Iterator[Open]:
        postgres.execute("TRUNCATE kafka_tuner.jobs", emptied)
        opened: list[JobQueue] = []

        def make() -> JobQueue:
            opened.append(queue_at(postgres.url(emptied)))
            return opened[-1]

        yield make
        for queue in opened:
            queue.close()


@pytest.fixture
def queue(database: str) -> Iterator[JobQueue]:
    queue = queue_at(database)
    yield queue
    queue.close()


def test_the_queue_reconnects_after_the_server_was_killed(queue: JobQueue, postgres: PostgresServer) -> None:
    queue.submit(submission("first"))
    postgres.kill()
    postgres.start()
    assert claimed(queue).name == "first"
    postgres.restart()
    assert [job.name for job in queue.renew("a", lease_s=LONG_S)] == ["first"]


def test_a_change_repeated_after_a_lost_response_happens_once(database: str, postgres: PostgresServer) -> None:
    with CuttingProxy(postgres.port) as proxy:
        queue = queue_at(database.replace(f":{postgres.port}/", f":{proxy.port}/"))
        for number in range(3):
            proxy.cut_at(b"COMMIT", answered=True)
            job, new = queue.submit(submission(f"s{number}", f"t{number}"))
            assert (job.number, new) == (number + 1, True)
        name = claimed(queue).name
        proxy.cut_at(b"COMMIT", answered=True)
        assert queue.move(name, JobState.COMPLETE, owner="a", note="done").state is JobState.COMPLETE
        assert proxy.cuts == 4
        assert queue.counts() == {JobState.COMPLETE: 1, JobState.QUEUED: 2}
        queue.close()


def test_jobs_of_an_earlier_release_continue(queue: JobQueue, database: str, postgres: PostgresServer) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.execute(
        """
        INSERT INTO kafka_tuner.jobs
            (number, name, digest, study_file, targets, submitted_by, state, owner, submitted_at, changed_at,
            lease_until)
        VALUES
            (1, 'runs', 'd', 'x', '{lab,other}', 'ci', 'running', 'a', '2026-03-01 20:00:00.762+2', now(), 'infinity'),
            (2, 'left', 'd', 'x', '{"far, far"}', 'ci', 'cancelling', 'dead', now(), now(), now()),
            (3, 'waits', 'd', 'x', '{other}', 'ci', 'queued', '', now(), now(), '-infinity'),
            (4, 'again', 'd', 'x', '{near}', 'ci', 'queued', '', now(), now(), '-infinity')
        """,
        name,
    )
    runs = queue.find("runs")
    assert (runs.targets, runs.submitted_at) == (("lab", "other"), "2026-03-01T18:00:00.762+00:00")
    left = claimed(queue, "b")
    assert (left.name, left.state, left.targets) == ("left", JobState.CANCELLING, ("far, far",))
    assert claimed(queue, "b").name == "again"
    assert queue.claim("b", at_once=1, lease_s=LONG_S) is None
    job, new = queue.submit(submission("later", "größe", 'a "b"'))
    assert (job.number, new, job.targets) == (5, True, ("größe", 'a "b"'))
    written = "SELECT targets, not_before = '-infinity' FROM kafka_tuner.jobs WHERE number = 5"
    assert postgres.execute(written, name) == [(["größe", 'a "b"'], True)]


def test_a_service_that_stalls_in_a_change_is_disconnected(database: str, postgres: PostgresServer) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
    with closing(queue_at(database, silence_s=1.0)) as paused, closing(queue_at(database)) as other:
        attempts: list[bool] = []

        def stall(ask: Ask, again: bool) -> list[Any]:
            attempts.append(again)
            if not again:
                ask("UPDATE kafka_tuner.jobs SET note = 'half'")
                assert claimed(other, "b").name == "first"
                assert postgres.execute(sessions, name) == [(0,)]
            return ask("SELECT note, owner FROM kafka_tuner.jobs")

        other.submit(submission("first"))
        assert paused._table.change(stall) == [("", "b")]
        assert attempts == [False, True]


def test_the_queue_is_in_the_storage_of_the_studies(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_queue(tmp_path)) as queue:
        assert isinstance(queue._table, SqliteTable)
    monkeypatch.setenv(STORAGE_VARIABLE, database)
    with closing(open_queue(tmp_path)) as queue:
        assert isinstance(queue._table, PostgresTable)
        queue.submit(submission("first"))
