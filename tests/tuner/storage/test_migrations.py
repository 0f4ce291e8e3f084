"""Tests that results of earlier releases can be read and continued, and that those of newer releases are refused.

`kept/` holds a SQLite file and a PostgreSQL dump as earlier releases wrote them. They are never made anew. When the
tables change, another file and another dump are added.
"""

import contextlib
import json
import shutil
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from runners.simulated import SimulatedRunner
from tests.helpers.postgres_server import USER, PostgresServer
from tests.helpers.repository import KEPT_STUDIES
from tests.helpers.shared_storage import opened, storage_of
from tests.helpers.trials import trial
from tuner.confirmation.plan import plans_in
from tuner.execution.studies.beginning import is_finished
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.errors import ResultsDamaged, StorageUnreachable
from tuner.model.identity import study_identity
from tuner.model.progress import StudyState
from tuner.model.spec import Executor
from tuner.model.trial import TrialKind
from tuner.present.export import Format, export_all
from tuner.results.recommendations.recommend import recommendations
from tuner.results.study_results import load_results
from tuner.storage.postgres_schema import MIGRATIONS, SCHEMA_VERSION, version_of
from tuner.storage.postgres_schema import migrate as postgres_migrate
from tuner.storage.sqlite import MIGRATIONS as SQLITE_MIGRATIONS
from tuner.storage.sqlite import SqliteStore, migrate
from tuner.study_file import changed_text, parse_study

NAME = "kept"


def test_a_study_of_version_1_can_be_read_and_continued(tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT_STUDIES / "sqlite-1", tmp_path / NAME)
    results = load_results(folder)
    assert (results.name, results.finished) == ("small", True)
    (size,) = results.sizes
    assert size.record_bytes == "1000"
    assert len(size.trials) == 16
    assert size.front
    assert size.confirmations
    assert results.study_file.startswith("study: small")
    store = SqliteStore(folder, create=False)
    first = size.trials[0]
    assert store.attachment(first, "saturated")["latency"]
    with pytest.raises(ValueError, match="is there already"):
        store.append(first)
    store.append(trial(999))
    assert len(store.trials()) == 17
    store.close()


def test_kinds_of_trials_and_settings_of_a_confirmation_get_their_present_names(tmp_path: Path) -> None:
    """Commit e613d6f1 stored the study, with the kinds second-look and ablation, and with looks and ablation_rounds."""
    results = load_results(shutil.copytree(KEPT_STUDIES / "sqlite-1-all-kinds", tmp_path / NAME))
    (size,) = results.sizes
    kinds = Counter(trial.kind for trial in size.trials)
    assert (kinds[TrialKind.REPEAT], kinds[TrialKind.UNDO]) == (3, 3)
    (plan,) = plans_in(results.facts, size.record_bytes)
    spec = parse_study(results.study_file, name=NAME, folder=None, origin="study.yaml", environ={})
    for asked in (plan, spec.confirm):
        assert (asked.nominee_repeats, asked.undo_rounds) == (1, 1)
    assert is_finished(spec, results.facts), "the settings of the confirmation are still the same"
    text = changed_text(results.study_file, {"confirm": {"undo_rounds": 2}})
    changed = parse_study(text, name=NAME, folder=None, origin="study.yaml", environ={}).confirm
    assert (changed.nominee_repeats, changed.undo_rounds) == (1, 2)


def test_a_sqlite_file_runs_every_missing_migration(tmp_path: Path) -> None:
    folder = shutil.copytree(KEPT_STUDIES / "sqlite-1", tmp_path / NAME)
    path = folder / "results.db"
    later = (*SQLITE_MIGRATIONS, "ALTER TABLE trials ADD COLUMN token INTEGER DEFAULT 7; CREATE TABLE more (a TEXT)")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as db:
        with pytest.raises(sqlite3.OperationalError):
            migrate(db, path, (*later, "CREATE TABLE extra (a TEXT); THIS IS NO SQL"))
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
        assert db.execute("SELECT count(*) FROM sqlite_master WHERE name IN ('more', 'extra')").fetchone() == (0,)
        migrate(db, path, later)
        assert db.execute("SELECT count(*), min(token) FROM trials").fetchone() == (16, 7)
        migrate(db, path, later)
    with pytest.raises(ResultsDamaged, match="must have version 1 or older, but has 2: a newer release wrote it"):
        SqliteStore(folder, create=False)


