"""Small studies, runners for them, and a `Reporter` that keeps the sentences and trials that it receives."""

import time
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from objectives.scoring import Objective
from runners.measurements.measurement import Measurement, Window
from runners.runner import Watch, WatchDecision, go_on
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.model.goals import Goal
from tuner.model.progress import StudyState
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    PhaseSpec,
    SafetySpec,
    SearchSpec,
    StudySpec,
    TrackingSpec,
    WorkloadSpec,
)
from tuner.model.target import Target
from tuner.model.trial import Trial, TrialKind
from tuner.storage.folder_files import read_progress
from tuner.storage.sqlite import SqliteStore

BASELINE: Final = ProducerConfig.parse({})
THROUGHPUT: Final = (Objective("mb_per_s"),)


def simulated_study(sizes: tuple[int, ...] = (100, 1000), *, rounds: int = 2, **search: Any) -> StudySpec:
    """Return a short study on the simulated executor; further arguments are fields of `SearchSpec`.

    The search begins without the performance model, which would only take time.
    """
    few = {"trials": 12, "seed": 7, "startup_trials": 4, "baseline_every": 5}
    wanted = {**few, "performance_model": False, **search}
    return StudySpec(
        name="small",
        workload=WorkloadSpec(
            record_sizes=tuple(RecordSizes.fixed(size) for size in sizes),
            saturate=PhaseSpec(1.0, 2.0),
            paced=PhaseSpec(1.0, 2.0),
        ),
        search=SearchSpec(**wanted),
        confirm=ConfirmSpec(rounds=rounds, max_rounds=rounds, nominees=1, nominee_repeats=0, undo_rounds=0),
        tracking=TrackingSpec(enabled=False),
        executor=Executor.SIMULATED,
    )


def real_study(bootstrap: str, *, trials: int, rounds: int = 0, **safety: Any) -> StudySpec:
    """Return a study of one record size and one phase that is as short as a real broker allows.

    Further arguments are fields of `SafetySpec`.
    """
    return StudySpec(
        name="real",
        targets=(Target(bootstrap=bootstrap),),
        workload=WorkloadSpec(record_sizes=(RecordSizes.fixed(1000),), saturate=PhaseSpec(0.3, 1.0), partitions=1),
        objectives=THROUGHPUT,
        search=SearchSpec(trials=trials, burn_in_max=1),
        confirm=ConfirmSpec(rounds, rounds, goals=(Goal.THROUGHPUT,), nominees=1, nominee_repeats=0, undo_rounds=0),
        tracking=TrackingSpec(enabled=False),
        safety=SafetySpec(**{"min_free_disk_bytes": 10**8, **safety}),
        executor=Executor.LOCAL,
    )


@dataclass(frozen=True, slots=True)
class Steady:
    """A simulated runner that gives a config the same numbers in each of its trials.

    Attributes:
        step_s: Seconds to wait in each window.
    """

    step_s: float = 0.0

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate with the same payload in all trials."""

        def later(window: Window) -> WatchDecision:
            time.sleep(self.step_s)
            return watch(window)

        return SimulatedRunner().run(config, replace(workload, seed=0), later)


@dataclass(slots=True)
class Told(SilentReporter):
    """A `Reporter` that records the sentences and trials that it receives."""

    sentences: list[str] = field(default_factory=list)
    trials: list[Trial] = field(default_factory=list)

    @override
    def say(self, sentence: str) -> None:
        self.sentences.append(sentence)

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        self.trials.append(trial)


class StoppedAfter(Told):
    """A reporter that ends the study, as Ctrl-C does, after a number of trials, which are stored by then.

    Args:
        trials: The number of trials.
        kinds: The kinds of trials that count; by default all.
    """

    def __init__(self, trials: int, *kinds: TrialKind) -> None:
        super().__init__()
        self._left, self._kinds = trials, kinds or tuple(TrialKind)

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        super().trial(progress, trial)
        self._left -= trial.kind in self._kinds
        if not self._left:
            raise KeyboardInterrupt


class StoppedAtOnce(Told):
    """A reporter that ends the study in the first window of its first trial, as Ctrl-C does."""

    @override
    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        raise KeyboardInterrupt


def state_told(folder: Path) -> StudyState | None:
    """Return the state that the driver of a study reported last; None if it reported nothing."""
    progress = read_progress(folder)
    return None if progress is None else progress.state


def on_record(folder: Path) -> list[Trial]:
    """Return all trials of a study in the order in which they were stored, and check that no number is there twice."""
    with closing(SqliteStore(folder, create=False)) as store:
        trials = [trial for _, trial in store.trials()]
    assert len({trial.key for trial in trials}) == len(trials), [trial.key for trial in trials]
    return trials


def of_kind(trials: list[Trial], *kinds: TrialKind) -> list[Trial]:
    """Return the trials of some kinds."""
    return [trial for trial in trials if trial.kind in kinds]
