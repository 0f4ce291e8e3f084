"""The process that runs one study for the service: what it runs, and what it leaves behind when it ends.

Runs as `python -m tuner.cli serve study NAME`. What it is told, it reads from the operator's file and from the study's
folder, so that no secret stands on its command line; what becomes of it, it writes there, so that a service that was
killed and started again finds it.
"""

import json
import os
import uuid
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from runners.clusters.processes import ProcessIdentity
from tuner.model.errors import NoFeasibleConfig, StudyError
from tuner.model.exit_codes import ExitCode, exit_code_of
from tuner.service.config import ServiceConfig
from tuner.service.http.submission import spec_of
from tuner.storage.chosen import storage_at
from tuner.storage.files import write_atomically

SUBMITTED_FILE: Final = "submitted.yaml"
_PROCESS_FILE: Final = "service-process.json"
_OUTCOME_FILE: Final = "service-outcome.json"
_LONGEST_MESSAGE: Final = 4_000


@dataclass(frozen=True, slots=True)
class Started:
    """A process that was started for a study.

    Attributes:
        attempt: Names the start; each has another.
        process: Which process.
        after: The record's last sequence number when it began.
    """

    attempt: str
    process: ProcessIdentity
    after: int

    @classmethod
    def read(cls, folder: Path) -> Self | None:
        """The last one that was started; None if none was."""
        found = _read(folder / _PROCESS_FILE)
        try:
            process = ProcessIdentity(int(found["pid"]), float(found["started_s"]))
            return cls(str(found["attempt"]), process, int(found["after"]))
        except (KeyError, TypeError, ValueError):
            return None


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a study's process ended.

    Attributes:
        code: Exit code, as the command line has them.
        kind: Name of the error's class; empty when there was none.
        message: What the error says.
    """

    code: int
    kind: str
    message: str

    @classmethod
    def read(cls, folder: Path, attempt: str) -> Self | None:
        """How that attempt ended; None if it did not say: it runs, or was killed."""
        found = _read(folder / _OUTCOME_FILE)
        if found.get("attempt") != attempt:
            return None
        return cls(int(found["code"]), str(found["kind"]), str(found["message"]))


def run_child(name: str, config: ServiceConfig, attempt: str = "") -> None:
    """Run a submitted study in this process, to its end.

    Args:
        name: Of the study; its folder has the study file.
        config: Of the service.
        attempt: Names this start.

    Raises:
        StudyError: As `run_study` does; also what else that raises.
    """
    folder = config.root / name
    attempt = attempt or uuid.uuid4().hex
    own = ProcessIdentity.of()
    started = {"attempt": attempt, "pid": own.pid, "started_s": own.started_s, "after": last_sequence(folder)}
    write_atomically(folder / _PROCESS_FILE, json.dumps(started).encode())
    try:
        _run(folder, config)
    except NoFeasibleConfig as error:
        _tell(folder, attempt, ExitCode.NO_FEASIBLE_CONFIG, error)
        raise
    except Exception as error:
        _tell(folder, attempt, exit_code_of(error), error)
        raise
    except BaseException as error:
        _tell(folder, attempt, ExitCode.INTERRUPTED, error)
        raise
    _tell(folder, attempt, ExitCode.DONE, None)


def forget(folder: Path) -> None:
    """Remove what the study's last process wrote of itself: what became of it is in the queue."""
    for name in (_PROCESS_FILE, _OUTCOME_FILE):
        (folder / name).unlink(missing_ok=True)


def last_sequence(folder: Path, after: int = 0) -> int:
    """The last sequence number of a study's record; `after` where there is none, or none later."""
    try:
        with closing(storage_at().read(folder)) as store:
            return max((sequence for sequence, _ in store.trials(after)), default=after)
    except StudyError:
        return after


def _run(folder: Path, config: ServiceConfig) -> None:
    # Deferred: what is needed to run a study takes a second to import, and the process is to be known by then.
    from tuner.cli.shown_run import recommendations, run_shown

    text = (folder / SUBMITTED_FILE).read_text(encoding="utf-8")
    spec = spec_of(text, config, os.environ)
    results = run_shown(spec, text, folder, mlflow=config.mirrored, silent=False)
    if not recommendations(results):
        raise NoFeasibleConfig(f"no config of {spec.name} keeps every constraint")


def _tell(folder: Path, attempt: str, code: int, error: BaseException | None) -> None:
    told = {
        "attempt": attempt,
        "code": int(code),
        "kind": type(error).__name__ if error is not None else "",
        "message": str(error)[:_LONGEST_MESSAGE] if error is not None else "",
    }
    write_atomically(folder / _OUTCOME_FILE, json.dumps(told).encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found
