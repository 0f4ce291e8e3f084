"""The progress of a record size, and the protocol of a reporter, which shows it to the user."""

from dataclasses import dataclass
from typing import Protocol

from runners.measurements.measurement import Window
from tuner.model.trial import Trial, TrialKind
from tuner.results.search_state import SearchState
from tuner.results.study_results import StudyResults


@dataclass(frozen=True, slots=True)
class SizeProgress:
    """How far a study has got with one record size.

    Attributes:
        kind: The kind of the trial that is running, or that ended last.
        number: The number of that trial.
        total: How many trials the search of this record size will have; None if only time or bytes end the search.
        left_s: Estimated seconds until the whole study ends; None if the study has no limit to estimate them from.
        search: The trials of this record size.
    """

    kind: TrialKind
    number: int
    total: int | None
    left_s: float | None
    search: SearchState


class Reporter(Protocol):
    """Tells the user what a running study does (a protocol)."""

    def say(self, sentence: str) -> None:
        """Show the user a sentence about the study."""

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        """Show that a window of the running trial has ended."""

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        """Show that a trial has ended and is in the results store."""

    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        """Show what the study recommends for a record size whose confirmation has ended. Other sizes still follow.

        Args:
            results: The study's results so far.
            record_bytes: The record size or mix.
        """


class SilentReporter:
    """A `Reporter` that shows nothing."""

    def say(self, sentence: str) -> None:
        """Ignore the sentence."""

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        """Ignore the window."""

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        """Ignore the trial."""

    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        """Ignore the recommendation."""
