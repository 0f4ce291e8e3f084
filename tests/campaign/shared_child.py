"""A program that runs a study whose results are kept in PostgreSQL, so that tests can kill it. Run with `python -m`.

shared_child.py URL FOLDER SPEC STEP_S LEASE_S      like `child.py`; the lease on the study lasts LEASE_S seconds

STEP_S is 0 for a study on a real cluster, which is also copied to MLflow if its specification names a server.
"""

import json
import os
import pickle
import signal
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Self

from runners.errors import RunnerError
from tests.campaign.child import Telling, tell
from tests.helpers.shared_storage import storage_of
from tests.helpers.studies import Steady
from tuner.execution.studies.run import measure_study
from tuner.model.errors import StudyError
from tuner.model.spec import StudySpec
from tuner.tracking import MlflowMirror


def main(url: str, folder: str, spec_file: str, step_s: str, lease_s: str) -> None:
    spec: StudySpec = pickle.loads(Path(spec_file).read_bytes())
    storage = storage_of(url, lease_s=float(lease_s), patience_s=120.0)
    simulated = Steady(float(step_s)) if float(step_s) else None
    reporter = Telling()
    mirror = MlflowMirror(Path(folder), spec.tracking, reporter.say, storage=storage) if spec.tracking.enabled else None
    tell(said="begin")
    try:
        measure_study(spec, "study: small\n", Path(folder), reporter, mirror, simulated, storage=storage)
    except (StudyError, RunnerError) as error:
        tell(error=type(error).__name__, said=str(error))
        sys.exit(1)
    tell(said="end")


class SharedDriver:
    """A running instance of this program, with what it has written so far. It is killed at the end of the context.

    Args:
        url: URL of the database.
        folder: The study's folder on its host.
        spec: The study to run.
        step_s: Seconds that each window takes; 0 for a study on a real cluster.
        lease_s: Seconds that the lease on the study lasts.
        environ: Further environment variables of the program.
    """

    def __init__(
        self,
        url: str,
        folder: Path,
        spec: StudySpec,
        *,
        step_s: float,
        lease_s: float,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        spec_file = folder.with_suffix(".spec")
        spec_file.parent.mkdir(parents=True, exist_ok=True)
        spec_file.write_bytes(pickle.dumps(spec))
        words = [url, str(folder), str(spec_file), str(step_s), str(lease_s)]
        command = [sys.executable, "-m", "tests.campaign.shared_child", *words]
        environment = {**os.environ, **(environ or {})}
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        self._facts: list[dict[str, Any]] = []
        self._news = threading.Condition()
        self._ended = False
        self._thread = threading.Thread(target=self._listen)
        self._thread.start()

    @property
    def pid(self) -> int:
        """The id of the program's process."""
        return self._process.pid

    @property
    def running(self) -> bool:
        """Whether the program has not ended yet."""
        return self._process.poll() is None

    @property
    def trials(self) -> list[dict[str, Any]]:
        """The trials that the program has reported."""
        with self._news:
            return [fact["trial"] for fact in self._facts if "trial" in fact]

    @property
    def errors(self) -> list[str]:
        """Names of the errors that ended the program."""
        with self._news:
            return [fact["error"] for fact in self._facts if "error" in fact]

    def wait_for_trials(self, count: int) -> bool:
        """Wait until the program has reported `count` trials, and return False if it ended before."""
        with self._news:
            told = self._news.wait_for(
                lambda: self._ended or sum("trial" in fact for fact in self._facts) >= count, timeout=120
            )
            assert told, f"only {len(self._facts)} lines were written within two minutes: {self._facts[-1:]}"
            return sum("trial" in fact for fact in self._facts) >= count

    def wait(self) -> int:
        """Wait until the program ends, and return its exit code."""
        code = self._process.wait(timeout=180)
        self._thread.join(30)
        return code

    def send(self, number: signal.Signals) -> None:
        """Send the program a signal."""
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
