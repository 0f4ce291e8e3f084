"""The parts of the Bayesian sampler: axes, Gaussian processes, expected improvement, candidates and observations."""

import math
from collections import Counter
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from optuna.distributions import FloatDistribution, IntDistribution

from objectives.dominance import dominated_by
from objectives.front import hypervolume
from search_spaces.client import Client, java, librdkafka
from search_spaces.client_facts.domains import Range
from search_spaces.client_facts.knobs import IN_FLIGHT
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.choosers import Replay
from tests.helpers.spaces import spaces
from tuner.regression.gaussian_process import GaussianProcess, Prior
from tuner.regression.solving import Array
from tuner.search.bayesian import observations as observations_module
from tuner.search.bayesian.axes import PlainSpace
from tuner.search.bayesian.belief import Belief
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.improvement import Draws, Improvement
from tuner.search.bayesian.observations import Observations
from tuner.search.knob_space import KnobSpace

DEFAULTS = ProducerConfig.parse({})
SPACE = SearchSpace.of(1_000, DEFAULTS)
KNOBS = KnobSpace(SPACE)


def index_of(name: str) -> int:
    return [axis.name for axis in KNOBS.axes].index(name)


def row_of(knobs: KnobSpace, config: ProducerConfig) -> Array:
    """Return the row of a config, as the sampler computes it from a trial's parameters."""
    params = knobs.space.params_of(config)
    assert params is not None
    return row_of_implied(knobs, knobs.implied(params) or {})


def row_of_implied(knobs: KnobSpace, params: Mapping[str, Any]) -> Array:
    positions = [axis.position(params[axis.name]) if axis.name in params else math.nan for axis in knobs.axes]
    return np.asarray(knobs.allowed(np.array([positions]))[0])


def nearest_valid(knobs: KnobSpace, row: Array) -> Mapping[str, Any]:
    """Return the parameters of the config at a row."""
    return knobs.nearest_valid({axis.name: axis.value(float(at)) for axis, at in zip(knobs.axes, row, strict=True)})


def config_at(knobs: KnobSpace, row: Array) -> ProducerConfig:
    return knobs.space.draw(Replay(nearest_valid(knobs, row)))


def prior(axes: int = 1, *, mean: float = 0.0, length: float = 0.5) -> Prior:
    return Prior(mean, 0.5, 1.0, 0.5, np.full(axes, length), 1.0, 0.1)


def fitted(points: Array, values: Array, noise_sd: float = 1e-3, *, mean: float = 0.0) -> GaussianProcess:
    axes = points.shape[1]
    return GaussianProcess.fitted(
        points, np.arange(axes), values, np.full(len(values), noise_sd), prior(axes, mean=mean)
    )


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 1_000))
def test_a_random_config_lies_in_the_space_and_survives_a_round_trip(
    space: SearchSpace | ConfigError, seed: int
) -> None:
    if isinstance(space, ConfigError):
        return
    knobs = KnobSpace(space)
    for row in Candidates(knobs.axes, knobs.allowed).anywhere(5, np.random.default_rng(seed)):
        params = nearest_valid(knobs, row)
        config = space.draw(Replay(params))
        assert space.params_of(config) is not None
        at = row_of_implied(knobs, params)
        again = row_of_implied(knobs, nearest_valid(knobs, at))
        for axis, parameter, wanted, got in zip(knobs.axes, space.parameters, at, again, strict=True):
            if axis.words or math.isnan(wanted):
                assert wanted == got or (math.isnan(wanted) and math.isnan(got)), axis.name
                continue
            there, back = axis.numbers(np.array([wanted, got]))
            whole = not isinstance(parameter.domain, Range) or parameter.domain.whole
            # A number that a rule has limited is rounded to two digits.
            assert back == pytest.approx(there, rel=0.06, abs=0.51 if whole else 0.002), axis.name


def test_a_special_value_lies_outside_the_range_on_the_right_side() -> None:
    linger, in_flight = (KNOBS.axes[index_of(name)] for name in ("linger.ms", IN_FLIGHT))
    assert (linger.position(0.05), linger.position(100)) == (0.0, 1.0)
    zero = row_of(KNOBS, DEFAULTS.updated({"linger.ms": "0"}))[index_of("linger.ms")]
    no_limit = row_of(KNOBS, DEFAULTS)[index_of(IN_FLIGHT)]
    assert zero == linger.special
    assert zero < 0
    assert no_limit == in_flight.special
    assert no_limit > 1


