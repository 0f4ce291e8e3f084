"""The Bayesian sampler on any Optuna study: Optuna's own tests for samplers, and further promises of this sampler."""

import math
from collections.abc import Callable

import numpy as np
import optuna
import pytest
from optuna.distributions import BaseDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler
from optuna.study import StudyDirection
from optuna.testing.pytest_samplers import BasicSamplerTestCase, MultiObjectiveSamplerTestCase, RelativeSamplerTestCase
from optuna.trial import TrialState

from tuner.regression.solving import Array
from tuner.search.bayesian.axes import PlainSpace
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.sampler import UNMEASURED, BayesianSampler

pytestmark = pytest.mark.filterwarnings("ignore::optuna.exceptions.ExperimentalWarning", "ignore::FutureWarning")


class TestAsOptunaTestsSamplers(BasicSamplerTestCase, RelativeSamplerTestCase, MultiObjectiveSamplerTestCase):
    @pytest.fixture
    def sampler(self) -> Callable[[], BaseSampler]:
        return lambda: BayesianSampler(seed=0)


def study_of(sampler: BaseSampler, *directions: StudyDirection) -> optuna.Study:
    return optuna.create_study(directions=directions or (StudyDirection.MINIMIZE,), sampler=sampler)


def valley(trial: optuna.Trial) -> float:
    """Return a value that is least where x is 2 and y is -1."""
    x, y = trial.suggest_float("x", -5, 5), trial.suggest_float("y", -5, 5)
    return 1000 * ((x - 2) ** 2 + (y + 1) ** 2)


@pytest.mark.parametrize("seed", range(3))
def test_the_bottom_of_a_valley_is_found_in_few_trials(seed: int) -> None:
    study = study_of(BayesianSampler(seed=seed))
    study.optimize(valley, n_trials=30)
    by_chance = study_of(optuna.samplers.RandomSampler(seed))
    by_chance.optimize(valley, n_trials=30)
    assert study.best_value < 150, "the value is 1,000 at a distance of 1 from the bottom"
    assert study.best_value < by_chance.best_value


def test_where_there_are_few_configs_proposals_are_not_drawn_at_random(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[int] = []
    anywhere = Candidates.anywhere

    def counted(self: Candidates, count: int, rng: np.random.Generator) -> Array:
        drawn.append(count)
        return anywhere(self, count, rng)

    def hollow(trial: optuna.Trial) -> float:
        x, y = trial.suggest_int("x", 0, 7), trial.suggest_int("y", 0, 7)
        return 1000 * ((x - 5) ** 2 + (y - 2) ** 2)

    board = PlainSpace({"x": IntDistribution(0, 7), "y": IntDistribution(0, 7)})
    study = study_of(BayesianSampler(board, seed=0, startup_trials=3))
    monkeypatch.setattr(Candidates, "anywhere", counted)
    study.optimize(hollow, n_trials=40)
    assert len({tuple(trial.params.values()) for trial in study.trials}) == 40, "no config is measured twice"
    assert len(drawn) == 40, "each proposal draws once: a share of its candidates, or itself if nothing is known"


def test_the_search_depends_on_the_seed_only() -> None:
    def params(seed: int) -> list[dict[str, float]]:
        study = study_of(BayesianSampler(seed=seed))
        study.optimize(valley, n_trials=12)
        return [trial.params for trial in study.trials]

    assert params(1) == params(1) != params(2)


def test_a_new_sampler_with_the_same_trials_continues_the_search() -> None:
    whole = study_of(BayesianSampler(PlainSpace(PLANE), seed=1))
    whole.optimize(valley, n_trials=12)
    second = BayesianSampler(PlainSpace(PLANE), seed=1)
    second.go_on_after(8)
    rest = study_of(second)
    rest.add_trials(whole.trials[:8])
    rest.optimize(valley, n_trials=4)
    assert [trial.params for trial in rest.trials] == [trial.params for trial in whole.trials]


PLANE: dict[str, BaseDistribution] = {"x": FloatDistribution(-5, 5), "y": FloatDistribution(-5, 5)}


def test_a_parameter_of_a_later_stage_is_not_changed_too_early() -> None:
    sampler = BayesianSampler(PlainSpace(PLANE), seed=0, stages={"y": 10}, home={"x": 0.0, "y": 3.0})
    study = study_of(sampler)
    study.enqueue_trial({"x": 0.0, "y": 3.0})
    study.optimize(valley, n_trials=20)
    heights = [trial.params["y"] for trial in study.trials]
    assert {round(height, 6) for height in heights[:10]} == {3.0}
    assert len(set(heights[10:])) > 3


def test_configs_that_break_a_constraint_are_avoided() -> None:
    def half(trial: optuna.Trial) -> float:
        value = valley(trial)
        trial.set_constraint("left", trial.params["x"])
        return value

    study = study_of(BayesianSampler(seed=0))
    study.optimize(half, n_trials=40)
    allowed = [trial for trial in study.trials if trial.params["x"] <= 0]
    assert sum(trial.number >= 25 for trial in allowed) >= 5, "without the constraint, all late trials are near 2"
    assert min(trial.values[0] for trial in allowed) < 4_600, "the least allowed value is 4,000"


def test_the_front_of_two_objectives_spreads_between_their_best() -> None:
    directions = (StudyDirection.MAXIMIZE, StudyDirection.MINIMIZE)
    study = study_of(BayesianSampler(PlainSpace({"x": FloatDistribution(0, 1)}), seed=0), *directions)
    study.optimize(lambda trial: (x := trial.suggest_float("x", 0, 1), x**2), n_trials=25)
    tried = sorted(trial.params["x"] for trial in study.trials)
    assert len(study.best_trials) == len({trial.params["x"] for trial in study.trials})
    assert tried[0] < 0.2
    assert tried[-1] > 0.8


def test_a_value_that_was_not_measured_teaches_nothing() -> None:
    def told(value: float) -> dict[str, float]:
        study = study_of(BayesianSampler(PlainSpace(PLANE), seed=0))
        for number in range(6):
            trial = study.ask(fixed_distributions=PLANE)
            trial.set_user_attr(UNMEASURED, [0] if number == 5 else [])
            study.tell(trial, value if number == 5 else valley(trial))
        return study.ask(fixed_distributions=PLANE).params

    assert told(1e6) == told(-1e6)


def test_proposals_under_way_at_the_same_time_differ() -> None:
    study = study_of(BayesianSampler(PlainSpace(PLANE), seed=0))
    study.optimize(valley, n_trials=8)
    under_way = [study.ask(fixed_distributions=PLANE) for _ in range(4)]
    assert study.get_trials(states=(TrialState.RUNNING,))
    for one in under_way:
        for other in under_way:
            assert one is other or math.dist(one.params.values(), other.params.values()) > 0.01
