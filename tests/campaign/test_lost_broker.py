"""When a broker dies during a trial, only that trial is lost."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from runners.errors import TargetError
from runners.measurements.measurement import Window, WindowKind
from tests.campaign.brokers import RestartableBroker
from tests.helpers.studies import Told, of_kind, on_record, real_study, state_told
from tests.helpers.waiting import PATIENCE_S, eventually
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.errors import ExitCode, StudyChanged, exit_code_of
from tuner.model.progress import StudyState
from tuner.model.trial import State, TrialKind

pytestmark = pytest.mark.broker


@pytest.fixture(scope="module")
def mortal() -> Iterator[RestartableBroker]:
    broker = RestartableBroker()
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@dataclass(slots=True)
class Killing(Told):
    """A reporter that kills the broker once, during the first trial of the search.

    Attributes:
        broker: The broker to kill.
        waiting: Is set when the study says that it waits for the broker.
        number: Number of the trial during which the broker was killed.
    """

    broker: RestartableBroker = field(default_factory=RestartableBroker)
    waiting: threading.Event = field(default_factory=threading.Event)
    number: int | None = None

    def say(self, sentence: str) -> None:
        super(Killing, self).say(sentence)
        if "waiting for it to come back" in sentence:
            self.waiting.set()

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        # The warm-up has only one window, so the measured window is running now.
        if self.number is None and progress.kind is TrialKind.SEARCH and window.phase is WindowKind.WARMUP:
            self.number = progress.number
            self.broker.kill()


@pytest.mark.long
def test_a_trial_whose_broker_dies_is_measured_again_when_it_is_back(tmp_path: Path, mortal: RestartableBroker) -> None:
    show = Killing(broker=mortal)
    spec = real_study(mortal.bootstrap, trials=3)
    with ThreadPoolExecutor(1) as driver:
        study = driver.submit(measure_study, spec, "", tmp_path, show)
        came = show.waiting.wait(PATIENCE_S)
        mortal.restart()
        results = study.result()
    assert came, show.sentences
    assert results.finished
    trials = on_record(tmp_path)
    assert [trial.kind for trial in trials] == [
        TrialKind.BURN_IN,
        TrialKind.BASELINE,
        TrialKind.SEARCH,
        TrialKind.SEARCH,
    ]
    assert [trial.state for trial in trials] == [State.COMPLETE] * 4
    assert [(trial.number, trial.attempts) for trial in trials if trial.attempts > 1] == [(show.number, 2)]
    assert "the broker is back" in show.sentences
    # The broker came back without its data, as a cluster with another id.
    (change,) = results.mixed
    assert change.startswith("after 2 trials, the cluster id of target 1 is ")
    assert f"{change}; trials before and after this can't be compared well" in show.sentences
    longer = real_study(mortal.bootstrap, trials=4)
    assert measure_study(longer, "", tmp_path, Told()).mixed == results.mixed, "the study goes on without a question"


@pytest.mark.long
def test_a_broker_that_stays_away_ends_the_study_which_can_resume(tmp_path: Path, mortal: RestartableBroker) -> None:
    show = Killing(broker=mortal)
    spec = real_study(mortal.bootstrap, trials=3, broker_wait_s=0.1)
    with ThreadPoolExecutor(1) as driver:
        study = driver.submit(measure_study, spec, "", tmp_path, show)
        # The broker comes back too late for the study, but in time for the study's clean-up.
        try:
            eventually(lambda: state_told(tmp_path) is StudyState.FAILED or study.done())
        finally:
            mortal.restart()
        with pytest.raises(TargetError) as raised:
            study.result()
    assert exit_code_of(raised.value) is ExitCode.TARGET
    assert state_told(tmp_path) is StudyState.FAILED
    assert show.waiting.is_set()
    before = on_record(tmp_path)
    assert before == show.trials
    assert [trial.kind for trial in before] == [TrialKind.BURN_IN, TrialKind.BASELINE]
    again = Told()
    # The broker has a new id, as a cluster that was created anew has.
    with pytest.raises(StudyChanged, match="the cluster id of target 1 is"):
        measure_study(spec, "", tmp_path, again)
    assert measure_study(spec, "", tmp_path, again, mix_environments=True).finished
    after = on_record(tmp_path)
    assert after == before + again.trials
    assert [trial.kind for trial in of_kind(after, TrialKind.BASELINE, TrialKind.SEARCH)] == [
        TrialKind.BASELINE,
        *[TrialKind.SEARCH] * 2,
    ]
