"""A program that runs a study recorded in PostgreSQL, to be killed by tests; run as `python -m`.

shared_child.py URL FOLDER SPEC STEP_S LEASE_S      as `child.py`; with a lease of so many seconds
"""

import json
import pickle
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, Self

from tests.builders.studies import Steady
from tests.campaign_tests.child import Telling, tell
from tests.storage_tests.shared import storage_of
from tuner.course.run import run_study
from tuner.model.errors import StudyError
from tuner.model.spec import StudySpec


def main(url: str, folder: str, spec_file: str, step_s: str, lease_s: str) -> None:
    spec: StudySpec = pickle.loads(Path(spec_file).read_bytes())
    storage = storage_of(url, lease_s=float(lease_s), patience_s=120.0)
    tell(said="begin")
    try:
        run_study(spec, "study: small\n", Path(folder), Telling(), simulated=Steady(float(step_s)), storage=storage)
    except StudyError as error:
        tell(error=type(error).__name__, said=str(error))
        sys.exit(1)
    tell(said="end")


class SharedDriver:
    """Such a program, and what it has told so far; killed at the end, if it still runs.

    Args:
        url: Of the database.
        folder: Of the study on its host.
        spec: What is asked.
        step_s: Seconds that each window takes.
        lease_s: How long its lease lasts.
    """

    def __init__(self, url: str, folder: Path, spec: StudySpec, *, step_s: float, lease_s: float) -> None:
        spec_file = folder.with_suffix(".spec")
        spec_file.parent.mkdir(parents=True, exist_ok=True)
        spec_file.write_bytes(pickle.dumps(spec))
        words = [url, str(folder), str(spec_file), str(step_s), str(lease_s)]
        command = [sys.executable, "-m", "tests.campaign_tests.shared_child", *words]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._facts: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    @property
    def trials(self) -> list[dict[str, Any]]:
        """Those that it told of."""
        with self._news:
            return [fact["trial"] for fact in self._facts if "trial" in fact]

    @property
    def errors(self) -> list[str]:
        """Names of the errors that ended it."""
        with self._news:
            return [fact["error"] for fact in self._facts if "error" in fact]

    def wait_for_trials(self, count: int) -> bool:
        """Wait until it has told of so many; False if it ended before."""
        with self._news:
            told = self._news.wait_for(
                lambda: self._ended or sum("trial" in fact for fact in self._facts) >= count, timeout=120
            )
            assert told, f"only {len(self._facts)} things were told within two minutes: {self._facts[-1:]}"
            return sum("trial" in fact for fact in self._facts) >= count

    def wait(self) -> int:
        """Wait until it ends; its exit code."""
        code = self._process.wait(timeout=180)
        self._thread.join(30)
        return code

    def send(self, number: signal.Signals) -> None:
        """Send it a signal."""
        self._process.send_signal(number)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._thread.join(30)
        assert self._process.stdout is not None
        self._process.stdout.close()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._facts.append(json.loads(line))
                self._news.notify_all()
        with self._news:
            self._ended = True
            self._news.notify_all()


if __name__ == "__main__":
    main(*sys.argv[1:])
