"""Tests of the PostgreSQL store: the contract of stores, leases of several hosts, and outages of the server."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.helpers.cutting_proxy import CuttingProxy
from tests.helpers.postgres_server import PASSWORD, PostgresServer
from tests.helpers.shared_storage import SHORT_LEASE_S, Opened, opened, storage_of
from tests.helpers.trials import trial
from tests.helpers.waiting import eventually
from tests.tuner.storage.store_contract import Damage, Open, ResultsStoreContract
from tuner.model.errors import StorageUnreachable, StudyBusy, StudyNotFound, StudyTakenOver
from tuner.model.progress import Progress, StudyState
from tuner.model.study_files import RECOMMENDED, REPORT_FILE, SERVICE_FILES, STUDY_FILE
from tuner.storage.locations import ROOT_VARIABLE, find_study
from tuner.storage.postgres import PostgresStore
from tuner.storage.protocols import ResultsStore
from tuner.storage.sqlite import SqliteStore

pytestmark = pytest.mark.campaign


@pytest.fixture
def night(database: str, tmp_path: Path) -> Iterator[Opened]:
    with opened(database, tmp_path / "night") as stores:
        yield stores


@pytest.fixture
def hasty(database: str, tmp_path: Path) -> Iterator[Opened]:
    """Open a study whose leases end within two seconds."""
    with opened(database, tmp_path / "night", lease_s=SHORT_LEASE_S) as stores:
        yield stores


class TestPostgresStore(ResultsStoreContract):
    covers = PostgresStore

    @pytest.fixture
    def store(self, night: Opened) -> ResultsStore:
        return night.drive()

    @pytest.fixture
    def reopen(self, night: Opened, store: ResultsStore) -> Open:
        return night.read

    @pytest.fixture
    def damage(self, database: str) -> Damage:
        def replace(table: str, body: Any) -> None:
            with psycopg.connect(database) as db:
                db.execute(f"UPDATE kafka_tuner.{table} SET body = %s".encode(), [body])

        return replace


def test_looking_for_a_missing_study_does_not_create_it(night: Opened, tmp_path: Path) -> None:
    missing = r"there is no study night in postgresql://tester:\*\*\*@"
    with pytest.raises(StudyNotFound, match=missing):
        night.read()
    assert night.storage.names(tmp_path) == []
    with night.storage.drive(tmp_path / "other", "other", print):
        pass
    assert night.storage.names(tmp_path) == ["other"]
    with pytest.raises(StudyNotFound, match=missing):
        night.read()


def test_studies_are_found_by_name_folder_or_file_and_listed_by_age(
    night: Opened, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    for name in ("first", "v1.2", "first"):
        with night.storage.drive(tmp_path / name, name, print):
            pass
    assert night.storage.names(tmp_path) == ["first", "v1.2"]
    for given in ("first", "studies/first", "files/first.yaml"):
        assert find_study(given, night.storage) == tmp_path / "first"
    assert night.storage.find("v1.2", tmp_path) == tmp_path / "v1.2"
    assert night.storage.find("v1", tmp_path) is None
    with pytest.raises(StudyNotFound, match=r"did you mean first\?"):
        find_study("first.2", night.storage)
    names = ("first", "first.2", "v1.2", "v1")
    assert [night.storage.has(tmp_path / name) for name in names] == [True, False, True, False]


def test_studies_in_one_database_are_separate(night: Opened, tmp_path: Path) -> None:
    one = night.drive()
    with night.storage.drive(tmp_path / "other", "other", print) as other:
        for store, number in ((one, 1.0), (other, 2.0)):
            store.append(trial(0, number), {"paced": number})
            store.set_fact("name", number)
            store.set_study_file(str(number))
        assert [kept for _, kept in one.trials()] == [trial(0, 1.0)]
        assert [kept for _, kept in other.trials()] == [trial(0, 2.0)]
        assert (one.facts(), other.facts()) == ({"name": 1.0}, {"name": 2.0})
        assert (one.study_file(), other.study_file()) == ("1.0", "2.0")
        assert (one.attachment(trial(0), "paced"), other.attachment(trial(0), "paced")) == (1.0, 2.0)


@pytest.mark.parametrize("others", [(), ("dump.sql",), ("study.yaml",)])
def test_only_what_the_tuner_has_made_is_removed_with_a_study(
    night: Opened, tmp_path: Path, others: tuple[str, ...]
) -> None:
    folder = tmp_path / "night"
    store = night.drive()
    store.set_study_file("study: night\n")
    store.close()
    (folder / RECOMMENDED / "1000").mkdir(parents=True)
    (folder / "ray").mkdir()
    for name in (REPORT_FILE, f"{RECOMMENDED}/1000/latency.json", "ray/ray-token", *SERVICE_FILES):
        (folder / name).touch()
    (folder / STUDY_FILE).write_text("study: night\n")
    for name in others:
        (folder / name).write_text("not ours")
    night.storage.remove(folder, "night", print)
    assert night.storage.names(tmp_path) == []
    assert folder.exists() is bool(others)
    assert [path.name for path in folder.glob("*")] == [*others]


def test_a_study_that_is_removed_while_another_process_waits_for_it_is_missing(
    hasty: Opened, database: str, tmp_path: Path
) -> None:
    hasty.drive()

    def removed_meanwhile(_: str) -> None:
        with psycopg.connect(database) as db:
            db.execute("DELETE FROM kafka_tuner.studies")

    with pytest.raises(StudyNotFound, match="there is no study night any more: another process has removed it"):
        hasty.storage.remove(tmp_path / "night", "night", removed_meanwhile)


def test_a_reader_of_a_study_that_is_removed_finds_nothing(night: Opened, tmp_path: Path) -> None:
    store = night.drive()
    store.set_study_file("study: night\n")
    store.set_fact("a", 1)
    store.close()
    reader = night.read()
    assert (reader.study_file(), reader.facts()) == ("study: night\n", {"a": 1})
    night.storage.remove(tmp_path / "night", "night", print)
    assert (reader.study_file(), reader.facts(), reader.trials(), reader.progress()) == ("", {}, [], None)


def test_a_reader_cannot_write(night: Opened) -> None:
    night.drive()
    reader = night.read()
    writes: list[Callable[[], None]] = [
        lambda: reader.append(trial(0)),
        lambda: reader.set_fact("a", 1),
        lambda: reader.set_study_file("a"),
        lambda: reader.set_progress(Progress(StudyState.RUNNING)),
    ]
    for write in writes:
        with pytest.raises(StudyBusy, match="it was opened for reading here"):
            write()
    assert reader.trials() == []


def test_a_second_driver_is_refused_while_the_first_renews_its_lease(hasty: Opened) -> None:
    first = hasty.drive()
    with pytest.raises(StudyBusy, match=r"one process at a time may run the study night, but .* \(process \d+\) does"):
        hasty.drive()
    assert "if that process has died, the study is free in" in hasty.told[0]
    first.append(trial(0))


def test_the_next_driver_can_start_as_soon_as_one_ends(night: Opened) -> None:
    for number in range(3):
        store = night.drive()
        store.append(trial(number))
        store.close()
    assert night.told == []
    assert len(night.read().trials()) == 3


def frozen(store: ResultsStore) -> None:
    """Stop a driver from renewing its lease, as if its host were paused or cut off."""
    assert isinstance(store, PostgresStore)
    assert store._lease is not None
    store._lease._renew = lambda: True  # type: ignore[method-assign]


def test_a_driver_whose_lease_has_ended_is_replaced_and_cannot_write(hasty: Opened) -> None:
    first = hasty.drive()
    first.append(trial(0), {"paced": 1})
    frozen(first)
    second = hasty.drive()
    second.append(trial(1))
    writes: list[Callable[[], None]] = [
        lambda: first.append(trial(2), {"paced": 2}),
        lambda: first.set_fact("finished_at", "now"),
        lambda: first.set_study_file("stale"),
    ]
    for write in writes:
        with pytest.raises(StudyTakenOver, match=r"another process has taken it over.*tuner studies"):
            write()
    first.close()  # releases a lease that it no longer holds, which must change nothing
    second.append(trial(2))
    second.set_fact("name", "night")
    assert [kept.number for _, kept in second.trials()] == [0, 1, 2]
    assert second.attachment(trial(2), "paced") is None
    assert second.facts() == {"name": "night"}
    assert second.study_file() == ""


def test_a_replaced_driver_learns_it_when_it_writes_progress(hasty: Opened) -> None:
    first = hasty.drive()
    frozen(first)
    second = hasty.drive()
    second.set_progress(Progress(StudyState.RUNNING, trial=7))
    assert isinstance(first, PostgresStore)
    assert first._lease is not None
    lease = first._lease

    def learns() -> bool:
        lease.tell(Progress(StudyState.RUNNING, trial=1))
        return lease.lost

    eventually(learns)
    with pytest.raises(StudyTakenOver):
        first.set_progress(Progress(StudyState.RUNNING, trial=1))
    second.close()
    assert hasty.read().progress() == Progress(StudyState.RUNNING, trial=7, alive=False)


def test_a_study_is_not_taken_over_during_a_transaction(hasty: Opened, database: str, tmp_path: Path) -> None:
    import psycopg

    first = hasty.drive()
    frozen(first)
    with psycopg.connect(database) as slow:
        slow.execute("SELECT 1 FROM kafka_tuner.leases FOR SHARE")  # like an append whose host hangs before the commit
        taken = threading.Event()

        def take() -> None:
            with hasty.storage.drive(tmp_path / "night", "night", print):
                taken.set()

        thread = threading.Thread(target=take)
        thread.start()
        assert not taken.wait(2 * SHORT_LEASE_S), "the study was taken over during a write"
        slow.rollback()
        assert taken.wait(30)
        thread.join(30)


def test_a_killed_driver_is_replaced_by_another_process(database: str, tmp_path: Path) -> None:
    program = """
        import os, signal, sys
        from pathlib import Path
        from tests.helpers.shared_storage import SHORT_LEASE_S, storage_of
        from tests.helpers.trials import trial

        with storage_of(sys.argv[1], lease_s=SHORT_LEASE_S).drive(Path(sys.argv[2]), "night", print) as store:
            store.append(trial(0), {"paced": [0.5]})
            os.kill(os.getpid(), signal.SIGKILL)
    """
    words = [sys.executable, "-c", textwrap.dedent(program), database, str(tmp_path / "elsewhere" / "night")]
    assert subprocess.run(words, timeout=120, check=False).returncode == -9
    with opened(database, tmp_path / "night", lease_s=SHORT_LEASE_S) as stores:
        store = stores.drive()
        assert [kept for _, kept in store.trials()] == [trial(0)]
        assert store.attachment(trial(0), "paced") == [0.5]
        store.append(trial(1))


def test_the_lease_tells_whether_a_driver_is_alive(hasty: Opened) -> None:
    driver = hasty.drive()
    driver.set_progress(Progress(StudyState.RUNNING))
    reader = hasty.read()
    eventually(lambda: reader.progress() == Progress(StudyState.RUNNING, alive=True))
    frozen(driver)
    eventually(lambda: reader.progress() == Progress(StudyState.RUNNING, alive=False))


def test_a_restart_of_the_server_between_statements_is_not_noticed(night: Opened, postgres: PostgresServer) -> None:
    store = night.drive()
    store.append(trial(0))
    reader = night.read()
    postgres.restart()
    store.append(trial(1), {"paced": 1})
    postgres.kill()
    postgres.start()
    store.set_fact("name", "night")
    assert [kept.number for _, kept in reader.trials()] == [0, 1]
    assert reader.attachment(trial(1), "paced") == 1
    assert reader.facts() == {"name": "night"}


def test_a_trial_is_stored_after_a_short_outage_of_the_server(night: Opened, postgres: PostgresServer) -> None:
    store = night.drive()
    postgres.kill()
    keeping = threading.Thread(target=store.append, args=(trial(0), {"paced": 1}))
    keeping.start()
    # No fixed time: when the user is told depends on when an attempt fails.
    eventually(lambda: night.told)
    postgres.start()
    keeping.join(60)
    assert [kept for _, kept in store.trials()] == [trial(0)]
    assert "does not answer: " in night.told[0]
    assert "nothing is lost" in night.told[0]
    assert PASSWORD not in night.told[0]


def test_a_long_outage_is_an_error_and_the_study_can_continue_later(
    database: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    with opened(database, tmp_path / "night", patience_s=0.5) as stores:
        store = stores.drive()
        store.append(trial(0))
        postgres.end()
        try:
            with pytest.raises(StorageUnreachable, match=r"the storage at postgresql://tester:\*\*\*@127.0.0.1:\d+/"):
                store.append(trial(1))
        finally:
            postgres.start()
        store.append(trial(1))
        assert [kept.number for _, kept in store.trials()] == [0, 1]


def ends(work: Callable[[], object]) -> bool:
    """Return whether the work ends, in a thread of its own, so that a test does not hang if it does not."""
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(60)
    return not thread.is_alive()


@pytest.mark.long
def test_a_driver_ends_while_the_server_stands_still(hasty: Opened, postgres: PostgresServer) -> None:
    driver, reader = hasty.drive(), hasty.read()
    driver.append(trial(0))
    driver.set_progress(Progress(StudyState.RUNNING))
    eventually(reader.progress)  # until then, the lease's connection is not open
    with postgres.standing_still():
        driver.set_progress(Progress(StudyState.INTERRUPTED))
        assert ends(driver.close)
        assert ends(reader.close)


def test_a_write_to_a_server_that_stands_still_is_an_error(
    database: str, postgres: PostgresServer, tmp_path: Path
) -> None:
    with opened(database, tmp_path / "night", patience_s=0.5) as stores:
        store, raised = stores.drive(), list[Exception]()

        def write() -> None:
            try:
                store.append(trial(1))
            except StorageUnreachable as error:
                raised.append(error)

        store.append(trial(0))
        with postgres.standing_still():
            assert ends(write)
        assert "no answer came within" in str(raised[0])
        store.append(trial(2))
        assert {0, 2} <= {kept.number for _, kept in store.trials()}


def test_a_transaction_of_a_driver_that_stands_still_ends(night: Opened) -> None:
    store = night.drive()
    assert isinstance(store, PostgresStore)
    assert store._connection.rows("SHOW idle_in_transaction_session_timeout") == [("30s",)]


@pytest.mark.parametrize("cut", ["before", "after"])
def test_a_commit_whose_answer_is_lost_stores_the_trial_once(
    postgres: PostgresServer, database: str, tmp_path: Path, cut: str
) -> None:
    with CuttingProxy(postgres.port) as proxy, opened(database, tmp_path / "night") as direct:
        with opened(database.replace(f":{postgres.port}/", f":{proxy.port}/"), tmp_path / "night") as stores:
            store = stores.drive()
            for number in range(5):
                proxy.cut_at(b"COMMIT", answered=cut == "after")
                store.append(trial(number), {"paced": number})
                assert proxy.cuts == number + 1
            with pytest.raises(ValueError, match="1000/0003 is there already"):
                store.append(trial(3), {"paced": 99})
        reader = direct.read()
        assert [kept for _, kept in reader.trials()] == [trial(number) for number in range(5)]
        assert [reader.attachment(trial(number), "paced") for number in range(5)] == list(range(5))


def test_a_lease_is_ours_even_if_the_servers_answer_is_lost(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    with opened(database, tmp_path / "night") as direct:
        direct.drive().close()
        with CuttingProxy(postgres.port) as proxy:
            proxy.cut_at(b"INSERT INTO kafka_tuner.leases", answered=True)
            with opened(database.replace(f":{postgres.port}/", f":{proxy.port}/"), tmp_path / "night") as stores:
                store = stores.drive()
                store.append(trial(0))
                assert proxy.cuts == 1
                assert stores.told == []


def test_both_kinds_of_store_return_the_same_results(night: Opened, tmp_path: Path) -> None:
    local, shared = SqliteStore(tmp_path / "local"), night.drive()
    for store in (local, shared):
        for number in (3, 1, 2):
            store.append(trial(number), {"paced": {"n": number}})
        store.set_fact("name", "night")
    assert [kept for _, kept in local.trials()] == [kept for _, kept in shared.trials()]
    assert local.facts() == shared.facts()
    local.close()


def test_a_wrong_password_fails_immediately_and_is_not_shown(postgres: PostgresServer, tmp_path: Path) -> None:
    storage = storage_of(postgres.url(password="wr/ong@secret"))
    with pytest.raises(StorageUnreachable, match="password authentication failed") as raised:
        storage.read(tmp_path / "night")
    assert "wr/ong" not in str(raised.value)
    assert "secret" not in str(raised.value)


def test_the_password_may_come_from_libpqs_usual_places(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    without = database.replace(database[database.index(":", 13) : database.index("@127")], "")
    assert PASSWORD not in without
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    assert storage_of(without).names(tmp_path) == []
    monkeypatch.delenv("PGPASSWORD")
    file = tmp_path / "pgpass"
    escaped = PASSWORD.replace("\\", "\\\\").replace(":", "\\:")
    file.write_text(f"127.0.0.1:*:*:tester:{escaped}\n", encoding="utf-8")
    file.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(file))
    assert storage_of(without).names(tmp_path) == []


def test_commits_are_synchronous_whatever_the_database_setting(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.execute(f'ALTER DATABASE "{name}" SET synchronous_commit = off')
    with opened(database, tmp_path / "night") as stores:
        store = stores.drive()
        assert isinstance(store, PostgresStore)
        assert store._connection.rows("SHOW synchronous_commit") == [("on",)]
