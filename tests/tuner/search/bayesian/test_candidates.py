"""The candidates that the sampler compares: they keep the rules, and vary what may vary."""

from collections import Counter

import numpy as np
import pytest
from optuna.distributions import IntDistribution

from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.tuner.search.rows import DEFAULTS, KNOBS, SPACE, config_at, index_of, row_of
from tuner.search.bayesian.axes import PlainSpace
from tuner.search.bayesian.candidates import Candidates
from tuner.search.knob_space import KnobSpace


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


def test_a_near_change_of_a_listed_number_takes_a_neighbour() -> None:
    numbers = ("0", "0.1", "0.5", "2", "5", "20", "100")
    changes = {parameter.name: KnobChange(off=True) for parameter in SPACE.parameters if "level" not in parameter.name}
    changes["linger.ms"] = KnobChange(choices=numbers)
    knobs = KnobSpace(SearchSpace.of(1_000, DEFAULTS, changes=changes))
    candidates = Candidates(knobs.axes, knobs.allowed, count=200, anywhere_ratio=0.0, near_ratio=1.0)
    parent = row_of(knobs, DEFAULTS.updated({"linger.ms": "2"}))
    rows = candidates.around(parent[None, :], np.ones(1), np.random.default_rng(0))
    found = [config_at(knobs, row).effective_values.text("linger.ms") for row in rows]
    assert "2" not in found
    assert {text for text, _ in Counter(found).most_common(2)} == {"0.5", "5"}
