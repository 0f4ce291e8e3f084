"""Those who are told what a study does while it runs: its user, and the mirror that shows its record elsewhere."""

from dataclasses import dataclass
from typing import Protocol

from runners.measurement import Window
from tuner.model.trial import Kind, Trial
from tuner.results.size_record import SizeRecord


@dataclass(frozen=True, slots=True)
class Standing:
    """How far a record size is.

    Attributes:
        kind: What is being measured.
        number: Of the trial that is under way, or ended last.
        total: Trials that there are to be; None where only time or bytes end it.
        left_s: Seconds until the whole study ends, as far as can be told.
        record: The record size's trials.
    """

    kind: Kind
    number: int
    total: int | None
    left_s: float | None
    record: SizeRecord


class Reporter(Protocol):
    """Tells the user what a study does."""

    def say(self, sentence: str) -> None:
        """Something worth a line."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """A window of the trial under way has ended."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """A trial has ended and is on record."""


class SilentReporter:
    """A `Reporter` that tells nothing."""

    def say(self, sentence: str) -> None:
        """See `Reporter.say`."""

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """See `Reporter.window`."""

    def trial(self, standing: Standing, trial: Trial) -> None:
        """See `Reporter.trial`."""


@dataclass(frozen=True, slots=True)
class SyncOutcome:
    """How far a mirror is.

    Attributes:
        runs_written: Runs made or changed.
        trials_behind: Trials on record that the mirror is not known to show.
        uri: Of the mirror, without a password.
        error: Why not everything is shown; None when it is.
    """

    runs_written: int
    trials_behind: int
    uri: str
    error: str | None


class Mirror(Protocol):
    """Shows a study's record elsewhere while it grows; a study never waits for it, and never fails by it."""

    def start(self) -> None:
        """Begin, if the study wants a mirror at all."""

    def poke(self) -> None:
        """Say that the record has grown. Never waits."""

    def behind(self, on_record: int) -> int:
        """How many of the trials on record are not known to be shown. Never waits."""

    def finish(self, timeout_s: float) -> SyncOutcome:
        """Wait until all is shown, at most so long, and end."""