class Interrupted(sqlite3.Connection):
    """A connection that raises KeyboardInterrupt after a certain statement, as Python does after Ctrl-C during it."""

    during = ""

    def execute(self, statement: str, *values: object) -> sqlite3.Cursor:
        done = super().execute(statement, *values)  # type: ignore[arg-type]
        if self.during and self.during in statement:
            self.during = ""
            raise KeyboardInterrupt
        return done


@pytest.mark.parametrize(("during", "version"), [("BEGIN", 0), ("CREATE TABLE", 0), ("COMMIT", len(SQLITE_MIGRATIONS))])
def test_ctrl_c_during_a_migration_does_not_damage_the_file(tmp_path: Path, during: str, version: int) -> None:
    path = tmp_path / "results.db"
    with contextlib.closing(sqlite3.connect(path, isolation_level=None, factory=Interrupted)) as db:
        db.during = during
        with pytest.raises(KeyboardInterrupt):
            migrate(db, path)
        assert not db.in_transaction
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
        migrate(db, path)
        assert db.execute("PRAGMA user_version").fetchone() == (len(SQLITE_MIGRATIONS),)


@pytest.mark.parametrize("version", [1])
def test_a_dump_of_an_earlier_release_is_migrated_and_continued(
    postgres: PostgresServer, database: str, tmp_path: Path, version: int
) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.load(KEPT_STUDIES / f"postgres-{version}.sql", name)
    assert postgres.execute("SELECT max(version) FROM kafka_tuner.schema_version", name) == [(version,)]
    storage = storage_of(database)
    assert storage.names(tmp_path) == [NAME]
    results = load_results(tmp_path / NAME, storage)
    assert postgres.execute("SELECT max(version) FROM kafka_tuner.schema_version", name) == [(SCHEMA_VERSION,)]
    assert (results.name, results.finished) == ("small", True)
    with closing(storage.read(tmp_path / NAME)) as store:
        told = store.progress()
    assert told is not None
    assert (told.state, told.alive) == (StudyState.FINISHED, False)
    old = load_results(shutil.copytree(KEPT_STUDIES / "sqlite-1", tmp_path / NAME))
    assert results.sizes == old.sizes
    assert results.facts == old.facts
    assert results.study_file == old.study_file
    with opened(database, tmp_path / NAME) as stores:
        store = stores.drive()
        first = results.sizes[0].trials[0]
        assert store.attachment(first, "saturated")["latency"]
        with pytest.raises(ValueError, match="is there already"):
            store.append(first)
        store.append(trial(999), {"paced": 1})
        assert len(store.trials()) == 17
        assert store.trials()[-1][1] == trial(999)


