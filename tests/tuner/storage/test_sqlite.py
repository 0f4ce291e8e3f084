"""Tests of the SQLite store: the contract of stores, errors for damaged files, and atomic writes."""

import contextlib
import ctypes
import errno
import os
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import threading
from collections.abc import Callable, Generator, Iterator
from pathlib import Path, PosixPath
from typing import Any, Self

import pytest
from typing_extensions import override

from tests.helpers.trials import trial
from tests.tuner.storage.store_contract import Damage, Open, ResultsStoreContract
from tuner.model.errors import ResultsDamaged, ResultsUnwritable, StudyBusy, StudyNotFound
from tuner.model.progress import Progress, StudyState
from tuner.model.study_files import RESULTS_FILE, STUDY_FILE
from tuner.results.study_results import load_results
from tuner.storage.folder_files import read_progress, write_for_everybody, write_progress
from tuner.storage.protocols import ResultsStore
from tuner.storage.sqlite import MIGRATIONS, FolderStorage, SqliteStore

Reach = Callable[[Path, Path], contextlib.AbstractContextManager[None]]


class TestSqliteStore(ResultsStoreContract):
    covers = SqliteStore

    @pytest.fixture
    def reopen(self, tmp_path: Path) -> Iterator[Open]:
        opened: list[SqliteStore] = []

        def another() -> SqliteStore:
            opened.append(SqliteStore(tmp_path / "größe 1"))
            return opened[-1]

        yield another
        for store in opened:
            store.close()

    @pytest.fixture
    def store(self, reopen: Open) -> ResultsStore:
        return reopen()

    @pytest.fixture
    def damage(self, tmp_path: Path) -> Damage:
        folder = tmp_path / "größe 1"

        def replace(table: str, body: Any) -> None:
            if table == "attachments":
                for path in folder.glob("trials/*/*.json.gz"):
                    path.write_bytes(body)
            elif table == "progress":
                (folder / "progress.json").write_text(body)
            else:
                with contextlib.closing(sqlite3.connect(folder / RESULTS_FILE)) as db, db:
                    db.execute(f"UPDATE {table} SET body = ?", [body])

        return replace


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqliteStore]:
    store = SqliteStore(tmp_path)
    yield store
    store.close()


