"""The processes of studies, seen from the service: started, found again, asked to stop, looked after when they end."""

import contextlib
import os
import signal
import subprocess
import sys
import time
import uuid
from collections import deque
from pathlib import Path
from typing import Final, Self

from runners.clusters.processes import ProcessIdentity
from tuner.service.worker.child import SUBMITTED_FILE, Outcome, Started, forget
from tuner.storage.files import write_atomically

LOG_FILE: Final = "service.log"
_TAIL_LINES: Final = 15
_TAIL_CHARS: Final = 2_000
_LARGEST_LOG_BYTES: Final = 5_000_000
_TERMINATE_AFTER_S: Final = 30.0
_KILL_AFTER_S: Final = 40.0


class StudyProcess:
    """A process that works on a study.

    Attributes:
        folder: The study's.
        attempt: Which start of it.
    """

    def __init__(
        self, folder: Path, attempt: str, identity: ProcessIdentity, own: "subprocess.Popen[bytes] | None"
    ) -> None:
        """For `start` and `adopt`."""
        self.folder = folder
        self.attempt = attempt
        self._identity = identity
        self._own = own
        self._interrupted_at: float | None = None
        self._terminated = False

    @classmethod
    def start(cls, root: Path, name: str, study_file: str, config_file: Path | None) -> Self:
        """Start a process for a study.

        Args:
            root: Folder of the studies.
            name: The study's.
            study_file: As it was submitted.
            config_file: The operator's.

        Raises:
            OSError: It could not be started.
        """
        folder, attempt = root / name, uuid.uuid4().hex
        write_atomically(folder / SUBMITTED_FILE, study_file.encode())
        command = [sys.executable, "-m", "tuner.cli", "serve", "study", name, "--attempt", attempt]
        if config_file is not None:
            command += ["--config", str(config_file)]
        environ = {**os.environ, "KAFKA_TUNER_STUDIES": str(root), "COLUMNS": "160"}
        environ.pop("KAFKA_TUNER_TOKEN", None)
        environ.pop("KAFKA_TUNER_SERVER", None)
        log = folder / LOG_FILE
        if log.is_file() and log.stat().st_size > _LARGEST_LOG_BYTES:
            log.replace(log.with_suffix(".old.log"))
        with log.open("ab") as out:
            own = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                env=environ,
                # A group of its own: what the server's terminal or supervisor sends its group does not reach it.
                start_new_session=True,
            )
        return cls(folder, attempt, ProcessIdentity.of(own.pid), own)

    @classmethod
    def adopt(cls, folder: Path) -> Self | None:
        """The process that an earlier service started, which may have ended since; None if there never was one."""
        started = Started.read(folder)
        return None if started is None else cls(folder, started.attempt, started.process, None)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._identity.pid

    @property
    def running(self) -> bool:
        """Whether it has not ended yet."""
        if self._own is not None:
            return self._own.poll() is None
        return self._identity.process() is not None

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, when it has; None where it did not say: it was killed."""
        return Outcome.read(self.folder, self.attempt)

    @property
    def after(self) -> int:
        """The record's last sequence number when it began."""
        started = Started.read(self.folder)
        return started.after if started is not None and started.attempt == self.attempt else 0

    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does; ask again to make sure, and with more force as time goes by."""
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
        """End it and all of its group at once. What it measured last is lost, its record is not."""
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
        if self._own is not None:
            self._own.wait()

    def forget(self) -> None:
        """Remove what it left of itself; its log stays."""
        forget(self.folder)

    def tail(self) -> str:
        """The last lines of its log."""
        try:
            with (self.folder / LOG_FILE).open(encoding="utf-8", errors="replace") as log:
                lines = deque(log, _TAIL_LINES)
        except OSError:
            return ""
        return "".join(lines)[-_TAIL_CHARS:].strip()

    def _send(self, number: signal.Signals) -> None:
        if self.running:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(self.pid, number)