def test_migrations_are_recorded_with_number_and_release(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    with storage_of(database).drive(tmp_path / "night", "night", print):
        pass
    name = database.rpartition("/")[2].replace("%20", " ")
    rows = postgres.execute("SELECT version, about, release FROM kafka_tuner.schema_version ORDER BY version", name)
    assert [(number, about) for number, about, _ in rows] == [
        (number, about) for number, (about, _) in enumerate(MIGRATIONS, 1)
    ]
    assert all(release.startswith("kafka-tuner ") for _, _, release in rows)


def test_several_hosts_can_create_the_tables_at_the_same_time(database: str, tmp_path: Path) -> None:
    wrong: list[Exception] = []

    def make(number: int) -> None:
        try:
            with storage_of(database).drive(tmp_path / f"n{number}", "night", print) as store:
                store.append(trial(0))
        except Exception as error:  # noqa: BLE001 - asserted below
            wrong.append(error)

    threads = [threading.Thread(target=make, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert wrong == []
    assert sorted(storage_of(database).names(tmp_path)) == [f"n{number}" for number in range(6)]


class Overtaken:
    """A connection that lets another process make the tables before its second statement."""

    def __init__(self, db: Any, overtake: Callable[[], None]) -> None:
        self._db, self._overtake, self._asked = db, overtake, 0

    def execute(self, *asked: Any) -> Any:
        self._asked += 1
        if self._asked == 2:
            self._overtake()
        return self._db.execute(*asked)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._db, name)


def test_tables_that_another_host_makes_meanwhile_are_accepted(database: str) -> None:
    import psycopg

    with psycopg.connect(database, autocommit=True) as ours, psycopg.connect(database, autocommit=True) as theirs:
        overtaken: Any = Overtaken(ours, lambda: postgres_migrate(theirs, "there"))
        postgres_migrate(overtaken, "here")
        assert version_of(ours, "here") == version_of(theirs, "there") == SCHEMA_VERSION


def test_tables_that_another_process_makes_meanwhile_are_accepted(tmp_path: Path) -> None:
    path = tmp_path / "results.db"
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as ours,
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as theirs,
    ):
        overtaken: Any = Overtaken(ours, lambda: migrate(theirs, path))
        migrate(overtaken, path)
        assert ours.execute("PRAGMA user_version").fetchone() == (len(SQLITE_MIGRATIONS),)


def test_tables_of_a_newer_release_are_refused_with_advice(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    storage = storage_of(database)
    with storage.drive(tmp_path / "night", "night", print):
        pass
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.execute(f"INSERT INTO kafka_tuner.schema_version VALUES ({SCHEMA_VERSION + 1}, 'more', 'later')", name)
    message = rf"must have version {SCHEMA_VERSION} or older, but has {SCHEMA_VERSION + 1}: .*upgrade kafka-tuner"
    for use in (
        lambda: storage.read(tmp_path / "night"),
        lambda: storage.names(tmp_path),
        lambda: storage.drive(tmp_path / "night", "night", print).__enter__(),
    ):
        with pytest.raises(ResultsDamaged, match=message):
            use()


def test_another_programs_tables_are_refused_and_not_changed(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.execute("CREATE SCHEMA kafka_tuner CREATE TABLE orders (number integer)", name)
    with pytest.raises(ResultsDamaged, match="another program's tables"):
        storage_of(database).drive(tmp_path / "night", "night", print).__enter__()
    assert postgres.execute("SELECT count(*) FROM kafka_tuner.orders", name) == [(0,)]


def test_a_user_without_create_rights_can_use_an_existing_schema(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    name = database.rpartition("/")[2].replace("%20", " ")
    postgres.execute("CREATE ROLE plain LOGIN PASSWORD 'plain'", name)
    try:
        theirs = database.replace(database[: database.index("@127")], "postgresql://plain:plain")
        with pytest.raises(StorageUnreachable, match="permission denied for database"):
            storage_of(theirs).drive(tmp_path / "night", "night", print).__enter__()
        postgres.execute("CREATE SCHEMA kafka_tuner AUTHORIZATION plain", name)
        with storage_of(theirs).drive(tmp_path / "night", "night", print) as store:
            store.append(trial(0), {"paced": 1})
        postgres.execute("CREATE ROLE stranger LOGIN PASSWORD 'stranger'", name)
        with pytest.raises(StorageUnreachable, match="permission denied"):
            storage_of(theirs.replace("plain", "stranger")).read(tmp_path / "night")
    finally:
        postgres.execute("DROP ROLE IF EXISTS stranger", name)
        postgres.execute(f'REASSIGN OWNED BY plain TO "{USER}"', name)
        postgres.execute("DROP ROLE plain", name)


def test_a_study_of_an_earlier_release_is_recommended_and_continued(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The study is the quick start of commit 35028fe.

    `recommended.json` is what `tuner recommend` printed for it, with the texts and the means of today.
    """
    folder = shutil.copytree(KEPT_STUDIES / "quickstart-35028fe", tmp_path / "quickstart")
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    results = load_results(folder)
    expected = json.loads((folder / "recommended.json").read_text(encoding="utf-8"))
    assert json.loads(export_all(recommendations(results), Format.JSON)) == expected
    text = (folder / "study.yaml").read_text(encoding="utf-8")
    spec = parse_study(text, name="quickstart", folder=tmp_path, origin="study.yaml", environ={})
    assert results.facts["question"] == study_identity(spec)
    before = {size.record_bytes: size.trials for size in results.sizes}
    more = replace(
        spec, search=replace(spec.search, trials=14), confirm=replace(spec.confirm, rounds=0), executor=Executor.LOCAL
    )
    after = measure_study(more, text, folder, SilentReporter(), simulated=SimulatedRunner(0.03), mix_environments=True)
    assert "the client is simulated but was librdkafka 2.16.0" in after.mixed[0]
    for size in after.sizes:
        assert size.trials[: len(before[size.record_bytes])] == before[size.record_bytes]
        counted = [trial for trial in size.trials if trial.kind in (TrialKind.SEARCH, TrialKind.BASELINE)]
        assert len(counted) == 14
        proposals = [trial.proposal for trial in counted if trial.proposal is not None]
        assert proposals == list(range(len(proposals)))
