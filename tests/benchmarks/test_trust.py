"""The simulated studies whose results are in docs/evidence/trust.md: their disturbances, and their table."""

import subprocess
import sys
from dataclasses import replace
from itertools import pairwise
from math import exp, log
from statistics import fmean

import pytest

from benchmarks.simulated_studies.light_studies import LightStudy
from benchmarks.simulated_studies.noise import (
    Autocorrelated,
    CarryOver,
    Luck,
    Moment,
    Scatter,
    Sessions,
    Stalls,
    Warming,
)
from benchmarks.simulated_studies.planted import BASELINE, MB_PER_S, P99_MS, Machine, Planted
from benchmarks.trust import Row
from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.studies import simulated_study
from tuner.model.trial import Trial, TrialKind

BETTER = ProducerConfig.parse({"linger.ms": "1", "compression.type": "lz4"})
OTHER = ProducerConfig.parse({"linger.ms": "1"})
LUCK = Luck("7")
AT_FIRST = Moment(0, BASELINE.fingerprint, None, BASELINE.fingerprint, 0, 0.0, 0.0)


def study(*disturbances: object) -> LightStudy:
    spec = replace(simulated_study((1000,), rounds=3, trials=12), name="light")
    return LightStudy(spec, Machine(Planted.of(1.2), disturbances, 3))  # type: ignore[arg-type]


def trials_of(made: LightStudy) -> list[Trial]:
    made.run()
    return [trial for _, trial in made.store.trials()]


def test_only_planted_configs_are_better() -> None:
    machine = Machine(Planted(1.2, 1.5), (), 0)
    assert machine.measure(BASELINE, 6.0) == (MB_PER_S, P99_MS)
    assert machine.measure(OTHER, 6.0) == (MB_PER_S, P99_MS)
    assert machine.measure(BETTER, 6.0) == pytest.approx((1.2 * MB_PER_S, P99_MS / 1.5))


def test_stalls_do_not_change_the_true_gain() -> None:
    logs = [Stalls(0.1).logs(replace(AT_FIRST, trial=number), LUCK)[1] for number in range(4_000)]
    assert fmean(logs) == pytest.approx(0.0, abs=0.03)
    assert 0.08 < fmean(each > log(2.5) for each in logs) < 0.12


def test_a_candidate_slows_only_the_trial_after_it() -> None:
    machine = Machine(Planted(), (CarryOver(0.1),), 0)
    seen = [machine.measure(each, 6.0)[0] / MB_PER_S for each in (BASELINE, BETTER, BASELINE, BASELINE)]
    assert seen == pytest.approx([1.0, 1.0, 0.9, 1.0])


def test_brokers_that_were_restarted_are_cold_again() -> None:
    machine = Machine(Planted(), (Warming(1.9, 180.0),), 0)
    cold, _ = machine.measure(BASELINE, 1_000.0)
    warm, _ = machine.measure(BASELINE, 6.0)
    machine.restart()
    assert machine.measure(BASELINE, 6.0)[0] == cold == pytest.approx(MB_PER_S / 1.9)
    assert warm > 0.99 * MB_PER_S


def test_a_session_lasts_until_the_brokers_are_restarted() -> None:
    machine = Machine(Planted(), (Sessions(0.05),), 0)
    once, again = machine.measure(BASELINE, 6.0), machine.measure(BASELINE, 6.0)
    assert machine.measure(BETTER, 6.0) == (MB_PER_S, P99_MS)
    machine.restart()
    assert machine.measure(BASELINE, 6.0) != once == again


def test_on_a_users_cluster_a_session_lasts_an_hour() -> None:
    machine = Machine(Planted(), (Sessions(0.05, hours=1.0),), 0)
    once = machine.measure(BASELINE, 1_800.0)
    assert machine.measure(BASELINE, 1_800.0) == once
    assert machine.measure(BASELINE, 6.0) != once


def test_autocorrelated_noise_has_the_correlation_and_scatter_it_says() -> None:
    logs = [Autocorrelated(0.8, 0.1).logs(replace(AT_FIRST, trial=number), LUCK)[0] for number in range(3_000)]
    variance = fmean(each**2 for each in logs)
    assert variance == pytest.approx(0.01, rel=0.3)
    covariance = fmean(one * other for one, other in pairwise(logs))
    assert covariance / variance == pytest.approx(0.8, abs=0.1)


def test_a_light_study_has_the_order_of_trials_of_a_real_study() -> None:
    trials = trials_of(study(Scatter(0.05)))
    kinds = list(dict.fromkeys(trial.kind for trial in trials))
    assert kinds == [TrialKind.BURN_IN, TrialKind.BASELINE, TrialKind.SEARCH, TrialKind.CONFIRM]
    assert sum(trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH) for trial in trials) == 12
    rounds = [trial for trial in trials if trial.kind is TrialKind.CONFIRM]
    assert {trial.round for trial in rounds if trial.fingerprint == BASELINE.fingerprint} == {0, 1, 2}


def test_a_light_study_finds_the_planted_gain() -> None:
    made = study()
    (size,) = made.run().sizes
    (found,) = {each.fingerprint: each for each in size.confirmations}.values()
    assert found.gains["mb_per_s"].value == pytest.approx(1.2)
    assert size.rate_records_per_s == pytest.approx(0.3 * MB_PER_S * 1e6 / RecordSizes.parse("1000").mean_bytes)


def test_the_same_seed_gives_the_same_light_study() -> None:
    def values() -> list[dict[str, float]]:
        return [dict(trial.metrics) for trial in trials_of(study(Scatter(0.05), Stalls(0.1), CarryOver(0.05)))]

    assert values() == values()


def test_a_second_confirmation_runs_on_newly_started_brokers() -> None:
    made = study(Scatter(0.05))
    before = len(trials_of(made))
    made.confirm_again()
    assert made.machine.start == 1
    assert {trial.kind for _, trial in made.store.trials()[before:]} >= {TrialKind.BURN_IN, TrialKind.CONFIRM}


def run(*words: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "benchmarks.trust", "--processes", "1", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_row_has_the_case_the_figure_its_error_its_goal_and_whether_it_is_met() -> None:
    ran = run("--studies", "2", "--trials", "12", "--only", "aa-5")
    _, _, *rows = ran.stdout.splitlines()
    cells = [row.strip("| ").split(" | ") for row in rows]
    assert ran.returncode == (0 if all(row[-1] == "met" for row in cells) else 1), ran.stderr
    assert [row[:2] for row in cells] == [["`aa-5`", "2"]] * 2
    assert all("+/-" in figure and figure.endswith("%") and goal.endswith("%") for *_, figure, goal, _ in cells)


@pytest.mark.parametrize(("in_trials", "shown"), [(True, "| 2 +/- 0.5 |"), (False, "| 210.0 +/- 50.0 % |")])
def test_only_numbers_of_trials_are_not_in_percent(in_trials: bool, shown: str) -> None:
    assert shown in Row("aa-5", 4, "width", 2.1, 0.5, "", met=True, in_trials=in_trials).as_markdown()


def test_an_unknown_case_is_refused_by_name() -> None:
    ran = run("--only", "aa-5,aa-7")
    assert ran.returncode == 2
    assert "but got aa-7" in ran.stderr


def test_heavy_tails_reach_farther_than_normal_noise() -> None:
    def largest(scatter: Scatter) -> float:
        return max(abs(scatter.logs(replace(AT_FIRST, trial=number), LUCK)[0]) for number in range(1_000))

    assert largest(Scatter(0.05, degrees_of_freedom=2)) > 2 * largest(Scatter(0.05)) > log(exp(0.1))
