"""Runs a study and records the progress that other processes can read meanwhile."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from runners.measurements.measurement import Window
from tests.helpers.studies import simulated_study
from tuner.execution.mirroring import SyncOutcome
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import Trial
from tuner.storage.folder_files import read_progress

SHOWN = 2
"""Number of trials that `FullMirror` shows. It never shows later ones."""


@dataclass(slots=True)
class Watching(SilentReporter):
    """A reporter that reads the study's progress file at each window and trial, as another process would.

    Attributes:
        folder: The study's folder.
        seen: The progress reports that it read, in order.
    """

    folder: Path
    seen: list[Progress] = field(default_factory=list)

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        self._look()

    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        self._look()

    def _look(self) -> None:
        progress = read_progress(self.folder)
        assert progress is not None
        self.seen.append(progress)


class FullMirror:
    """A `Mirror` that shows only the first `SHOWN` trials."""

    def start(self, remember: Callable[[str, Any], None]) -> None:
        """Do nothing."""

    def poke(self) -> None:
        """Do nothing."""

    def behind(self, on_record: int) -> int:
        return max(0, on_record - SHOWN)

    def finish(self, timeout_s: float, state: StudyState) -> SyncOutcome:
        return SyncOutcome(SHOWN, 1, "nowhere", "there is no place for more")


def watched_run(folder: Path) -> list[Progress]:
    """Run a whole study of one record size, with undo rounds, and return the progress that was read meanwhile."""
    spec = simulated_study((1000,), trials=12, seed=10)
    confirm = replace(spec.confirm, nominees=2, nominee_repeats=1, undo_rounds=1)
    watching = Watching(folder)
    measure_study(replace(spec, confirm=confirm), "", folder, watching, FullMirror())
    return watching.seen
