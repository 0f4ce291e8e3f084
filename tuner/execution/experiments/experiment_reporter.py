"""How the progress of an experiment is shown: the protocol of reporters."""

from typing import Protocol

from runners.measurements.measurement import Window
from tuner.execution.experiments.experiment_steps import ExperimentStep
from tuner.model.trial import Trial


class ExperimentReporter(Protocol):
    """Tells the user what a running experiment does."""

    def say(self, sentence: str) -> None:
        """Show the user a sentence about the experiment."""

    def window(self, step: ExperimentStep, window: Window) -> None:
        """Show that a window (at most a second of the load) has ended."""

    def measured(self, step: ExperimentStep, trial: Trial) -> None:
        """Show that a measurement has ended and is in the results store."""


class SilentExperimentReporter:
    """An `ExperimentReporter` that shows nothing."""

    def say(self, sentence: str) -> None:
        """Ignore the sentence."""

    def window(self, step: ExperimentStep, window: Window) -> None:
        """Ignore the window."""

    def measured(self, step: ExperimentStep, trial: Trial) -> None:
        """Ignore the measurement."""
