"""The tables in PostgreSQL, and the migrations between their versions."""

from collections.abc import Sequence
from typing import Final

from tuner.model.errors import ResultsDamaged
from tuner.model.version import version
from tuner.storage.postgres_connection import Db

SCHEMA: Final = "kafka_tuner"
_LOCK: Final = 0x6B61666B61  # an arbitrary number that other programs are unlikely to lock


MIGRATIONS: Final = (
    (
        "studies, their trials and facts",
        """
        CREATE TABLE kafka_tuner.studies (
            id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
            name text NOT NULL UNIQUE,
            created_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            study_file text NOT NULL DEFAULT ''
        );
        CREATE TABLE kafka_tuner.trials (
            sequence bigint GENERATED ALWAYS AS IDENTITY,
            study integer NOT NULL REFERENCES kafka_tuner.studies ON DELETE CASCADE,
            record_bytes text NOT NULL,
            number integer NOT NULL,
            kept_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            body text NOT NULL,
            PRIMARY KEY (study, sequence),
            UNIQUE (study, record_bytes, number)
        );
        CREATE TABLE kafka_tuner.attachments (
            study integer NOT NULL,
            record_bytes text NOT NULL,
            number integer NOT NULL,
            name text NOT NULL,
            body bytea NOT NULL,
            PRIMARY KEY (study, record_bytes, number, name),
            FOREIGN KEY (study, record_bytes, number)
                REFERENCES kafka_tuner.trials (study, record_bytes, number) ON DELETE CASCADE
        );
        ALTER TABLE kafka_tuner.attachments ALTER COLUMN body SET STORAGE EXTERNAL;
        CREATE TABLE kafka_tuner.facts (
            study integer NOT NULL REFERENCES kafka_tuner.studies ON DELETE CASCADE,
            name text NOT NULL,
            body text NOT NULL,
            PRIMARY KEY (study, name)
        );
        CREATE TABLE kafka_tuner.progress (
            study integer PRIMARY KEY REFERENCES kafka_tuner.studies ON DELETE CASCADE,
            told_at timestamptz NOT NULL DEFAULT clock_timestamp(),
            body text NOT NULL
        );
        """,
    ),
    (
        "leases: one driver at a time, on all hosts",
        """
        CREATE TABLE kafka_tuner.leases (
            study integer PRIMARY KEY REFERENCES kafka_tuner.studies ON DELETE CASCADE,
            token bigint NOT NULL,
            owner text NOT NULL,
            nonce text NOT NULL,
            taken_at timestamptz NOT NULL,
            renewed_at timestamptz NOT NULL,
            expires_at timestamptz NOT NULL
        );
        ALTER TABLE kafka_tuner.trials ADD COLUMN token bigint NOT NULL DEFAULT 0;
        """,
    ),
    (
        "jobs: the service's queue",
        """
        CREATE TABLE kafka_tuner.jobs (
            number bigint PRIMARY KEY,
            name text NOT NULL UNIQUE,
            digest text NOT NULL,
            study_file text NOT NULL,
            targets text[] NOT NULL,
            submitted_by text NOT NULL,
            state text NOT NULL,
            owner text NOT NULL DEFAULT '',
            crashes integer NOT NULL DEFAULT 0,
            note text NOT NULL DEFAULT '',
            submitted_at timestamptz NOT NULL,
            changed_at timestamptz NOT NULL,
            lease_until timestamptz NOT NULL DEFAULT '-infinity',
            not_before timestamptz NOT NULL DEFAULT '-infinity'
        );
        CREATE INDEX jobs_by_state ON kafka_tuner.jobs (state, number);
        """,
    ),
    (
        "tasks: what the process of a job does besides running its study",
        "ALTER TABLE kafka_tuner.jobs ADD COLUMN task text NOT NULL DEFAULT ''",
    ),
)
"""The migrations from each version of the tables to the next: a description, and the SQL that runs in one transaction.

A released migration is never changed. A later migration corrects its mistakes.
"""
SCHEMA_VERSION: Final = len(MIGRATIONS)


def version_of(db: Db, where: str, newest: int = SCHEMA_VERSION) -> int:
    """Return the version of kafka-tuner's tables in the database; 0 if there are no tables.

    Raises:
        ResultsDamaged: A newer release or another program made the tables.
    """
    # We count the tables first. So tables that another host of ours makes after this query are not taken for those of
    # another program.
    ((others,),) = db.execute("SELECT count(*) FROM pg_tables WHERE schemaname = %s", [SCHEMA]).fetchall()
    ((is_ours,),) = db.execute("SELECT to_regclass('kafka_tuner.schema_version') IS NOT NULL").fetchall()
    if not is_ours:
        if others:
            raise ResultsDamaged(
                f"the schema {SCHEMA} at {where} must be empty or kafka-tuner's own, but has another program's tables"
            )
        return 0
    ((current,),) = db.execute("SELECT coalesce(max(version), 0) FROM kafka_tuner.schema_version").fetchall()
    if current > newest:
        raise ResultsDamaged(
            f"the storage at {where} must have version {newest} or older, but has {current}: a newer release made it; "
            "upgrade kafka-tuner"
        )
    return int(current)


def migrate(db: Db, where: str, migrations: Sequence[tuple[str, str]] = MIGRATIONS) -> None:
    """Migrate the tables to the newest version, in one transaction.

    If several hosts do this at the same time, they wait for each other.

    Raises:
        ResultsDamaged: A newer release or another program made the tables.
    """
    if version_of(db, where, len(migrations)) == len(migrations):
        return
    with db.transaction():
        db.execute("SELECT pg_advisory_xact_lock(%s)", [_LOCK])
        # Only if it is missing: a user without the right to make schemas can't even run CREATE SCHEMA IF NOT EXISTS.
        if db.execute("SELECT 1 FROM pg_namespace WHERE nspname = %s", [SCHEMA]).fetchone() is None:
            db.execute("CREATE SCHEMA kafka_tuner")
        before = version_of(db, where, len(migrations))
        if before == 0:
            db.execute(
                "CREATE TABLE kafka_tuner.schema_version (version integer PRIMARY KEY, about text NOT NULL, "
                "release text NOT NULL, migrated_at timestamptz NOT NULL DEFAULT clock_timestamp())"
            )
        for number, (about, script) in enumerate(migrations[before:], before + 1):
            db.execute(script.encode())
            db.execute(
                "INSERT INTO kafka_tuner.schema_version (version, about, release) VALUES (%s, %s, %s)",
                [number, about, version()],
            )
