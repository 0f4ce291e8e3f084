"""Tests of the grid of a search space: its size, its order, and the configs that the rules leave."""

from itertools import islice

import pytest
from hypothesis import event, given, settings

from search_spaces import DURABILITY, KnobChange, ProducerConfig, SearchSpace
from tests.helpers.spaces import spaces

DEFAULTS = ProducerConfig.parse({})
ALL_ENUMERATED = 200


@settings(max_examples=25, deadline=None)
@given(spaces())
def test_a_grid_has_distinct_configs_of_the_space_and_the_stated_size(space: SearchSpace | Exception) -> None:
    if isinstance(space, Exception):
        return
    size = space.grid_size(2)
    if size > ALL_ENUMERATED:
        event("too many to enumerate")
        return
    configs = list(space.grid(2))
    assert len(configs) == len(set(configs)) == size <= space.raw_grid_size(2)
    assert space.params_of(configs[-1]) is not None


def only(**knobs: int) -> dict[str, KnobChange]:
    """Return changes that search only the given knobs (`_` for `.`), each with the given number of steps."""
    changes = {parameter.name: KnobChange(off=True) for parameter in SearchSpace.of(1_000, DEFAULTS).parameters}
    return {**changes, **{name.replace("_", "."): KnobChange(steps=steps) for name, steps in knobs.items()}}


def test_a_grid_has_the_ends_and_points_between_in_a_fixed_order() -> None:
    space = SearchSpace.of(1_000, DEFAULTS, changes=only(batch_size=3, linger_ms=2))
    points = [(config.max_batch_bytes, config.linger_ms) for config in space.grid()]
    assert points == [(4096, 0), (4096, 100), (65536, 0), (65536, 100), (1_048_588, 0), (1_048_588, 100)]
    assert list(space.grid()) == list(space.grid())


def test_a_grid_has_all_choices_and_a_single_step_is_the_middle() -> None:
    changes = only(linger_ms=1) | {"batch.size": KnobChange(choices=("65536", "16384", "8192", "4096"))}
    configs = list(SearchSpace.of(1_000, DEFAULTS, changes=changes).grid(2))
    assert [config.max_batch_bytes for config in configs] == [4096, 8192, 16384, 65536]
    assert {config.linger_ms for config in configs} == {1.414}


def test_forbidden_and_equal_combinations_are_left_out() -> None:
    changes = only() | {
        "compression.type": KnobChange(choices=("none", "gzip")),
        "compression.level.gzip": KnobChange(steps=9),
        "enable.idempotence": KnobChange(),
        "max.in.flight.requests.per.connection": KnobChange(choices=("1", "5", "50")),
    }
    space = SearchSpace.of(1_000, DEFAULTS, changes=changes)
    # Idempotent with 1 or 5 requests in flight, or not idempotent with 1, 5 or 50. No codec, or gzip at nine levels.
    assert space.grid_size() == 5 * 10
    assert space.raw_grid_size() == 2 * 3 * 2 * 9
    assert space.combinations_text() == "50 of 108 combinations; the other 58 would be refused or be duplicates"
    unrestricted = SearchSpace.of(1_000, DEFAULTS, changes=only() | {"linger.ms": KnobChange(choices=("0", "5"))})
    assert unrestricted.combinations_text() == "2 combinations"
    assert "an idempotent producer may have at most 5 requests in flight" in space.rules
    assert space.rules[0] == "the guarantee of every config is at least: acks=all, may reorder on retry"


def test_a_huge_grid_is_counted_and_started_quickly() -> None:
    space = SearchSpace.of(10, DEFAULTS, floor=DURABILITY["any"])
    assert space.grid_size(10) > 10_000_000
    assert len(set(islice(space.grid(10), 50))) == 50


def test_a_grid_without_knobs_is_the_baseline() -> None:
    space = SearchSpace.of(1_000, DEFAULTS, changes=only())
    assert list(space.grid()) == [DEFAULTS]
    assert space.grid_size() == space.raw_grid_size() == 1


def test_a_grid_without_steps_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one step, but got 0"):
        SearchSpace.of(1_000, DEFAULTS).grid_size(0)
