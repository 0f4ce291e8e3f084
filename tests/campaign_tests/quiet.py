"""A `Reporter` that says nothing."""

from runners.measurement import Window
from tuner.course.trial_loop import Standing
from tuner.model.trial import Trial


class Quiet:
    """For studies whose record is what the test looks at."""

    def say(self, sentence: str) -> None:
        """Nothing."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """Nothing."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """Nothing."""
