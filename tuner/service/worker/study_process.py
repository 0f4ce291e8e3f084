"""The process that runs one study for the service: how the service controls the process, and what the process does.

The process runs `python -m tuner.cli serve study NAME`. It reads its instructions from the service's config file and
from the study's folder, so that its command line contains no secrets. It writes its process id and its outcome to the
study's folder, so that a service that was killed and started again can find them.
"""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import deque
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self

from runners.host_processes.processes import ProcessIdentity
from tuner.model.errors import ExitCode, StudyError, exit_code_of
from tuner.model.service_variables import SERVER_VARIABLE, TOKEN_FILE_VARIABLE, TOKEN_VARIABLE
from tuner.model.study_files import LOG_FILE, OLD_LOG_FILE, OUTCOME_FILE, PROCESS_FILE, SUBMITTED_FILE, TASK_FILE
from tuner.service.config import ServiceConfig
from tuner.service.queue.job import Task
from tuner.storage.folder_files import write_for_everybody
from tuner.storage.locations import ROOT_VARIABLE, storage_at

_GO: Final = b"go"
_LONGEST_MESSAGE: Final = 4_000
_TAIL_LINES: Final = 15
_TAIL_CHARS: Final = 2_000
_LARGEST_LOG_BYTES: Final = 5_000_000
_RUN: Final = Task()
_TERMINATE_AFTER_S: Final = 30.0
_KILL_AFTER_S: Final = 40.0


@dataclass(frozen=True, slots=True)
class ProcessOutcome:
    """How a study's process ended.

    Attributes:
        code: The exit code, one of `ExitCode`.
        kind: The name of the error's class, or empty if there was no error.
        message: The error message.
    """

    code: int
    kind: str
    message: str


class StudyProcess:
    """A process that runs a study, seen from the service.

    Attributes:
        folder: The folder of the study.
        attempt: A random id of this start of the process. Each start has a new id.
        identity: The process id and when the process started, because the system reuses process ids.
    """

    def __init__(
        self, folder: Path, attempt: str, identity: ProcessIdentity, own: "subprocess.Popen[bytes] | None"
    ) -> None:
        """Set the attributes. Callers use `start` or `adopt` instead, which return a `StudyProcess`."""
        self.folder = folder
        self.attempt = attempt
        self.identity = identity
        self._own = own
        self._interrupted_at: float | None = None
        self._terminated = False

    @classmethod
    def start(cls, root: Path, name: str, study_file: str, config_file: Path | None, task: Task = _RUN) -> Self:
        """Start a process that does a task with a study, such as running it.

        Args:
            root: The folder of the studies.
            name: The name of the study.
            study_file: The study file as it was submitted.
            config_file: The service's config file, if it has one.
            task: The task.

        Raises:
            OSError: The process could not be started.
        """
        folder, attempt = root / name, uuid.uuid4().hex
        write_for_everybody(folder / SUBMITTED_FILE, study_file.encode())
        write_for_everybody(folder / TASK_FILE, task.as_text().encode())
        command = [sys.executable, "-m", "tuner.cli", "serve", "study", name, "--attempt", attempt]
        if config_file is not None:
            command += ["--config", str(config_file)]
        environ = {**os.environ, ROOT_VARIABLE: str(root), "COLUMNS": "160"}
        for variable in (SERVER_VARIABLE, TOKEN_VARIABLE, TOKEN_FILE_VARIABLE):
            environ.pop(variable, None)
        log = folder / LOG_FILE
        if log.is_file() and log.stat().st_size > _LARGEST_LOG_BYTES:
            log.replace(folder / OLD_LOG_FILE)
        with log.open("ab") as out:
            own = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=out,
                stderr=out,
                env=environ,
                # A separate process group, so that signals to the server's group, such as Ctrl-C, do not reach it.
                start_new_session=True,
            )
        process = cls(folder, attempt, ProcessIdentity.of(own.pid), own)
        try:
            # The process waits for its input, and gets it only after it was recorded. So if this service is killed, the
            # next service can find the process.
            _record(folder, attempt, process.identity)
            assert own.stdin is not None
            with contextlib.suppress(BrokenPipeError), own.stdin:  # it may have ended already
                own.stdin.write(_GO)
        except OSError:
            process.kill()
            raise
        return process

    @classmethod
    def adopt(cls, folder: Path) -> Self | None:
        """Return the process that an earlier service started for a study, or None if no process is recorded.

        The process may have ended already.
        """
        record = _read(folder / PROCESS_FILE)
        try:
            identity = ProcessIdentity.parse(
                record["pid"],
                record["started"] if "started" in record else record["started_s"],  # earlier releases wrote a time
            )
            return cls(folder, str(record["attempt"]), identity, None)
        except (KeyError, TypeError, ValueError):
            return None

    @property
    def running(self) -> bool:
        """Whether the process is still running."""
        if self._own is not None:
            return self._own.poll() is None
        return self.identity.process() is not None

    @property
    def outcome(self) -> ProcessOutcome | None:
        """How the process ended. None if the process still runs, or was killed before it could write its outcome."""
        record = _read(self.folder / OUTCOME_FILE)
        try:
            ours = record["attempt"] == self.attempt
            return ProcessOutcome(int(record["code"]), str(record["kind"]), str(record["message"])) if ours else None
        except (KeyError, TypeError, ValueError):  # none, or damaged
            return None

    @property
    def last_sequence_before(self) -> int:
        """The sequence number of the study's last trial when the process started."""
        record = _read(self.folder / PROCESS_FILE)
        try:
            if record["attempt"] == self.attempt:
                return int(record["after"])
        except (KeyError, TypeError, ValueError):  # it ended before it could begin, or the file is damaged
            pass
        return last_sequence(self.folder)

    def stop(self) -> None:
        """Ask the process to stop, as Ctrl-C does.

        Call this method repeatedly until the process has ended. The first call sends SIGINT. If the process keeps
        running, a later call sends SIGTERM, and in the end SIGKILL.
        """
        now = time.monotonic()
        if self._interrupted_at is None:
            self._interrupted_at = now
            self._send(signal.SIGINT)
        elif now - self._interrupted_at > _KILL_AFTER_S:
            self.kill()
        elif now - self._interrupted_at > _TERMINATE_AFTER_S and not self._terminated:
            self._terminated = True
            self._send(signal.SIGTERM)

    def kill(self) -> None:
        """Kill the process and its process group. Earlier trials are kept, but the trial being measured is lost."""
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.identity.pid, signal.SIGKILL)
        if self._own is not None:
            self._own.wait()

    def forget(self) -> None:
        """Remove the files that describe the process and its outcome. Its log stays."""
        for name in (PROCESS_FILE, OUTCOME_FILE):
            (self.folder / name).unlink(missing_ok=True)

    def tail(self) -> str:
        """Return the last lines of the process's log."""
        try:
            with (self.folder / LOG_FILE).open(encoding="utf-8", errors="replace") as log:
                lines = deque(log, _TAIL_LINES)
        except OSError:
            return ""
        return "".join(lines)[-_TAIL_CHARS:].strip()

    def _send(self, number: signal.Signals) -> None:
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.identity.pid, number)


