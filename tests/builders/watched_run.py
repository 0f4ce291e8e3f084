"""What the driver of a study told while it ran."""

from dataclasses import dataclass, field, replace
from pathlib import Path

from runners.measurement import Window
from tests.builders.studies import simulated_study
from tuner.course.reporter import SilentReporter, Standing, SyncOutcome
from tuner.course.run import run_study
from tuner.model.trial import Progress, Trial
from tuner.storage.files import read_progress

SHOWN = 2
"""Trials that the mirror of a watched run shows; those after them stay behind."""


@dataclass(slots=True)
class Watching(SilentReporter):
    """Reads, whenever a trial is under way, what others can read of a study.

    Attributes:
        folder: The study's.
        told: What was there to be read, in order.
    """

    folder: Path
    told: list[Progress] = field(default_factory=list)

    def window(self, standing: Standing, phase: str, window: Window) -> None:
        """See `Reporter.window`."""
        self._look()

    def trial(self, standing: Standing, trial: Trial) -> None:
        """See `Reporter.trial`."""
        self._look()

    def _look(self) -> None:
        progress = read_progress(self.folder)
        assert progress is not None
        self.told.append(progress)


class FullMirror:
    """A `Mirror` that shows the first trials and has no place for more."""

    def start(self) -> None:
        """See `Mirror.start`."""

    def poke(self) -> None:
        """See `Mirror.poke`."""

    def behind(self, on_record: int) -> int:
        """See `Mirror.behind`."""
        return max(0, on_record - SHOWN)

    def finish(self, timeout_s: float) -> SyncOutcome:
        """See `Mirror.finish`."""
        return SyncOutcome(SHOWN, 1, "nowhere", "there is no place for more")


def watched_run(folder: Path) -> list[Progress]:
    """Run a study of one record size, from burning in to the last ablation, and give what it told on its way."""
    spec = simulated_study((1000,), trials=12)
    confirm = replace(spec.confirm, nominees=2, looks=1, ablation_rounds=1)
    watching = Watching(folder)
    run_study(replace(spec, confirm=confirm), "", folder, watching, FullMirror())
    return watching.told
