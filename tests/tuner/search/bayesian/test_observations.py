"""What the sampler keeps of the trials: configs, repeats and missed constraints."""

import math

import numpy as np
import pytest

from tests.tuner.search.rows import DEFAULTS, KNOBS, row_of
from tuner.search.bayesian import observations as observations_module
from tuner.search.bayesian.observations import Observations


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
