"""The progress of a running study: shown to the user by a `Reporter`, and stored for `tuner status` and the service."""

import datetime
from dataclasses import dataclass
from typing import Final, Protocol

from runners.measurements.measurement import Window
from tuner.execution.budgets.outlook import Outlook
from tuner.execution.trial_keeper import utc_now
from tuner.execution.trials.trial_job import StartedTrial
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import CONFIRMING_KINDS, PACED, SEARCHING_KINDS, Trial, TrialKind
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
    """Tells the user what a running study does."""

    def say(self, sentence: str) -> None:
        """Show the user a sentence about the study."""

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        """Show that a window of the running trial has ended."""

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        """Show that a trial has ended and is in the results store."""

    def confirmed(self, results: StudyResults, record_bytes: str) -> None:
        """Show what the study recommends for a record size whose confirmation has ended. Other sizes still follow."""


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


_MEASURED_CONFIG: Final = {
    TrialKind.BURN_IN: "a config that will be compared with the baseline",
    TrialKind.REPEAT: "one of the best configs",
    TrialKind.CONFIRM: "a winner",
    TrialKind.UNDO: "a winner, complete or with one change undone",
}
"""For each kind of trial, the name of a measured config that is not the baseline."""


def size_progress(outlook: Outlook, started: StartedTrial) -> SizeProgress:
    """Return how far a study has got with the record size of a trial."""
    size = started.size
    return SizeProgress(
        started.kind, started.number, outlook.totals[size], outlook.left_s(size), outlook.searches[size]
    )


def trial_progress(outlook: Outlook, started: StartedTrial, progress: SizeProgress, phase: str = "") -> Progress:
    """Return the report to store about a running trial: its phase (empty before the first), and the study's end."""
    ends_at = None
    if progress.left_s is not None:
        ends_at = (utc_now() + datetime.timedelta(seconds=progress.left_s)).isoformat(timespec="seconds")
    in_phase = f": {'paced' if phase == PACED else 'saturating'} phase" if phase else ""
    return Progress(
        StudyState.CONFIRMING if progress.kind in CONFIRMING_KINDS else StudyState.RUNNING,
        record_bytes=progress.search.record_bytes,
        trial=progress.number,
        kind=progress.kind,
        trials=progress.total,
        phase=phase,
        message=f"{_description(outlook, started)}{in_phase}",
        ends_at=ends_at,
    )


def _description(outlook: Outlook, started: StartedTrial) -> str:
    """Return in words what a trial measures, such as `1000 B, confirm trial 64, round 3, the baseline`."""
    spec = outlook.spec
    parts = [f"{started.size} B, {started.kind} trial {started.number}"]
    if started.round is not None:
        first = outlook.searches[started.size].first_round
        parts.append(f"round {started.round - first + 1}")
    if started.kind not in SEARCHING_KINDS:
        is_baseline = started.proposal.config.fingerprint == spec.baseline.fingerprint
        client = f" of {started.proposal.config.client.label}" if spec.other_clients else ""
        compared = f"the given config{client}" if spec.confirm.configs else _MEASURED_CONFIG[started.kind]
        parts.append("the baseline" if is_baseline else compared)
    return ", ".join(parts)
