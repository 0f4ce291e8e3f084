"""No search beats the known front, and every search can use the grid."""

import random
from collections.abc import Iterator

import pytest

from benchmarks.problems.front import FrontPoint, known_front
from benchmarks.problems.grid import sensible_grid
from benchmarks.problems.nearest import Nearest
from benchmarks.problems.truth import Truth
from objectives.front import dominates, hypervolume
from objectives.metrics import Direction
from runners.performance_model.constants import REMOTE
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.choosers import Random

DEFAULTS = ProducerConfig.parse({})
SPACE = SearchSpace.of(1_000, DEFAULTS)
TRUTH = Truth.of(1_000)
BETTER = (Direction.MAXIMIZE, Direction.MAXIMIZE)
SHORTFALL = 0.005


def volume(gains: list[tuple[float, float]]) -> float:
    return hypervolume(gains)


def climbed(space: SearchSpace, point: FrontPoint, steps: int, seed: int) -> Iterator[ProducerConfig]:
    """Yield configs near a point of the front, with several knobs changed at a time."""
    rng = random.Random(seed)
    answers = space.params_of(point.config)
    assert answers is not None
    for _ in range(steps):
        moved = {
            name: value if isinstance(value, str) or rng.random() < 0.5 else value * rng.lognormvariate(0, 0.2)
            for name, value in answers.items()
        }
        yield space.draw(Nearest(moved))


def shortfall(space: SearchSpace, truth: Truth, draws: int, steps: int) -> float:
    """Return by how much random draws and climbing increase the volume of the known front, as a ratio."""
    front = known_front(space, truth)
    known = [point.gains for point in front]
    chooser = Random(1)
    tried = [space.draw(chooser) for _ in range(draws)]
    for seed, point in enumerate(front):
        tried += climbed(space, point, steps, seed)
    better = [gains for gains in (truth.gains(truth.outcome(config)) for config in tried) if _beats(gains, known)]
    return volume(known + better) / volume(known) - 1.0


def _beats(gains: tuple[float, float], known: list[tuple[float, float]]) -> bool:
    return not any(each[0] >= gains[0] and each[1] >= gains[1] for each in known)


@pytest.mark.long
def test_random_configs_and_climbing_hardly_extend_the_front() -> None:
    assert 0.0 <= shortfall(SPACE, TRUTH, draws=20_000, steps=10) < SHORTFALL


@pytest.mark.long
@pytest.mark.parametrize("record_bytes", [100, 10_000])
def test_search_hardly_extends_the_front_for_other_record_sizes(record_bytes: int) -> None:
    space, truth = SearchSpace.of(record_bytes, DEFAULTS), Truth.of(record_bytes)
    assert 0.0 <= shortfall(space, truth, draws=500, steps=4) < SHORTFALL


@pytest.mark.long
def test_search_hardly_extends_the_front_of_another_cluster_and_space() -> None:
    changes = {"acks": KnobChange(choices=("1", "all")), "linger.ms": KnobChange(low=0.5, high=20)}
    space = SearchSpace.of(1_000, DEFAULTS.updated({"acks": 1}), changes=changes)
    truth = Truth.of(1_000, REMOTE, DEFAULTS.updated({"acks": 1}))
    assert 0.0 <= shortfall(space, truth, draws=500, steps=4) < SHORTFALL


def test_front_points_lie_in_the_space_and_none_beats_another() -> None:
    front = known_front(SPACE, TRUTH)
    assert len(front) >= 15
    assert [point.gains for point in front] == sorted(point.gains for point in front)
    for one in front:
        assert SPACE.params_of(one.config) is not None
        assert one.gains == TRUTH.gains(TRUTH.outcome(one.config)) > (0.0, 0.0)
        assert not any(dominates(other.gains, one.gains, BETTER) for other in front)


def test_the_front_offers_a_choice_and_beats_the_defaults() -> None:
    front = [point.gains for point in known_front(SPACE, TRUTH)]
    # Source: in our grid, the best throughput is 1.18 times the median of the defaults, and the best p99 2.7 times.
    assert 1.07 < max(throughput for throughput, _ in front) < 1.2
    assert 2.0 < max(latency for _, latency in front) < 3.0
    assert any(throughput > 1.04 and latency > 2.0 for throughput, latency in front)
    # The config that is best in one objective is much worse in the other one.
    (best_latency, _), (_, at_most_throughput) = front[0], front[-1]
    assert best_latency < 0.8 * front[-1][0]
    assert at_most_throughput < 0.5 * front[0][1]


def test_the_front_is_computed_once() -> None:
    assert known_front(SPACE, TRUTH) is known_front(SearchSpace.of(1_000, DEFAULTS), Truth.of(1_000))


def test_the_baseline_has_gains_of_one() -> None:
    assert TRUTH.gains(TRUTH.outcome(DEFAULTS)) == (1.0, 1.0)
    assert TRUTH.standard == TRUTH.outcome(DEFAULTS)
    assert TRUTH.rate_records_per_s == pytest.approx(0.3 * TRUTH.standard.mb_per_s * 1e6 / 1_000)


def test_a_config_that_can_t_hold_the_rate_gains_nothing() -> None:
    slow = TRUTH.outcome(ProducerConfig.parse({"compression.type": "gzip", "compression.level": 9}))
    assert not slow.feasible
    assert TRUTH.gains(slow) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("record_bytes", "configs"), [(10, 1_155), (100, 1_260), (1_000, 1_260), (10_000, 1_260), (100_000, 945)]
)
def test_the_grid_is_always_the_same(record_bytes: int, configs: int) -> None:
    space = SearchSpace.of(record_bytes, DEFAULTS)
    grid = sensible_grid(space)
    assert len(set(grid)) == len(grid) == configs
    assert grid == sensible_grid(SearchSpace.of(record_bytes, DEFAULTS))
    assert all(space.params_of(config) is not None for config in grid[::25])


def test_the_grid_contains_the_special_values() -> None:
    effective_values = [config.effective_values for config in sensible_grid(SPACE)]
    assert {force.number("linger.ms") for force in effective_values} == {0, 0.1, 0.5, 2, 5, 20, 100}
    assert {force.integer("max.in.flight") for force in effective_values} == {1, 5, 1_000_000}
    assert {force.text("compression.type") for force in effective_values} == {"none", "snappy", "lz4", "zstd", "gzip"}


def test_the_grid_comes_close_to_the_front_but_does_not_contain_it() -> None:
    """So a sampler that leaves the grid can do better than one that measures the whole grid."""
    of_grid = volume([TRUTH.gains(TRUTH.outcome(config)) for config in sensible_grid(SPACE)])
    best = volume([point.gains for point in known_front(SPACE, TRUTH)])
    assert 0.8 < of_grid / best < 0.99
