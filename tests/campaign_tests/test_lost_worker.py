"""A Ray worker that dies is replaced, and its trial is measured again."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders.studies import THROUGHPUT, Told, of_kind, on_record, simulated_study
from tests.runners_tests.pool_runners import Dying
from tuner.course.run import run_study
from tuner.model.spec import Executor
from tuner.model.trial import Kind, State


@pytest.mark.usefixtures("short_temporary")
def test_a_trial_whose_worker_dies_is_measured_again(tmp_path: Path) -> None:
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    spec = replace(simulated_study((100,), trials=4, burn_in_max=1), executor=Executor.RAY, objectives=THROUGHPUT)
    results = run_study(spec, "", tmp_path / "study", Told(), simulated=Dying(deaths, 1))
    assert results.finished
    assert len(list(deaths.iterdir())) == 1
    trials = on_record(tmp_path / "study")
    assert {trial.state for trial in trials} == {State.COMPLETE}
    assert [trial.attempts for trial in trials] == [2, *[1] * (len(trials) - 1)]
    assert len(of_kind(trials, Kind.BASELINE, Kind.SEARCH)) == 4
