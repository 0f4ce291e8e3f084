"""A program that runs a study, to be killed by tests; run as `python -m`.

    child.py FOLDER SPEC [STEP_S]      SPEC: a pickled StudySpec; with STEP_S, `Steady` measures

It writes a line of JSON for each thing it is told, as soon as it is told: `{"said": ...}`, `{"trial": {...}}`.
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

from tests.builders.studies import Steady, Told
from tuner.course.reporter import Standing
from tuner.course.run import run_study
from tuner.model.spec import StudySpec
from tuner.model.trial import Trial


class Telling(Told):
    """Writes what it is told."""

    def say(self, sentence: str) -> None:
        tell(said=sentence)

    def trial(self, standing: Standing, trial: Trial) -> None:
        tell(trial=trial.as_json())


def tell(**facts: Any) -> None:
    # In one call, past all buffers: what was told stays told when we are killed.
    os.write(1, (json.dumps(facts) + "\n").encode())


def main(folder: str, spec_file: str, step_s: str | None = None) -> None:
    spec: StudySpec = pickle.loads(Path(spec_file).read_bytes())
    tell(said="begin")
    run_study(spec, "", Path(folder), Telling(), simulated=None if step_s is None else Steady(float(step_s)))
    tell(said="end")


@contextmanager
def running_study(folder: Path, spec: StudySpec, step_s: float | None = None) -> Iterator["subprocess.Popen[str]"]:
    """Run this program. It is killed at the end."""
    spec_file = folder.with_suffix(".spec")
    spec_file.write_bytes(pickle.dumps(spec))
    command = [sys.executable, "-m", "tests.campaign_tests.child", str(folder), str(spec_file)]
    with subprocess.Popen(
        command if step_s is None else [*command, str(step_s)], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            yield child
        finally:
            child.kill()


def told(child: "subprocess.Popen[str]") -> Iterator[dict[str, Any]]:
    """What a child tells, until it ends."""
    assert child.stdout is not None
    for line in child.stdout:
        yield json.loads(line)


if __name__ == "__main__":
    main(*sys.argv[1:])
