"""The parts of the sampler of our own: coordinates, the Gaussian process, expected improvement, what is kept."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from objectives.front import hypervolume
from search_spaces.errors import ConfigError
from search_spaces.knob_change import KnobChange
from search_spaces.producer_config import ProducerConfig
from search_spaces.space import SearchSpace
from tests.builders.trials import OBJECTIVES, baseline, trial
from tests.search_spaces_tests.choosers import Replay
from tests.search_spaces_tests.spaces import spaces
from tuner.search.bayesian import known as known_module
from tuner.search.bayesian.candidates import Candidates
from tuner.search.bayesian.coordinates import Coordinates
from tuner.search.bayesian.improvement import Draws, Improvement
from tuner.search.bayesian.known import Known, dominated_by
from tuner.search.bayesian.process import Prior, Process
from tuner.search.bayesian.solving import Array

DEFAULTS = ProducerConfig.parse({})
SPACE = SearchSpace.of(1_000, DEFAULTS)
COORDINATES = Coordinates(SPACE)
ONE_AXIS = np.zeros(1, dtype=int)


def place(name: str) -> int:
    return [axis.name for axis in COORDINATES.axes].index(name)


def prior(axes: int = 1, *, mean: float = 0.0, length: float = 0.5) -> Prior:
    return Prior(mean, 0.5, 1.0, 0.5, np.full(axes, length), 1.0, 0.1)


def fitted(points: Array, values: Array, noise_sd: float = 1e-3, *, mean: float = 0.0) -> Process:
    axes = points.shape[1]
    return Process.fitted(points, np.arange(axes), values, np.full(len(values), noise_sd), prior(axes, mean=mean))


@settings(max_examples=60, deadline=None)
@given(spaces(), st.integers(0, 1_000))
def test_what_is_drawn_lies_in_the_space_and_is_drawn_again_from_where_it_lies(
    space: SearchSpace | ConfigError, seed: int
) -> None:
    if isinstance(space, ConfigError):
        return
    coordinates = Coordinates(space)
    for row in Candidates(coordinates).anywhere(5, np.random.default_rng(seed)):
        config, params = coordinates.draw(row)
        assert space.draw(Replay(params)) == config
        at = coordinates.row(config)
        assert at is not None
        again = coordinates.row(coordinates.draw(at)[0])
        assert again is not None
        for axis, wanted, got in zip(coordinates.axes, at, again, strict=True):
            if axis.words or math.isnan(wanted):
                assert wanted == got or (math.isnan(wanted) and math.isnan(got)), axis.name
                continue
            there, back = axis.values(np.array([wanted, got]))
            # Two digits are kept of what a rule has cut.
            assert back == pytest.approx(there, rel=0.06, abs=0.51 if axis.whole else 0.002), axis.name


def test_a_special_value_lies_outside_of_its_range_on_its_own_side() -> None:
    linger = COORDINATES.axes[place("linger.ms")]
    in_flight = COORDINATES.axes[place("max.in.flight.requests.per.connection")]
    assert (linger.position("0.05"), linger.position("100")) == (0.0, 1.0)
    waits_not, no_limit = linger.position("0"), in_flight.position("1000000")
    assert waits_not is not None
    assert waits_not < 0
    assert no_limit is not None
    assert no_limit > 1
    assert linger.position("899000") is None


def test_a_level_means_nothing_beside_another_codec_and_idempotence_bounds_requests() -> None:
    rows = np.tile(COORDINATES.row(DEFAULTS), (2, 1))  # type: ignore[arg-type]
    codec, level = place("compression.type"), place("compression.level.zstd")
    in_flight = place("max.in.flight.requests.per.connection")
    words = COORDINATES.axes[codec].domain.values  # type: ignore[union-attr]
    rows[:, codec] = [words.index("lz4"), words.index("zstd")]
    rows[:, level] = 1.0
    rows[:, place("enable.idempotence")] = [1.0, 0.0]
    allowed = COORDINATES.allowed(rows)
    assert math.isnan(allowed[0, level])
    assert allowed[1, level] == 1.0
    assert COORDINATES.axes[in_flight].values(allowed[:, in_flight]).round().tolist() == [5, 1_000_000]


def test_a_process_gives_back_what_it_saw_and_knows_nothing_far_away() -> None:
    points = np.linspace(0, 1, 6)[:, None]
    process = fitted(points, np.sin(3 * points[:, 0]), mean=0.5)
    mean, sd = process.believed(points)
    assert mean == pytest.approx(np.sin(3 * points[:, 0]), abs=0.01)
    assert sd.max() < 0.01
    (between,), (near_sd,) = process.believed(np.array([[0.5]]))
    assert between == pytest.approx(math.sin(1.5), abs=0.02)
    _, (far_sd,) = process.believed(np.array([[30.0]]))
    assert far_sd > 10 * near_sd


def test_a_process_takes_noise_for_noise() -> None:
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


def test_without_values_a_process_believes_its_prior() -> None:
    empty = fitted(np.zeros((0, 2)), np.zeros(0), mean=3.0)
    mean, sd = empty.believed(np.array([[0.5, 0.5]]))
    assert (mean[0], sd[0]) == pytest.approx((3.0, math.sqrt(1.25)))


def improvement(
    points: Array, values: Array, usable: Array | None = None, draws: int = 4, noise_sd: float = 1e-3
) -> Improvement:
    """Of a front of these values (points, objectives), over the origin."""
    rng = np.random.default_rng(0)
    made = [Draws.of(fitted(points, column, noise_sd), points, draws, rng) for column in values.T]
    reference = np.zeros(values.shape[1])
    return Improvement(made, np.ones(len(points)) if usable is None else usable, reference, rng)


POINTS = np.array([[0.0], [0.5], [1.0]])


@pytest.mark.parametrize("objectives", [1, 2])
def test_expected_improvement_is_the_mean_growth_of_the_volume(objectives: int) -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])[:, :objectives]
    expected = improvement(POINTS, values, draws=1)
    wanted = np.array([[0.25], [0.7], [1.6]])
    chance = np.random.default_rng(3)
    for at in wanted:
        sampled = []
        for _ in range(4_000):
            new = []
            for draw in expected._draws:
                (mean,), (sd,) = (each.ravel() for each in draw.elsewhere(at[None, :]))
                new.append(max(0.0, mean + sd * chance.standard_normal()))
            sampled.append(hypervolume([*values.tolist(), new]) - hypervolume(values.tolist()))
        assert expected.of(at[None, :])[0] == pytest.approx(np.mean(sampled), rel=0.15, abs=0.003)


@pytest.mark.parametrize("objectives", [1, 2, 3])
def test_what_was_measured_already_improves_nothing_even_where_noise_hides_the_front(objectives: int) -> None:
    values = np.array([[1.0, 0.2, 0.5], [0.8, 0.7, 0.5], [0.1, 0.9, 0.5]])[:, :objectives]
    expected = improvement(POINTS, values, noise_sd=0.3, draws=16)
    again, new = expected.of(np.array([[0.5], [1.8]]))
    assert new > 10 * again


def test_a_config_that_breaks_a_constraint_is_none_of_the_front() -> None:
    values = np.array([[1.0, 0.2], [0.8, 0.7], [0.1, 0.9]])
    all_of_them = improvement(POINTS, values).of(np.array([[0.6]]))
    without = improvement(POINTS, values, usable=np.array([1.0, 0.0, 1.0])).of(np.array([[0.6]]))
    assert without > all_of_them


def test_baselines_say_how_large_the_noise_is_and_what_there_is_to_beat() -> None:
    known = Known(OBJECTIVES)
    row = COORDINATES.row(DEFAULTS)
    for number, mb_per_s in enumerate((80, 100, 120)):
        known.add(baseline(number, mb_per_s, 10.0), row)
    assert known.reference == pytest.approx([math.log(100), -math.log(10)])
    assert len(known) == 1
    assert known.noise_sd(0) > 2 * known.noise_sd(1)


def test_only_constraints_that_were_missed_are_learned_from() -> None:
    known = Known(OBJECTIVES)
    row = COORDINATES.row(DEFAULTS)
    known.add(baseline(0), row)
    assert known.constraints() == []
    known.add(trial(1, metrics={"held_rate_ratio": 0.5}), row)
    assert known.constraints() == ["held_rate_ratio >= 0.95"]


def test_the_best_and_the_newest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, count in (("MOST_CONFIGS", 10), ("_KEPT_CONFIGS", 6), ("_BEST_CONFIGS", 3)):
        monkeypatch.setattr(known_module, name, count)
    known = Known(OBJECTIVES)
    for number in range(11):
        good = number in (2, 4, 5)
        known.add(trial(number, 200.0 + number if good else 100.0, 5.0 if good else 9.0 + number), np.array([number]))
    assert [int(config.row[0]) for config in known] == [2, 4, 5, 8, 9, 10]
    assert len(known.measured) == 11


def test_who_is_dominated_and_how_often() -> None:
    values = np.array([[1.0, 1.0], [2.0, 0.0], [0.5, 0.5], [1.0, 1.0]])
    assert dominated_by(values).tolist() == [0, 0, 2, 0]


def test_candidates_obey_the_rules_and_differ_from_their_parents() -> None:
    candidates = Candidates(COORDINATES)
    parent = COORDINATES.row(DEFAULTS)
    assert parent is not None
    rows = candidates.around(parent[None, :], np.ones(1), np.random.default_rng(0))
    assert rows.shape == (candidates.count, len(COORDINATES.axes))
    same = np.isclose(np.nan_to_num(rows, nan=9.0), np.nan_to_num(parent, nan=9.0)).all(axis=1)
    assert same.mean() < 0.25
    again = rows.copy()
    assert np.array_equal(COORDINATES.allowed(again), rows, equal_nan=True)


def test_what_is_held_stays_at_home_whatever_parents_have_there() -> None:
    home = COORDINATES.row(DEFAULTS)
    parent = COORDINATES.row(DEFAULTS.updated({"queue.buffering.max.messages": "500000", "linger.ms": "1"}))
    assert home is not None
    assert parent is not None
    held, free = place("queue.buffering.max.messages"), place("linger.ms")
    candidates = Candidates(COORDINATES, held={held: home[held]})
    chance = np.random.default_rng(0)
    made = candidates.around(parent[None, :], np.ones(1), chance)
    near = candidates.nearby(made[-1:], 50, 0.1, chance)
    assert made[:, held] == pytest.approx(home[held])
    assert near[:, held] == pytest.approx(home[held])
    far = round(candidates.count * candidates.anywhere_ratio)
    assert all(len(set(rows[:, free])) > 5 for rows in (made[:far], made[far:], near))


def test_both_ends_of_a_range_can_be_proposed_as_they_are() -> None:
    row = COORDINATES.row(DEFAULTS)
    assert row is not None
    batch, codec, level = place("batch.size"), place("compression.type"), place("compression.level.lz4")
    row[codec] = COORDINATES.axes[codec].domain.values.index("lz4")  # type: ignore[union-attr]
    for end, (batch_bytes, at_level) in {0.0: ("4096", "0"), 1.0: ("1048588", "12")}.items():
        row[[batch, level]] = end
        config, _ = COORDINATES.draw(row)
        assert config.in_force.text("batch.size") == batch_bytes
        assert config.in_force.text("compression.level") == at_level
    row[batch] = 0.5
    assert COORDINATES.draw(row)[0].in_force.text("batch.size") == "66000"


def test_of_some_numbers_a_close_one_is_another_one() -> None:
    numbers = ("0", "0.1", "0.5", "2", "5", "20", "100")
    changes = {parameter.name: KnobChange(off=True) for parameter in SPACE.parameters if "level" not in parameter.name}
    changes["linger.ms"] = KnobChange(choices=numbers)
    coordinates = Coordinates(SearchSpace.of(1_000, DEFAULTS, changes=changes))
    candidates = Candidates(coordinates, count=200, anywhere_ratio=0.0, near_ratio=1.0)
    parent = coordinates.row(DEFAULTS.updated({"linger.ms": "2"}))
    assert parent is not None
    rows = candidates.around(parent[None, :], np.ones(1), np.random.default_rng(0))
    found = [coordinates.draw(row)[0].in_force.text("linger.ms") for row in rows]
    assert "2" not in found
    assert {text for text, _ in Counter(found).most_common(2)} == {"0.5", "5"}
