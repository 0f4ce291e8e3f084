"""A study's record as rows in PostgreSQL."""

import gzip
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tuner.model.errors import StudyBusy
from tuner.model.progress import Progress
from tuner.model.trial import Trial
from tuner.storage.connection import Connection, Db
from tuner.storage.postgres_lease import Keeping, taken_over

_HELD = "SELECT 1 FROM kafka_tuner.leases WHERE study = %s AND token = %s FOR SHARE"
"""Until its transaction ends, nobody takes the study over: what is written with it is written by its driver."""
_TRIAL = """
    INSERT INTO kafka_tuner.trials (study, record_bytes, number, body, token) VALUES (%s, %s, %s, %s, %s)
    ON CONFLICT (study, record_bytes, number) DO NOTHING
"""
_THERE = "SELECT body, token FROM kafka_tuner.trials WHERE study = %s AND record_bytes = %s AND number = %s"
_ATTACH = "INSERT INTO kafka_tuner.attachments (study, record_bytes, number, name, body) VALUES (%s, %s, %s, %s, %s)"
_ATTACHED = """
    SELECT body FROM kafka_tuner.attachments WHERE study = %s AND record_bytes = %s AND number = %s AND name = %s
"""
_FACT = f"""
    WITH held AS ({_HELD})
    INSERT INTO kafka_tuner.facts (study, name, body) SELECT %s, %s, %s FROM held
    ON CONFLICT (study, name) DO UPDATE SET body = excluded.body
"""
_STUDY_FILE = f"""
    WITH held AS ({_HELD}) UPDATE kafka_tuner.studies SET study_file = %s WHERE id = %s AND EXISTS (SELECT FROM held)
"""
_PROGRESS = """
    SELECT body, held.expires_at > clock_timestamp()
    FROM kafka_tuner.progress LEFT JOIN kafka_tuner.leases AS held USING (study) WHERE study = %s
"""


class PostgresStore:
    """Reads with the connection; writes only what the holder of the study's lease may.

    Args:
        connection: Closed with the store.
        study: Its number in the storage.
        name: Of the study.
        token: Of its lease; None only reads.
        keeping: Renews the lease; ended with the store.
    """

    def __init__(
        self, connection: Connection, study: int, name: str, token: int | None = None, keeping: Keeping | None = None
    ) -> None:
        self._connection, self._study, self._name = connection, study, name
        self._token, self._keeping = token, keeping

    def append(self, trial: Trial, attachments: Mapping[str, Any] | None = None) -> None:
        """See `ResultsStore.append`.

        A commit whose answer is lost with the connection may have happened: then the trial is there, and ours.
        """
        token = self._writing()
        key = (self._study, trial.record_bytes, trial.number)
        body = json.dumps(trial.as_json(), separators=(",", ":"))
        files = [
            (*key, name, gzip.compress(json.dumps(value).encode(), 5)) for name, value in (attachments or {}).items()
        ]

        def keep(db: Db, again: bool) -> None:
            with db.transaction():
                self._check_held(db, token)
                if db.execute(_TRIAL, [*key, body, token]).rowcount:
                    with db.cursor() as cursor:
                        cursor.executemany(_ATTACH, files)
                elif not (again and db.execute(_THERE, key).fetchone() == (body, token)):
                    raise ValueError(f"a trial is kept once, but {trial.key} is there already")

        self._connection.run(keep)

    def trials(self, after: int = 0) -> list[tuple[int, Trial]]:
        """See `ResultsStore.trials`."""
        rows = self._rows(
            "SELECT sequence, body FROM kafka_tuner.trials WHERE study = %s AND sequence > %s ORDER BY sequence",
            self._study,
            after,
        )
        return [(sequence, Trial.from_json(json.loads(body))) for sequence, body in rows]

    def attachment(self, trial: Trial, name: str) -> Any:
        """See `ResultsStore.attachment`."""
        rows = self._rows(_ATTACHED, self._study, trial.record_bytes, trial.number, name)
        return json.loads(gzip.decompress(rows[0][0])) if rows else None

    def set_fact(self, name: str, value: Any) -> None:
        """See `ResultsStore.set_fact`."""
        token = self._writing()
        self._change(_FACT, self._study, token, self._study, name, json.dumps(value))

    def facts(self) -> dict[str, Any]:
        """See `ResultsStore.facts`."""
        rows = self._rows("SELECT name, body FROM kafka_tuner.facts WHERE study = %s", self._study)
        return {name: json.loads(body) for name, body in rows}

    def set_study_file(self, text: str) -> None:
        """See `ResultsStore.set_study_file`."""
        self._change(_STUDY_FILE, self._study, self._writing(), text, self._study)

    def study_file(self) -> str:
        """See `ResultsStore.study_file`."""
        ((text,),) = self._rows("SELECT study_file FROM kafka_tuner.studies WHERE id = %s", self._study)
        return str(text)

    def set_progress(self, progress: Progress) -> None:
        """See `ResultsStore.set_progress`; seen by others within a second.

        Raises:
            StudyTakenOver: Another driver has the study now: time to stop measuring.
        """
        self._writing()
        assert self._keeping is not None
        self._keeping.tell(progress)

    def progress(self) -> Progress | None:
        """See `ResultsStore.progress`; whether its driver is at work is what the lease says, as it may be anywhere."""
        rows = self._rows(_PROGRESS, self._study)
        return replace(Progress.from_json(json.loads(rows[0][0])), alive=bool(rows[0][1])) if rows else None

    def hold(self, what: str) -> "AdvisoryHold | None":
        """See `ResultsStore.hold`. The server lets go of it when our connection ends, however."""
        connection = Connection(self._connection.url, self._connection.patience_s)
        key = f"kafka-tuner {what} {self._study}"

        def ask(db: Db, _: bool) -> bool:
            row = db.execute("SELECT pg_try_advisory_lock(hashtextextended(%s, 0))", [key]).fetchone()
            return bool(row and row[0])

        held = AdvisoryHold(connection)
        try:
            if connection.run(ask):
                return held
        except BaseException:
            held.close()
            raise
        held.close()
        return None

    def close(self) -> None:
        """See `ResultsStore.close`; gives the lease back."""
        if self._keeping is not None:
            self._keeping.end()
        self._connection.close()

    def _writing(self) -> int:
        """The token to write with."""
        if self._token is None or self._keeping is None:
            raise StudyBusy(f"the study {self._name} was opened to be read: only who runs it adds to it")
        if self._keeping.lost:
            raise taken_over(self._name)
        return self._token

    def _check_held(self, db: Db, token: int) -> None:
        if db.execute(_HELD, [self._study, token]).fetchone() is None:
            raise taken_over(self._name)

    def _change(self, statement: str, *values: str | int) -> None:
        if not self._connection.run(lambda db, _: db.execute(statement.encode(), values).rowcount):
            raise taken_over(self._name)

    def _rows(self, query: str, *values: str | int) -> list[tuple[Any, ...]]:
        return self._connection.run(lambda db, _: db.execute(query.encode(), values).fetchall())


class AdvisoryHold:
    """A lock of the server's that its connection has."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def close(self) -> None:
        """See `Hold.close`."""
        self._connection.close()
