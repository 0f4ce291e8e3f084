"""The course of an experiment: the order of its rounds, what is stored, and how it is resumed."""

from collections import Counter
from pathlib import Path

import pytest

from runners.simulated import SimulatedRunner
from tests.experiment_tests.small import SMALL, Told, run_small, small
from tuner.course.experiment import rows_of_round, run_experiment
from tuner.experiment_file import named_experiments, parse_experiment
from tuner.model.errors import StudyChanged
from tuner.model.trial import Kind
from tuner.results.experiment_results import load_experiment


def test_each_round_measures_every_row_in_another_order_and_returns_to_the_control() -> None:
    spec = small()
    orders = [[row.name for row in rows_of_round(spec, number)] for number in range(spec.rounds)]
    for order in orders:
        assert order[0] == order[3] == spec.control
        assert Counter(order) == Counter({**{row.name: 1 for row in spec.rows}, spec.control: 2})
    assert len({tuple(order) for order in orders}) > 1
    assert orders[1] == [row.name for row in rows_of_round(spec, 1)]


def test_every_measurement_is_stored_with_its_row_and_round(tmp_path: Path) -> None:
    told = Told()
    results = run_small(tmp_path / "small", told)
    assert results.finished
    assert told.trials[0].kind is Kind.BURN_IN
    assert [(trial.row, trial.round) for trial in told.trials[1:]] == [
        (row.name, number) for number in range(4) for row in rows_of_round(results.spec, number)
    ]
    assert all(len(row.by_round("mb_per_s")) == 4 for row in results.rows)


@pytest.mark.parametrize("name", sorted(named_experiments()))
def test_the_results_of_each_experiment_that_comes_along_are_read(name: str, tmp_path: Path) -> None:
    text = named_experiments()[name]
    spec = parse_experiment(text, name=name, folder=None, origin=name, environ={}, quick=True)
    with pytest.raises(KeyboardInterrupt):
        run_experiment(spec, text, tmp_path / name, Told(stop_after=2), simulated=SimulatedRunner())
    assert load_experiment(tmp_path / name).spec.rows == spec.rows


def test_an_experiment_that_was_stopped_goes_on_where_it_stopped(tmp_path: Path) -> None:
    whole = Told()
    run_small(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "small", first := Told(stop_after=8))
    assert not load_experiment(tmp_path / "small").finished
    results = run_small(tmp_path / "small", second := Told())
    assert results.finished
    stored = [*first.trials, *(trial for trial in second.trials if trial.kind is Kind.MEASUREMENT)]
    assert [(trial.row, trial.round) for trial in stored] == [(trial.row, trial.round) for trial in whole.trials]
    run_small(tmp_path / "small", third := Told())
    assert not third.trials
    assert "small is finished" in third.said[-1]


def test_an_experiment_with_other_rows_is_not_mixed_with_the_stored_ones(tmp_path: Path) -> None:
    run_small(tmp_path / "small")
    with pytest.raises(StudyChanged, match=r"row record_bytes=1000 acks=1, row record_bytes=1000 acks=all"):
        run_small(tmp_path / "small", text=SMALL.replace("load: {", "load: {compressibility_ratio: 0.1, "))


def test_more_rounds_continue_an_experiment(tmp_path: Path) -> None:
    run_small(tmp_path / "small")
    results = run_small(tmp_path / "small", told := Told(), SMALL.replace("rounds: 4", "rounds: 5"))
    assert {trial.round for trial in told.trials} == {None, 4}
    assert len(results.control.by_round("mb_per_s")) == 5