def test_levels_of_other_codecs_are_unset_and_idempotence_is_enforced() -> None:
    rows = np.tile(row_of(KNOBS, DEFAULTS), (2, 1))
    codec, level, in_flight = (index_of(name) for name in ("compression.type", "compression.level.zstd", IN_FLIGHT))
    rows[:, codec] = [KNOBS.axes[codec].position("lz4"), KNOBS.axes[codec].position("zstd")]
    rows[:, level] = 1.0
    rows[:, index_of("enable.idempotence")] = [1.0, 0.0]
    allowed = KNOBS.allowed(rows)
    assert math.isnan(allowed[0, level])
    assert allowed[1, level] == 1.0
    axis = KNOBS.axes[in_flight]
    assert axis.numbers(allowed[:1, in_flight]).round() == [5]
    assert allowed[1, in_flight] == axis.special


def test_a_process_is_certain_at_its_values_and_uncertain_far_away() -> None:
    points = np.linspace(0, 1, 6)[:, None]
    process = fitted(points, np.sin(3 * points[:, 0]), mean=0.5)
    mean, sd = process.believed(points)
    assert mean == pytest.approx(np.sin(3 * points[:, 0]), abs=0.01)
    assert sd.max() < 0.01
    (between,), (near_sd,) = process.believed(np.array([[0.5]]))
    assert between == pytest.approx(math.sin(1.5), abs=0.02)
    _, (far_sd,) = process.believed(np.array([[30.0]]))
    assert far_sd > 10 * near_sd


def test_a_process_does_not_follow_the_noise() -> None:
    chance = np.random.default_rng(0)
    points = chance.random((60, 1))
    values = 2 * points[:, 0] + chance.normal(size=60) * 0.3
    mean, sd = fitted(points, values, noise_sd=0.3).believed(np.array([[0.25], [0.75]]))
    assert mean == pytest.approx([0.5, 1.5], abs=0.25)
    assert sd.max() < 0.25


def test_an_axis_that_does_not_matter_is_given_a_long_length() -> None:
    points = np.random.default_rng(1).random((30, 3))
    process = fitted(points, np.sin(5 * points[:, 1]))
    assert min(process.lengths[0], process.lengths[2]) > 2 * process.lengths[1]


def test_without_values_a_process_predicts_its_prior() -> None:
    empty = fitted(np.zeros((0, 2)), np.zeros(0), mean=3.0)
    mean, sd = empty.believed(np.array([[0.5, 0.5]]))
    assert (mean[0], sd[0]) == pytest.approx((3.0, math.sqrt(1.25)))


def test_how_well_values_are_foreseen_is_what_each_is_worth_to_a_process_without_it() -> None:
    points = np.array([[0.0], [0.2], [0.5], [0.9]])
    process = fitted(points, np.array([0.1, 0.4, -0.2, 0.3]), noise_sd=0.1)
    covariance, left_over = process.root @ process.root.T, process.root @ (process.root.T @ process.weights)
    total = 0.0
    for index in range(len(points)):
        others = np.arange(len(points)) != index
        pull = np.linalg.solve(covariance[np.ix_(others, others)], covariance[others, index])
        variance = covariance[index, index] - covariance[index, others] @ pull
        off = left_over[index] - pull @ left_over[others]
        total -= 0.5 * (math.log(2 * math.pi * variance) + off**2 / variance)
    assert process.leave_one_out_log_density() == pytest.approx(total)
    assert fitted(np.zeros((0, 1)), np.zeros(0)).leave_one_out_log_density() == 0.0


def test_what_is_expected_counts_less_if_measurements_contradict_it() -> None:
    space, seen = PlainSpace({"x": FloatDistribution(0.0, 1.0)}), Observations(1)
    for at in np.linspace(0.0, 0.7, 15):
        seen.add(np.array([at]), [0.5 * float(at)], {})
    promised = np.array([[0.9]])

    def worth_of_the_promise(elsewhere: float) -> float:
        """Rate a config whose expected gain is 2. At other configs, the expected gain is `elsewhere` times x."""

        def gains(rows: Array) -> Array:
            return np.where(rows == promised, 2.0, elsewhere * rows)[None]

        belief = Belief(space, seen, [], np.zeros(1), np.ones(1), 0.02, gains)
        return float(belief.worth(np.random.default_rng(0))(promised)[0])

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

        belief = Belief(space, seen, [], np.zeros(2), np.ones(2), 0.02, gains)
        return float(belief.worth(np.random.default_rng(0))(promised)[0])

    right, wrong = worth_of_the_promise(0.5), worth_of_the_promise(-2.0)
    assert right > 2 * wrong


def test_a_config_whose_expected_gain_may_be_wrong_is_worth_more() -> None:
    """Both configs lie 5 % below the reference in the likeliest case, and one of them may be much better."""
    space, seen = PlainSpace({"x": FloatDistribution(0.0, 1.0)}), Observations(1)
    for at in np.linspace(0.3, 0.7, 8):
        seen.add(np.array([at]), [0.0], {})

    def gains(rows: Array) -> Array:
        likeliest = np.where((rows < 0.25) | (rows > 0.75), -0.05, 0.0)
        return np.stack([likeliest, np.where(rows > 0.75, 0.5, likeliest)])

    belief = Belief(space, seen, [], np.zeros(1), np.ones(1), 0.02, gains)
    known, uncertain = belief.worth(np.random.default_rng(0))(np.array([[0.05], [0.95]]))
    assert uncertain > 10 * known


