"""A driver of a whole study in a process of its own: tells on its output what happens, line by line."""

import sys
from pathlib import Path

from runners.measurement import Window
from tuner.course.reporter import Standing
from tuner.course.run import run_study
from tuner.model.trial import Trial
from tuner.study_file import load_study


def tell(*words: str) -> None:
    """One line."""
    sys.stdout.write(" ".join(words) + "\n")
    sys.stdout.flush()


class Printing:
    """A `Reporter` for whoever reads our output."""

    def say(self, sentence: str) -> None:
        """See `Reporter.say`."""
        tell("say", sentence)

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """See `Reporter.window`."""
        tell("window", str(window.number))

    def trial(self, standing: Standing, trial: Trial) -> None:
        """See `Reporter.trial`."""
        tell("trial", str(trial.kind), str(trial.state))


if __name__ == "__main__":
    spec, text = load_study(Path(sys.argv[1]))
    run_study(spec, text, Path(sys.argv[2]), Printing())
