"""A study keeps the deadline that it began with, and starts no trial after it."""

import datetime
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import Steady, StoppedAfter, Told, on_record, simulated_study, state_told
from tuner.execution.budgets.budget import WallClock
from tuner.execution.studies.run import measure_study
from tuner.model.errors import DeadlinePassed
from tuner.model.progress import StudyState
from tuner.model.trial import TrialKind
from tuner.results.study_results import StudyResults

EVENING = datetime.datetime(2026, 3, 1, 22, 0)
MORNING = datetime.datetime(2026, 3, 2, 7, 0)
MINUTE = datetime.timedelta(minutes=1)
LAST_PHASE = 30 * MINUTE
"""How much later than its trial the last phase of a trial begins."""


@dataclass(slots=True)
class Night:
    """A wall clock that a simulated runner moves: by 30 minutes for each phase, and by a sleep of the host.

    Attributes:
        at: The time.
        sleep_in: The number of the phase in which the host sleeps for 12 hours.
        began: When each phase began.
    """

    at: datetime.datetime = EVENING
    sleep_in: int | None = None
    began: list[datetime.datetime] = field(default_factory=list)

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate a phase."""
        self.began.append(self.at)
        self.at += (720 if len(self.began) == self.sleep_in else 30) * MINUTE
        return SimulatedRunner().run(config, workload, watch)

    def study(
        self, folder: Path, until: str = "07:00", *, trials: int | None = None, kill: bool = False, search: bool = True
    ) -> StudyResults:
        """Run the study."""
        spec = simulated_study((100,), trials=trials, until=until, burn_in_max=1, racing=False)
        told = StoppedAfter(3) if kill else Told()
        return measure_study(spec, "", folder, told, simulated=self, searching=search, clock=WallClock(lambda: self.at))


@pytest.fixture
def begun(tmp_path: Path) -> Path:
    """The folder of a study that began in the evening, and was killed after three trials."""
    with pytest.raises(KeyboardInterrupt):
        Night().study(tmp_path, kill=True)
    assert len(on_record(tmp_path)) == 3
    return tmp_path


def test_after_the_deadline_a_study_is_not_continued(begun: Path) -> None:
    with pytest.raises(DeadlinePassed, match=r"after 2026-03-02 07:00 .* 2026-03-02 07:05.*--until '2026-03-03 07:00'"):
        Night(MORNING + 5 * MINUTE).study(begun)
    assert len(on_record(begun)) == 3


def test_a_study_before_its_deadline_measures_until_the_deadline(begun: Path) -> None:
    night = Night(MORNING - 120 * MINUTE)
    with pytest.raises(DeadlinePassed):  # this clock leaves no time for the confirmation
        night.study(begun)
    assert MORNING - 60 * MINUTE <= max(night.began) < MORNING + LAST_PHASE
    assert state_told(begun) is StudyState.INTERRUPTED


@pytest.mark.parametrize("until", ["09:00", "2026-03-02 09:00"])
def test_another_deadline_replaces_the_first(begun: Path, until: str) -> None:
    night = Night(MORNING + 5 * MINUTE)
    with pytest.raises(DeadlinePassed, match="after 2026-03-02 09:00"):
        night.study(begun, until)
    assert MORNING < max(night.began) < MORNING + 120 * MINUTE + LAST_PHASE


def test_a_deadline_that_lies_in_the_past_measures_nothing(tmp_path: Path) -> None:
    with pytest.raises(DeadlinePassed, match="after 2026-03-01 09:00"):
        Night().study(tmp_path / "night", "2026-03-01 09:00")
    assert list(tmp_path.iterdir()) == []


def test_a_host_that_slept_beyond_the_deadline_measures_no_more(tmp_path: Path) -> None:
    night = Night(sleep_in=4)
    with pytest.raises(DeadlinePassed, match="after 2026-03-02 07:00"):
        night.study(tmp_path)
    assert len([began for began in night.began if began >= MORNING]) <= 1  # the other phase of the trial that it was in
    assert state_told(tmp_path) is StudyState.INTERRUPTED


def test_a_confirmation_on_request_has_no_deadline(begun: Path) -> None:
    before = len(on_record(begun))
    Night(MORNING + 5 * MINUTE).study(begun, search=False)
    assert len(on_record(begun)) > before


def test_a_confirmation_on_request_is_not_limited_by_the_hours_of_the_search(tmp_path: Path) -> None:
    spec = simulated_study((100,), burn_in_max=3)
    measure_study(spec, "", tmp_path, Told(), simulated=Steady())
    before = on_record(tmp_path)
    confirm = replace(spec.confirm, rounds=3, max_rounds=3, undo_rounds=1)
    spent = replace(spec, search=replace(spec.search, hours=1e-6), confirm=confirm)
    measure_study(spent, "", tmp_path, Told(), simulated=Steady(), searching=False)
    taken = on_record(tmp_path)[len(before) :]
    assert {trial.kind for trial in taken if trial.values} == {TrialKind.BURN_IN, TrialKind.CONFIRM, TrialKind.UNDO}


def test_a_finished_study_that_searches_again_gets_a_new_deadline(tmp_path: Path) -> None:
    assert Night().study(tmp_path, trials=3).finished
    before = len(on_record(tmp_path))
    assert Night(MORNING + 15 * 60 * MINUTE).study(tmp_path, trials=4).finished
    assert len(on_record(tmp_path)) > before