def run_child(name: str, config: ServiceConfig, attempt: str) -> None:
    """Do the task of a submitted study, such as running it, in this process.

    Wait first until the service has recorded this process. If the service is killed before that, do nothing.

    Args:
        name: The name of the study. Its folder contains the submitted study file.
        config: The configuration of the service.
        attempt: The id of this start of the process.

    Raises:
        Exception: Any error of the task.
    """
    folder = config.root / name
    if sys.stdin.buffer.read() != _GO:
        return
    _record(folder, attempt, ProcessIdentity.of(), after=last_sequence(folder))
    try:
        _work(folder, config)
    except BaseException as error:
        code = exit_code_of(error) if isinstance(error, Exception) else ExitCode.INTERRUPTED
        _write_outcome(folder, attempt, code, type(error).__name__, str(error)[:_LONGEST_MESSAGE])
        raise
    _write_outcome(folder, attempt, ExitCode.DONE)


def _record(folder: Path, attempt: str, identity: ProcessIdentity, **more: int) -> None:
    record = {"attempt": attempt, "pid": identity.pid, "started": identity.started, **more}
    write_for_everybody(folder / PROCESS_FILE, json.dumps(record).encode())


def last_sequence(folder: Path, after: int = 0) -> int:
    """Return the sequence number of a study's last trial, or `after` if there is no later trial."""
    try:
        with contextlib.closing(storage_at().read(folder)) as store:
            return max((sequence for sequence, _ in store.trials(after)), default=after)
    except StudyError:
        return after


def _work(folder: Path, config: ServiceConfig) -> None:
    # Imported here, because these imports take a second. The file that identifies the process must be written earlier.
    from tuner.service.worker.tasks import carry_out

    text = (folder / SUBMITTED_FILE).read_text(encoding="utf-8")
    task = folder / TASK_FILE  # processes that earlier releases started have none
    carry_out(Task.parse(task.read_text(encoding="utf-8") if task.is_file() else ""), text, folder, config)


def _write_outcome(folder: Path, attempt: str, code: ExitCode, kind: str = "", message: str = "") -> None:
    outcome = {"attempt": attempt, "code": int(code), "kind": kind, "message": message}
    write_for_everybody(folder / OUTCOME_FILE, json.dumps(outcome).encode())


def _read(path: Path) -> dict[str, Any]:
    try:
        found: Any = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