def improvement(
    points: Array, values: Array, usable: Array | None = None, draws: int = 4, noise_sd: float = 1e-3
) -> Improvement:
    """Return the improvement over a front with these values, shape (points, objectives), above a reference of zeros."""
    rng = np.random.default_rng(0)
    made = [Draws.of(fitted(points, column, noise_sd), points, draws, rng) for column in values.T]
    reference = np.zeros(values.shape[1])
    return Improvement(made, np.ones(len(points)) if usable is None else usable, reference, rng)


POINTS = np.array([[0.0], [0.5], [1.0]])


@pytest.mark.campaign
@pytest.mark.parametrize("objectives", [1, 2])
def test_expected_improvement_is_the_mean_growth_of_the_volume(objectives: int) -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])[:, :objectives]
    expected = improvement(POINTS, values, draws=1)
    wanted = np.array([[0.25], [0.7], [1.6]])
    chance = np.random.default_rng(3)
    before = hypervolume(values.tolist())
    for at in wanted:
        sampled = []
        for _ in range(4_000):
            new = []
            for draw in expected._draws:
                (mean,), (sd,) = (each.ravel() for each in draw.elsewhere(at[None, :]))
                new.append(max(0.0, mean + sd * chance.standard_normal()))
            sampled.append(hypervolume([*values.tolist(), new]) - before)
        assert expected.of([at[None, :]] * objectives)[0] == pytest.approx(np.mean(sampled), rel=0.15, abs=0.003)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_a_measured_config_improves_nothing_even_with_much_noise(objectives: int) -> None:
    values = np.array([[1.0, 0.2, 0.5], [0.8, 0.7, 0.5], [0.1, 0.9, 0.5]])[:, :objectives]
    expected = improvement(POINTS, values, noise_sd=0.3, draws=16)
    again, new = expected.of([np.array([[0.5], [1.8]])] * objectives)
    assert new > 10 * again


def test_a_config_that_breaks_a_constraint_is_not_on_the_front() -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])
    all_of_them = improvement(POINTS, values).of([np.array([[0.6]])] * 2)
    without = improvement(POINTS, values, usable=np.array([1.0, 0.0, 1.0])).of([np.array([[0.6]])] * 2)
    assert without > all_of_them


def test_repeats_are_one_config_with_several_values() -> None:
    seen = Observations(2)
    row = row_of(KNOBS, DEFAULTS)
    for mb_per_s in (80, 100, 120):
        seen.add(row, [math.log(mb_per_s), -math.log(10)], {})
    seen.add(row + 1, [None, 0.0], {})
    assert len(seen) == 2
    assert seen.repeated(0) == [pytest.approx([math.log(80), math.log(100), math.log(120)])]
    assert seen.means()[0] == pytest.approx([math.log(80 * 100 * 120) / 3, -math.log(10)])
    assert seen.feasible().tolist() == [True, False], "a config without a value is not on the front"


def test_only_constraints_that_were_missed_are_learned() -> None:
    seen = Observations(1)
    seen.add(np.zeros(1), [1.0], {"held": -0.1, "delivered": 0.0})
    assert seen.missed_constraints() == []
    seen.add(np.ones(1), [1.0], {"held": 0.4, "delivered": 0.0})
    assert seen.missed_constraints() == ["held"]


def test_the_best_and_the_newest_configs_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("MOST_CONFIGS", 10), ("_KEPT_CONFIGS", 6), ("_BEST_CONFIGS", 3)):
        monkeypatch.setattr(observations_module, name, count)
    seen = Observations(2)
    for number in range(11):
        good = number in (2, 4, 5)
        seen.add(np.array([float(number)]), [200.0 + number if good else 100.0, -5.0 if good else -9.0 - number], {})
    assert [int(config.row[0]) for config in seen] == [2, 4, 5, 8, 9, 10]
    assert len(seen.measured) == 11


