"""A program that runs a study, so that tests can kill it. Run it with `python -m`.

    child.py FOLDER SPEC [STEP_S]      SPEC: file with a pickled StudySpec; with STEP_S, the runner is `Steady`

With `GATE` in its environment, the study stands still after its first trial until a file of this name exists.

It writes one line of JSON for each sentence and trial that its reporter receives, at once: `{"said": ...}` or
`{"trial": {...}}`.
"""

import json
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.helpers.studies import Steady, Told
from tests.helpers.waiting import eventually
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.spec import StudySpec
from tuner.model.trial import Trial

GATE = "KAFKA_TUNER_TESTS_GATE"
GATE_S = 300.0


class Telling(Told):
    """A reporter that writes each sentence and trial to standard output."""

    def say(self, sentence: str) -> None:
        tell(said=sentence)

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        tell(trial=trial.as_json())
        if GATE in os.environ:
            eventually(Path(os.environ[GATE]).exists, GATE_S)


def tell(**facts: Any) -> None:
    # One system call without a buffer, so that the line is complete even if this process is killed afterwards.
    os.write(1, (json.dumps(facts) + "\n").encode())


def main(folder: str, spec_file: str, step_s: str | None = None) -> None:
    spec: StudySpec = pickle.loads(Path(spec_file).read_bytes())
    tell(said="begin")
    measure_study(spec, "", Path(folder), Telling(), simulated=None if step_s is None else Steady(float(step_s)))
    tell(said="end")


@contextmanager
def running_study(
    folder: Path, spec: StudySpec, step_s: float | None = None, *, gate: Path | None = None
) -> Iterator["subprocess.Popen[str]"]:
    """Start this program, and kill it at the end of the context if it still runs."""
    spec_file = folder.with_suffix(".spec")
    spec_file.write_bytes(pickle.dumps(spec))
    command = [sys.executable, "-m", "tests.campaign.child", str(folder), str(spec_file)]
    with subprocess.Popen(
        command if step_s is None else [*command, str(step_s)],
        stdout=subprocess.PIPE,
        text=True,
        env=None if gate is None else {**os.environ, GATE: str(gate)},
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def told(child: "subprocess.Popen[str]") -> Iterator[dict[str, Any]]:
    """Yield what a child writes, until it ends."""
    assert child.stdout is not None
    for line in child.stdout:
        yield json.loads(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
