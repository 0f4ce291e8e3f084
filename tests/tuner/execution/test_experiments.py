"""How an experiment runs: the order of its rounds, what is stored, and how it is resumed."""

import datetime
import re
from collections import Counter
from pathlib import Path

import pytest
from typing_extensions import override

import tuner.api
from runners.errors import GeneratorError
from runners.measurements.measurement import Measurement
from runners.runner import Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.command import tuner as command
from tests.helpers.small_experiment import SEARCHES, SMALL, ToldOfExperiment, run_small, small
from tests.helpers.stored_studies import write_study
from tuner.execution.experiments.experiment import measure_experiment
from tuner.execution.experiments.experiment_steps import ExperimentStep, rows_of_round
from tuner.experiment_file import named_experiments, parse_experiment
from tuner.model.errors import NothingToFit, StudyBusy, StudyChanged, TooManyFailures
from tuner.model.experiment import ROW_BURN_IN_S
from tuner.model.study_time import UNBROKEN_S
from tuner.model.trial import Trial, TrialKind
from tuner.prediction.observations import observations_of_experiment
from tuner.results.experiments.experiment_results import load_experiment
from tuner.storage.folder_files import read_progress
from tuner.storage.locations import ROOT_VARIABLE
from tuner.storage.sqlite import FolderStorage


def test_each_round_measures_every_row_in_another_order_and_returns_to_the_control() -> None:
    spec = small()
    orders = [[row.name for row in rows_of_round(spec, number)] for number in range(spec.rounds)]
    for order in orders:
        assert order[0] == order[3] == spec.control
        assert Counter(order) == Counter({**{row.name: 1 for row in spec.rows}, spec.control: 2})
    assert len({tuple(order) for order in orders}) > 1
    assert orders[1] == [row.name for row in rows_of_round(spec, 1)]


def test_every_measurement_is_stored_with_its_row_and_round(tmp_path: Path) -> None:
    told = ToldOfExperiment()
    results = run_small(tmp_path / "small", told)
    assert results.finished
    burnt_in = [trial for trial in told.trials if trial.kind is TrialKind.BURN_IN]
    assert told.trials[: len(burnt_in)] == burnt_in
    assert [(trial.row, trial.round) for trial in told.trials[len(burnt_in) :]] == [
        (row.name, number) for number in range(4) for row in rows_of_round(results.spec, number)
    ]
    assert all(len(row.by_round("mb_per_s")) == 4 for row in results.rows)


def test_an_experiment_that_ended_in_its_burn_in_is_not_kept_and_has_nothing_to_predict_from(tmp_path: Path) -> None:
    told = ToldOfExperiment(stop_after=1)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "small", told)
    assert told.said[-1] == "small is not kept, because nothing that counts was measured"
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "small").mkdir()  # a folder that was there before is kept
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "small", ToldOfExperiment(stop_after=1))
    with pytest.raises(NothingToFit, match=r"small has none yet; name another study or experiment$"):
        observations_of_experiment(load_experiment(tmp_path / "small"))


def test_before_the_rounds_every_row_is_measured_once_at_full_speed(tmp_path: Path) -> None:
    told = ToldOfExperiment()
    text = SMALL.replace("load: {", "load: {rate_records_per_s: 500, ")
    spec = run_small(tmp_path / "small", told, text).spec
    burnt_in = [step.row for step in told.steps if step.round is None]
    assert burnt_in[0].name == spec.control
    assert Counter(row.name for row in burnt_in) == {row.name: 1 for row in spec.rows}
    assert {row.workload.rate_records_per_s for row in burnt_in} == {None}
    assert {row.workload.rate_records_per_s for row in spec.rows} == {500}


class Ends(ToldOfExperiment):
    """Keeps how many seconds are left, by the stored progress, when each measurement ends."""

    def __init__(self, folder: Path) -> None:
        super().__init__()
        self.folder = folder
        self.left_s: list[float] = []

    @override
    def measured(self, step: ExperimentStep, trial: Trial) -> None:
        super().measured(step, trial)
        self.said.append(f"measured {step.row.name}")
        progress = read_progress(self.folder)
        assert progress is not None
        assert progress.ends_at is not None
        ends_at = datetime.datetime.fromisoformat(progress.ends_at)
        self.left_s.append((ends_at - datetime.datetime.now(datetime.UTC)).total_seconds())


def test_the_estimated_end_leaves_out_finished_measurements(tmp_path: Path) -> None:
    spec = run_small(tmp_path / "small", told := Ends(tmp_path / "small")).spec
    whole_s = sum(step.row.planned_s for step in told.steps)
    assert len(told.left_s) == len(spec.burn_ins) + spec.measurements
    assert whole_s - 5 < told.left_s[0] < whole_s + 5
    assert told.left_s[-1] < told.steps[-1].row.planned_s + 5
    at_burn_ins = told.left_s[: len(spec.burn_ins)]
    assert at_burn_ins == sorted(at_burn_ins, reverse=True)
    said = [sentence.partition(" ")[0] + sentence.partition("the others")[1] for sentence in told.said]
    assert said[:4] == ["measuring", "measured", "measuringthe others", "measured"]


