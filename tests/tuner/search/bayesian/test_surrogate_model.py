"""The acquisition function, which rates configs by what was measured and what is expected of them."""

import numpy as np
from optuna.distributions import FloatDistribution

from tuner.regression.solving import Array
from tuner.search.bayesian.axes import PlainSpace
from tuner.search.bayesian.observations import Observations
from tuner.search.bayesian.surrogate_model import SurrogateModel


def test_what_is_expected_counts_less_if_measurements_contradict_it() -> None:
    space, seen = PlainSpace({"x": FloatDistribution(0.0, 1.0)}), Observations(1)
    for at in np.linspace(0.0, 0.7, 15):
        seen.add(np.array([at]), [0.5 * float(at)], {})
    promised = np.array([[0.9]])

    def worth_of_the_promise(elsewhere: float) -> float:
        """Rate a config whose expected gain is 2. At other configs, the expected gain is `elsewhere` times x."""

        def gains(rows: Array) -> Array:
            return np.where(rows == promised, 2.0, elsewhere * rows)[None]

        model = SurrogateModel(space, seen, [], np.zeros(1), np.ones(1), 0.02, gains)
        return float(model.acquisition(np.random.default_rng(0))(promised)[0])

    assert worth_of_the_promise(-0.5) < 0.5 * worth_of_the_promise(0.5)


def test_what_is_expected_of_one_objective_counts_although_that_of_another_is_wrong() -> None:
    space, seen = PlainSpace({"x": FloatDistribution(0.0, 1.0)}), Observations(2)
    for at in np.linspace(0.0, 0.7, 15):
        seen.add(np.array([at]), [0.5 * float(at), 0.5 * float(at)], {})
    promised = np.array([[0.9]])

    def worth_of_the_promise(first: float) -> float:
        """Rate a config whose expected gain is 2 in the first objective. What the second should gain is wrong."""

        def gains(rows: Array) -> Array:
            return np.hstack([np.where(rows == promised, 2.0, first * rows), -2.0 * rows])[None]

        model = SurrogateModel(space, seen, [], np.zeros(2), np.ones(2), 0.02, gains)
        return float(model.acquisition(np.random.default_rng(0))(promised)[0])

    right, wrong = worth_of_the_promise(0.5), worth_of_the_promise(-2.0)
    assert right > 2 * wrong


def test_a_config_whose_expected_gain_may_be_wrong_is_worth_more() -> None:
    """Both configs lie 5 % below the reference in the likeliest scenario, and one of them may be much better."""
    space, seen = PlainSpace({"x": FloatDistribution(0.0, 1.0)}), Observations(1)
    for at in np.linspace(0.3, 0.7, 8):
        seen.add(np.array([at]), [0.0], {})

    def gains(rows: Array) -> Array:
        likeliest = np.where((rows < 0.25) | (rows > 0.75), -0.05, 0.0)
        return np.stack([likeliest, np.where(rows > 0.75, 0.5, likeliest)])

    model = SurrogateModel(space, seen, [], np.zeros(1), np.ones(1), 0.02, gains)
    known, uncertain = model.acquisition(np.random.default_rng(0))(np.array([[0.05], [0.95]]))
    assert uncertain > 10 * known