def test_looking_for_a_missing_store_does_not_create_it(tmp_path: Path) -> None:
    with pytest.raises(StudyNotFound, match=RESULTS_FILE):
        SqliteStore(tmp_path / "missing", create=False)
    with pytest.raises(StudyNotFound):
        load_results(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / RESULTS_FILE
    path.write_bytes(b"not a database " * 100)
    with pytest.raises(ResultsDamaged, match=f"{path} must be a SQLite file of kafka-tuner.*move it away"):
        SqliteStore(tmp_path)
    assert path.read_bytes() == b"not a database " * 100


def test_a_truncated_file_is_reported_as_damaged(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    for number in range(50):
        store.append(trial(number))
    store.set_fact("objectives", ["mb_per_s"])
    store.close()
    path = tmp_path / RESULTS_FILE
    path.write_bytes(path.read_bytes()[: 3 * 4096])
    with pytest.raises(ResultsDamaged, match=f"{path} must be a SQLite file of kafka-tuner"):
        load_results(tmp_path)


def test_overwritten_pages_are_reported_as_damaged_when_they_are_read(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    for number in range(50):
        store.append(trial(number))
    store.close()
    path = tmp_path / RESULTS_FILE
    pages = bytearray(path.read_bytes())
    pages[5 * 4096 : 8 * 4096] = b"\xa5" * 3 * 4096
    path.write_bytes(pages)
    store = SqliteStore(tmp_path, create=False)
    with pytest.raises(ResultsDamaged, match=f"{path} must be a SQLite file of kafka-tuner"):
        store.trials()
    store.close()


def test_a_study_file_that_is_no_text_is_named(store: SqliteStore) -> None:
    store.set_study_file("study: größer\n")
    (store.folder / STUDY_FILE).write_bytes("study: größer\n".encode("latin-1"))
    with pytest.raises(
        ResultsDamaged, match=f"{store.folder / STUDY_FILE} can't be read: it is not as kafka-tuner wrote it"
    ):
        store.study_file()


def test_the_database_of_another_program_is_refused_and_not_changed(tmp_path: Path) -> None:
    path = tmp_path / RESULTS_FILE
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        theirs.execute("CREATE TABLE orders (number INTEGER)")
        theirs.commit()
    with pytest.raises(ResultsDamaged, match="another program's tables"):
        SqliteStore(tmp_path)
    with contextlib.closing(sqlite3.connect(path)) as theirs:
        assert theirs.execute("SELECT name FROM sqlite_master").fetchall() == [("orders",)]


def test_a_store_of_a_newer_release_is_refused_with_advice(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    with sqlite3.connect(tmp_path / RESULTS_FILE) as db:
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS) + 1}")
    db.close()
    with pytest.raises(ResultsDamaged, match="but has 2: a newer release wrote it; upgrade kafka-tuner"):
        SqliteStore(tmp_path)


@contextlib.contextmanager
def by_link(folder: Path, other: Path) -> Iterator[None]:
    other.symlink_to(folder)
    yield


@contextlib.contextmanager
def by_mount(folder: Path, other: Path) -> Iterator[None]:
    other.mkdir()
    mounted = subprocess.run(["mount", "--bind", folder, other], capture_output=True, check=False, text=True)
    if mounted.returncode:
        pytest.skip(f"this user may not mount a folder: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", other], check=True)


@pytest.mark.parametrize("reached", [by_link, by_mount])
def test_a_folder_that_two_paths_lead_to_has_one_driver(tmp_path: Path, reached: Reach) -> None:
    storage, folder, other = FolderStorage(), tmp_path / "night", tmp_path / "other"
    folder.mkdir()
    with reached(folder, other):
        with (
            storage.drive(folder, "night", print),
            pytest.raises(StudyBusy, match=rf"may run the study night, but another run \(process {os.getpid()}\) does"),
            storage.drive(other, "night", print),
        ):
            pass
        with storage.drive(other, "night", print) as store:
            store.append(trial(0))


def test_a_store_without_objectives_has_no_results(store: SqliteStore, tmp_path: Path) -> None:
    store.append(trial(0))
    with pytest.raises(ResultsDamaged, match="does not say what the study optimises"):
        load_results(tmp_path)


def test_a_reader_sees_committed_data_during_a_write(store: SqliteStore, tmp_path: Path) -> None:
    store.append(trial(0))
    store._file.rows("BEGIN IMMEDIATE")
    try:
        store.set_fact("half", "done")
        reader = SqliteStore(tmp_path, create=False)
        assert [kept for _, kept in reader.trials()] == [trial(0)]
        assert reader.facts() == {}
        reader.close()
    finally:
        store._file.rows("COMMIT")
    assert store.facts() == {"half": "done"}


def test_commits_are_synced_to_disk(store: SqliteStore) -> None:
    ((synchronous,),) = store._file.rows("PRAGMA synchronous")
    ((journal,),) = store._file.rows("PRAGMA journal_mode")
    assert (synchronous, journal) == (2, "wal"), "2 is FULL: the log is synced at every commit"


def test_two_processes_read_each_others_trials(store: SqliteStore, tmp_path: Path) -> None:
    store.append(trial(0), {"saturated": [0.5]})
    program = """
        import sys
        from pathlib import Path
        from tests.helpers.trials import trial
        from tuner.storage.sqlite import SqliteStore

        store = SqliteStore(Path(sys.argv[1]), create=False)
        assert [kept for _, kept in store.trials()] == [trial(0)]
        assert store.attachment(trial(0), "saturated") == [0.5]
        store.append(trial(1), {"saturated": [1.5]})
        try:
            store.append(trial(0))
        except ValueError:
            store.set_fact("refused", True)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(tmp_path)], check=True, timeout=120)
    assert [kept for _, kept in store.trials()] == [trial(0), trial(1)]
    assert store.attachment(trial(1), "saturated") == [1.5]
    assert store.facts() == {"refused": True}


def test_a_file_is_written_atomically_and_readable_by_others(tmp_path: Path) -> None:
    path = tmp_path / "new" / "study.yaml"
    for text in (b"first", b"second"):
        write_for_everybody(path, text)
        assert path.read_bytes() == text
    assert path.stat().st_mode & 0o777 == 0o644
    assert list(path.parent.iterdir()) == [path]


def test_a_write_that_fails_leaves_the_old_file_and_no_scratch_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "study.yaml"
    write_for_everybody(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_for_everybody(path, b"new")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_and_then_the_folder_that_names_it_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced, sync = list[Path](), os.fsync

    def noting(handle: int) -> None:
        synced.append(Path(f"/proc/self/fd/{handle}").readlink())
        sync(handle)

    monkeypatch.setattr(os, "fsync", noting)
    write_for_everybody(tmp_path / "study.yaml", b"new")
    assert [path.parent for path in synced[:-1]] == [tmp_path]
    assert synced[-1] == tmp_path


def test_a_failed_rename_leaves_no_scratch_file(tmp_path: Path) -> None:
    path = tmp_path / "study.yaml"
    path.mkdir()
    with pytest.raises(OSError, match=r"study\.yaml"):
        write_for_everybody(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_the_last_progress_is_read_and_broken_files_count_as_none(tmp_path: Path) -> None:
    assert read_progress(tmp_path) is None
    told = Progress(StudyState.RUNNING, trial=2, message="größe")
    write_progress(tmp_path, Progress(StudyState.RUNNING, trial=1))
    write_progress(tmp_path, told)
    assert read_progress(tmp_path) == told
    for broken in ('{"trial": 3', '{"trial": 3}', '{"state": "asleep"}', "null"):
        (tmp_path / "progress.json").write_text(broken, encoding="utf-8")
        assert read_progress(tmp_path) is None


def test_a_trial_that_does_not_fit_on_the_disk_is_a_tuner_error_and_is_stored_later(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.append(trial(0))
    ((pages,),) = store._file.rows("PRAGMA page_count")
    store._file.rows(f"PRAGMA max_page_count = {pages}")
    told: list[str] = []
    while not told:
        try:
            store.append(trial(len(store.trials())))
        except ResultsUnwritable as error:
            told.append(str(error))
    assert "results.db can't be written: database or disk is full" in told[0]
    stored = store.trials()
    store._file.rows("PRAGMA max_page_count = 1000")
    store.append(trial(99))
    assert [kept for _, kept in store.trials()] == [*(kept for _, kept in stored), trial(99)]
    store.close()


class Losing(PosixPath):
    """A folder of studies from which a study is removed while they are listed."""

    @override
    def iterdir(self) -> Generator[Self, None, None]:
        for path in list(super().iterdir()):
            if path.name == "removed":
                (path / RESULTS_FILE).unlink()
            yield path


def test_a_study_that_is_removed_while_the_studies_are_listed_is_left_out(tmp_path: Path) -> None:
    for number, name in enumerate(("old", "removed", "new")):
        (tmp_path / name).mkdir()
        (tmp_path / name / RESULTS_FILE).touch()
        os.utime(tmp_path / name / RESULTS_FILE, (number, number))
    assert FolderStorage().names(Losing(tmp_path)) == ["new", "old"]


@pytest.fixture
def folder_of_another_user() -> Iterator[Path]:
    """A folder that everybody can enter, and in which only its owner can write."""
    with tempfile.TemporaryDirectory(prefix="k") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    """Let this thread use files no longer as root, who may do everything.

    `os.seteuid` would change all threads, by a signal that nobody can block and that ends librdkafka's mock cluster.
    """
    own, libc = os.geteuid(), ctypes.CDLL(None)
    if own == 0:
        libc.setfsuid(65534)
    try:
        yield
    finally:
        libc.setfsuid(own)


@pytest.mark.parametrize("in_use", [False, True])
def test_a_study_that_may_only_be_read_is_read(folder_of_another_user: Path, in_use: bool) -> None:
    folder = folder_of_another_user / "night"
    with contextlib.closing(SqliteStore(folder)) as owner:
        owner.append(trial(1))
        if not in_use:
            owner.close()
        for path in (*folder.iterdir(), folder):
            path.chmod(path.stat().st_mode & 0o555)
        with without_privileges(), contextlib.closing(FolderStorage().read(folder)) as reader:
            assert [each.number for _, each in reader.trials()] == [1]
            with pytest.raises(ResultsUnwritable, match=r"results\.db can't be written"):
                reader.append(trial(2))
        folder.chmod(0o755)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_study_that_may_not_be_entered_is_listed(folder_of_another_user: Path) -> None:
    folder = folder_of_another_user / "night"
    SqliteStore(folder).close()
    folder.chmod(0o700)
    with without_privileges():
        assert FolderStorage().names(folder_of_another_user) == ["night"]


def test_a_new_file_that_another_process_begins_to_write_is_waited_for(tmp_path: Path) -> None:
    with contextlib.closing(
        sqlite3.connect(tmp_path / RESULTS_FILE, isolation_level=None, check_same_thread=False)
    ) as other:
        other.execute("BEGIN IMMEDIATE")
        ending = threading.Timer(0.3, other.execute, ["ROLLBACK"])
        ending.start()
        with contextlib.closing(SqliteStore(tmp_path)) as store:
            assert store.trials() == []
        ending.join()