def test_dominance_counts_how_many_configs_are_better() -> None:
    values = np.array([[1.0, 1.0], [2.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    assert dominated_by(values).tolist() == [0, 0, 2, 0]


def test_candidates_keep_the_rules_and_differ_from_their_parents() -> None:
    candidates = Candidates(KNOBS.axes, KNOBS.allowed)
    parent = row_of(KNOBS, DEFAULTS)
    rows = candidates.around(parent[None, :], np.ones(1), np.random.default_rng(0))
    assert rows.shape == (candidates.count, len(KNOBS.axes))
    same = np.isclose(np.nan_to_num(rows, nan=9.0), np.nan_to_num(parent, nan=9.0)).all(axis=1)
    assert same.mean() < 0.25
    again = rows.copy()
    assert np.array_equal(KNOBS.allowed(again), rows, equal_nan=True)


def test_candidates_for_a_whole_number_are_whole_numbers() -> None:
    axis = PlainSpace({"level": IntDistribution(1, 9)}).axes[0]
    candidates, chance = Candidates([axis], lambda rows: rows), np.random.default_rng(0)
    made = candidates.around(np.array([[axis.position(4)]]), np.ones(1), chance)
    for rows in (made, candidates.nearby(made[-1:], 40, 0.1, chance)):
        levels = axis.numbers(rows[:, 0])
        assert levels == pytest.approx(np.rint(levels))
        assert len(set(np.rint(levels))) > 2


def test_a_held_axis_keeps_its_position_whatever_the_parents_have() -> None:
    home = row_of(KNOBS, DEFAULTS)
    parent = row_of(KNOBS, DEFAULTS.updated({"queue.buffering.max.messages": "500000", "linger.ms": "1"}))
    held, free = index_of("queue.buffering.max.messages"), index_of("linger.ms")
    candidates = Candidates(KNOBS.axes, KNOBS.allowed, held={held: home[held]})
    chance = np.random.default_rng(0)
    made = candidates.around(parent[None, :], np.ones(1), chance)
    near = candidates.nearby(made[-1:], 50, 0.1, chance)
    assert made[:, held] == pytest.approx(home[held])
    assert near[:, held] == pytest.approx(home[held])
    far = round(candidates.count * candidates.anywhere_ratio)
    assert all(len(set(rows[:, free])) > 5 for rows in (made[:far], made[far:], near))


def test_both_ends_of_a_range_can_be_proposed_exactly() -> None:
    row = row_of(KNOBS, DEFAULTS)
    batch, codec, level = (index_of(name) for name in ("batch.size", "compression.type", "compression.level.lz4"))
    row[codec] = KNOBS.axes[codec].position("lz4")
    for end, (batch_bytes, at_level) in {0.0: ("4096", "0"), 1.0: ("1048588", "12")}.items():
        row[[batch, level]] = end
        config = config_at(KNOBS, row)
        assert config.in_force.text("batch.size") == batch_bytes
        assert config.in_force.text("compression.level") == at_level
    row[batch] = 0.5
    assert config_at(KNOBS, row).in_force.text("batch.size") == "66000"


def test_a_near_change_of_a_listed_number_takes_a_neighbour() -> None:
    numbers = ("0", "0.1", "0.5", "2", "5", "20", "100")
    changes = {parameter.name: KnobChange(off=True) for parameter in SPACE.parameters if "level" not in parameter.name}
    changes["linger.ms"] = KnobChange(choices=numbers)
    knobs = KnobSpace(SearchSpace.of(1_000, DEFAULTS, changes=changes))
    candidates = Candidates(knobs.axes, knobs.allowed, count=200, anywhere_ratio=0.0, near_ratio=1.0)
    parent = row_of(knobs, DEFAULTS.updated({"linger.ms": "2"}))
    rows = candidates.around(parent[None, :], np.ones(1), np.random.default_rng(0))
    found = [config_at(knobs, row).in_force.text("linger.ms") for row in rows]
    assert "2" not in found
    assert {text for text, _ in Counter(found).most_common(2)} == {"0.5", "5"}


@pytest.mark.parametrize(
    ("client", "baseline", "changes"),
    [
        (librdkafka(), {}, {"compression.level": KnobChange(value="-1")}),
        (
            librdkafka(),
            {"compression.type": "lz4", "compression.level": "-1"},
            {"compression.level": KnobChange(off=True)},
        ),
        (java(), {}, {"partitioner.availability.timeout.ms": KnobChange(low=100, high=5_000)}),
        (java(), {}, {"compression.gzip.level": KnobChange(choices=("-1", "1", "9"))}),
    ],
)
def test_defaults_outside_a_range_do_not_hinder_proposals(
    client: Client, baseline: dict[str, str], changes: dict[str, KnobChange]
) -> None:
    knobs = KnobSpace(SearchSpace.of(1_000, ProducerConfig.parse(baseline, client), changes=changes))
    random = np.random.default_rng(0)
    rows = np.stack([axis.drawn(random, 300, 9) for axis in knobs.axes], axis=1)
    for row in knobs.allowed(rows):
        params = nearest_valid(knobs, row)
        config = knobs.space.draw(Replay(params))
        drawn = knobs.space.params_of(config)
        assert drawn is not None
        implied = knobs.implied(drawn)
        assert implied is not None
        assert knobs.space.draw(Replay(implied)) == config