def test_rows_that_differ_only_in_what_a_burn_in_leaves_out_have_one_burn_in() -> None:
    rows = """
rows:
  - {row: fast}
  - {row: full, stored_bytes: 1GB}
  - {row: slow, rate_records_per_s: 100}
  - {row: safe, acks: all}
  - {row: lost, acks: all, linger.ms: 3, broker_killed_after: 1s}
control: {row: fast}
target: {brokers: 3}
"""
    spec = small("about: Rows.\nload: {record_bytes: 100, warmup: 10s, measured: 30s, replication: 3}" + rows)
    first, second = spec.burn_ins
    assert (first.name, first.workload.measured_s) == ("fast", UNBROKEN_S)
    assert (second.name, second.load_s, second.setup.stored_bytes) == ("safe", ROW_BURN_IN_S, 0)


@pytest.mark.parametrize("name", sorted(named_experiments()))
def test_the_results_of_each_experiment_that_comes_with_the_tuner_are_read(name: str, tmp_path: Path) -> None:
    text = named_experiments()[name]
    spec = parse_experiment(text, name=name, folder=None, origin=name, environ={}, quick=True)
    (tmp_path / name).mkdir()  # the folder was there before, so it is kept after a burn-in run only
    with pytest.raises(KeyboardInterrupt):
        measure_experiment(spec, text, tmp_path / name, ToldOfExperiment(stop_after=1), simulated=SimulatedRunner())
    assert load_experiment(tmp_path / name).spec.rows == spec.rows


def test_an_experiment_that_was_stopped_continues_where_it_stopped(tmp_path: Path) -> None:
    whole = ToldOfExperiment()
    run_small(tmp_path / "whole", whole)
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "small", first := ToldOfExperiment(stop_after=11))
    assert not load_experiment(tmp_path / "small").finished
    results = run_small(tmp_path / "small", second := ToldOfExperiment())
    assert results.finished
    # Brokers are new after a pause, so each row has a burn-in again.
    assert [trial.row for trial in second.trials[:4]] == [trial.row for trial in first.trials[:4]]
    stored = [*first.trials, *(trial for trial in second.trials if trial.kind is TrialKind.MEASUREMENT)]
    assert [(trial.row, trial.round) for trial in stored] == [(trial.row, trial.round) for trial in whole.trials]
    assert run_small(tmp_path / "small", third := ToldOfExperiment()).finished
    assert not third.trials
    assert "small is finished" in third.said[-1]


def test_an_experiment_with_other_rows_is_not_mixed_with_the_stored_ones(tmp_path: Path) -> None:
    run_small(tmp_path / "small")
    with pytest.raises(StudyChanged, match=r"row record_bytes=1000 acks=1, row record_bytes=1000 acks=all"):
        run_small(tmp_path / "small", text=SMALL.replace("load: {", "load: {compressibility_ratio: 0.1, "))


def test_more_rounds_continue_an_experiment(tmp_path: Path) -> None:
    run_small(tmp_path / "small")
    results = run_small(tmp_path / "small", told := ToldOfExperiment(), SMALL.replace("rounds: 4", "rounds: 5"))
    assert {trial.round for trial in told.trials} == {None, 4}
    assert len(results.control.by_round("mb_per_s")) == 5
    again = run_small(tmp_path / "small", told := ToldOfExperiment())
    assert (again.spec.rounds, again.finished, told.trials) == (5, True, [])
    assert told.said[0] == "round 5 of small was begun, so all 5 rounds are measured, not 4"


def test_another_control_does_not_change_how_often_the_rows_of_a_round_are_measured(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        run_small(tmp_path / "small", ToldOfExperiment(stop_after=7))
    changed = SMALL.replace("control: {record_bytes: 1000, acks: 1}", "control: {record_bytes: 100, acks: all}")
    results = run_small(tmp_path / "small", text=changed)
    measured = {row.row.name: Counter(trial.round for trial in row.trials) for row in results.rows}
    assert all(set(by_round) == {0, 1, 2, 3} for by_round in measured.values())
    assert all(measured[row.name][0] for row in results.spec.rows)


class Broken:
    """A runner that never measures anything."""

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Fail."""
        raise GeneratorError("it does not start")


def test_burn_ins_that_fail_end_an_experiment_too(tmp_path: Path) -> None:
    text = SMALL.replace("rounds: 4", "rounds: 4\nsafety: {max_failures_in_a_row: 2}")
    told = ToldOfExperiment()
    with pytest.raises(TooManyFailures, match="it does not start"):
        run_small(tmp_path / "small", told, text, Broken())
    assert [trial.kind for trial in told.trials] == [TrialKind.BURN_IN] * 2


def test_an_experiment_with_the_name_of_a_study_does_not_even_begin_its_searches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    write_study(tmp_path / "small", trials=4, rounds=0)
    with pytest.raises(StudyChanged, match="small is the name of a study"):
        tuner.api.run_searches(small(SEARCHES), mlflow=False)
    assert [each.name for each in tmp_path.iterdir()] == ["small"]


def test_the_error_of_a_busy_experiment_names_a_command_that_shows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    run_small(tmp_path / "small")
    with (
        FolderStorage().drive(tmp_path / "small", "small", print),
        pytest.raises(StudyBusy, match=r"see `tuner (.*)`") as busy,
    ):
        run_small(tmp_path / "small")
    (words,) = re.findall(r"see `tuner (.*)`", str(busy.value))
    ran = command(*words.split())
    assert (ran.code, "small" in ran.out) == (0, True), ran.err
