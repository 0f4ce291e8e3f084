"""A driver in its own process that runs a whole study, and prints a line for everything that happens."""

import sys
from pathlib import Path

from typing_extensions import override

from runners.measurements.measurement import Window
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.model.trial import Trial
from tuner.study_file import read_study_file


def tell(*words: str) -> None:
    """Print one line."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Printing(SilentReporter):
    """A `Reporter` that prints."""

    @override
    def say(self, sentence: str) -> None:
        tell("say", sentence)

    @override
    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        tell("window", str(window.number))

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        tell("trial", str(trial.kind), str(trial.state))


if __name__ == "__main__":
    spec, text = read_study_file(Path(sys.argv[1]))
    measure_study(spec, text, Path(sys.argv[2]), Printing())
