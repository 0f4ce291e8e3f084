"""Protocols for following a study or an experiment: a reporter shows its progress, and a mirror copies its results."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, Protocol

from runners.measurement import Window
from runners.reporting import counted
from tuner.course.experiment_steps import ExperimentStep
from tuner.model.errors import DeadlinePassed
from tuner.model.trial import Kind, StudyState, Trial
from tuner.results.search_state import SearchState
from tuner.results.study_results import StudyResults

KIND_WORDS: Final = {
    Kind.BURN_IN: "burn-in",
    Kind.BASELINE: "baseline",
    Kind.SEARCH: "search",
    Kind.SECOND_LOOK: "repeat",
    Kind.CONFIRM: "confirm",
    Kind.ABLATION: "undo",
    Kind.MEASUREMENT: "measurement",
}
"""The word for each kind of trial in the progress lines that the user sees."""


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a study is with one record size.

    Attributes:
        kind: The kind of the trial that is running, or that ended last.
        number: The number of that trial.
        total: How many trials the search of this record size will have; None if only time or bytes end the search.
        left_s: Estimated seconds until the whole study ends; None if the study has no limit to estimate them from.
        search: The trials of this record size.
    """

    kind: Kind
    number: int
    total: int | None
    left_s: float | None
    search: SearchState


class Reporter(Protocol):
    """Tells the user what a running study does (a protocol)."""

    def say(self, sentence: str) -> None:
        """Show the user a sentence about the study."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """Show that a window of the running trial has ended."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """Show that a trial has ended and is in the results store."""

    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        """Show what the study recommends for a record size that is confirmed, while other sizes still wait.

        Args:
            results: The study's results so far.
            record_bytes: The record size or mix.
        """


class SilentReporter:
    """A `Reporter` that shows nothing."""

    def say(self, sentence: str) -> None:
        """Ignore the sentence."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """Ignore the window."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """Ignore the trial."""

    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        """Ignore the recommendation."""


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """How much of a study was copied to its mirror, which is MLflow.

    Attributes:
        runs_written: The number of MLflow runs that were created or changed.
        trials_behind: The number of stored trials that the mirror may not show yet.
        uri: The address of the mirror, without its password.
        error: Why some trials are missing in the mirror; None if there was no error.
    """

    runs_written: int
    trials_behind: int
    uri: str
    error: str | None

    def missing(self, study: str) -> str:
        """Return how much of a study may be missing in MLflow, and why; `error` must not be None."""
        behind = counted(self.trials_behind, "trial")
        return f"MLflow at {self.uri} must show {study}, but {behind} may be missing there: {self.error}"


_MIRROR_PATIENCE_S: Final = 60.0
_HASTE_S: Final = 5.0


class Mirror(Protocol):
    """Copies the results of a running study to another place, such as MLflow.

    The study never waits for its mirror, and an error in the mirror never ends the study.
    """

    def start(self, remember: Callable[[str, Any], None]) -> None:
        """Start the mirror, unless the study file switches it off.

        Args:
            remember: Stores a fact about the study under a name, from any thread: where people find the copy.
        """

    def poke(self) -> None:
        """Tell the mirror that there are new trials to copy, and return at once."""

    def behind(self, on_record: int) -> int:
        """Return how many stored trials the mirror may not show yet, without waiting.

        Args:
            on_record: How many trials the results store has.
        """

    def finish(self, timeout_s: float, state: StudyState) -> SyncOutcome:
        """Wait until all trials are copied, for at most `timeout_s` seconds, and stop the mirror.

        Args:
            timeout_s: The time limit, in seconds.
            state: How the study has ended.
        """


def state_after(error: type[BaseException] | None) -> StudyState:
    """Return how a study has ended whose process raised an error of this class; None stands for its regular end."""
    if error is None:
        return StudyState.FINISHED
    interrupted = issubclass(error, DeadlinePassed) or not issubclass(error, Exception)
    return StudyState.INTERRUPTED if interrupted else StudyState.FAILED


def finish_mirror(
    mirror: Mirror, name: str, say: Callable[[str], None], kind: type[BaseException] | None, *_: object
) -> None:
    """Stop the copying of results to MLflow, and tell the user if results are missing there.

    At the regular end we wait up to a minute for the copying, but only a few seconds after an error or Ctrl-C. The last
    arguments are those of `__exit__`.

    Args:
        mirror: The mirror.
        name: The name of the study or experiment.
        say: Shows the user a sentence.
        kind: The class of the error that ends it; None at the regular end.
    """
    outcome = mirror.finish(_MIRROR_PATIENCE_S if kind is None else _HASTE_S, state_after(kind))
    if outcome.trials_behind or (outcome.error and kind is None):
        say(
            f"MLflow ({outcome.uri}) does not show all results yet: {outcome.error or 'there was too little time'}; "
            f"to bring it up to date, run: tuner sync {name}"
        )


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
