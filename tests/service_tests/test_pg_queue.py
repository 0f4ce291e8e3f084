"""The queue in PostgreSQL keeps to the same contract, and outlives its server."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.postgres_server import PostgresServer
from tests.service_tests.queue_contract import LONG_S, JobQueueContract, Open, claimed, submission
from tests.storage_tests.cutting_proxy import CuttingProxy
from tuner.service.queue.job import JobState
from tuner.service.queue.opening import open_queue
from tuner.service.queue.pg_queue import PostgresQueue
from tuner.service.queue.protocol import JobQueue
from tuner.service.queue.sqlite_queue import SqliteQueue
from tuner.storage.chosen import STORAGE_VARIABLE
from tuner.storage.url import StorageUrl


@pytest.fixture(scope="module")
def emptied(postgres: PostgresServer) -> str:
    """Name of a database for all tests of the contract: making one takes longer than most of them."""
    postgres.execute("CREATE DATABASE queue")
    PostgresQueue(StorageUrl.parse(postgres.url("queue"))).close()
    return "queue"


class TestPostgresQueue(JobQueueContract):
    covers = PostgresQueue

    @pytest.fixture
    def reopen(self, postgres: PostgresServer, emptied: str) -> Iterator[Open]:
        postgres.execute("TRUNCATE kafka_tuner.jobs", emptied)
        opened: list[JobQueue] = []

        def make() -> JobQueue:
            opened.append(PostgresQueue(StorageUrl.parse(postgres.url(emptied))))
            return opened[-1]

        yield make
        for queue in opened:
            queue.close()


@pytest.fixture
def queue(database: str) -> Iterator[PostgresQueue]:
    queue = PostgresQueue(StorageUrl.parse(database))
    yield queue
    queue.close()


def test_a_server_that_was_killed_is_not_noticed(queue: PostgresQueue, postgres: PostgresServer) -> None:
    queue.submit(submission("first"))
    postgres.kill()
    postgres.start()
    assert claimed(queue).name == "first"
    postgres.restart()
    assert [job.name for job in queue.renew("a", lease_s=LONG_S)] == ["first"]


def test_what_was_asked_twice_as_its_answer_was_lost_happens_once(database: str, postgres: PostgresServer) -> None:
    with CuttingProxy(postgres.port) as proxy:
        queue = PostgresQueue(StorageUrl.parse(database.replace(f":{postgres.port}/", f":{proxy.port}/")))
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


def test_a_service_has_its_queue_where_its_studies_are_recorded(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(open_queue(tmp_path)) as queue:
        assert isinstance(queue, SqliteQueue)
    monkeypatch.setenv(STORAGE_VARIABLE, database)
    with closing(open_queue(tmp_path)) as queue:
        assert isinstance(queue, PostgresQueue)
        queue.submit(submission("first"))
