"""Tests of starting points: they must lie in the space, keep the floor, and suit the baseline."""

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from search_spaces import Guarantee, KnobChange, ProducerConfig, SearchSpace, Value, check_record
from search_spaces.client_facts.knobs import StartingPoint
from search_spaces.librdkafka.knobs import STARTING_POINTS
from tests.helpers.choosers import Replay
from tests.helpers.spaces import BASELINES, spaces

DEFAULTS = ProducerConfig.parse({})


@pytest.mark.parametrize("point", STARTING_POINTS, ids=lambda point: ",".join(point.changes.values()))
def test_every_starting_point_is_a_config_and_has_a_source(point: StartingPoint) -> None:
    assert point.source.strip()
    assert point.changes
    assert ProducerConfig.parse(point.changes) != DEFAULTS


def test_all_starting_points_differ() -> None:
    assert len({ProducerConfig.parse(point.changes) for point in STARTING_POINTS}) == len(STARTING_POINTS)


@pytest.mark.parametrize("record_bytes", [10, 100, 1_000])
def test_all_starting_points_suit_the_clients_defaults(record_bytes: int) -> None:
    found = list(SearchSpace.of(record_bytes, DEFAULTS).starting_points(DEFAULTS))
    assert found == [ProducerConfig.parse(point.changes) for point in STARTING_POINTS]


def test_a_starting_point_with_another_codec_does_not_keep_the_old_codecs_level() -> None:
    baseline = ProducerConfig.parse({"compression.type": "gzip", "compression.level": "9"})
    found = [each for each in SearchSpace.of(1_000, baseline).starting_points(baseline) if each.compression != "gzip"]
    assert found
    assert all("compression.level" not in each.values for each in found)


@settings(max_examples=30)
@given(spaces(), st.sampled_from(BASELINES))
def test_starting_points_lie_in_the_space_and_keep_the_floor(
    space: SearchSpace | Exception, values: dict[str, Value]
) -> None:
    if isinstance(space, Exception):
        return
    found = list(space.starting_points(ProducerConfig.parse(values)))
    event("some" if found else "none")
    for config in found:
        params = space.params_of(config)
        assert params is not None
        drawn = space.draw(Replay(params))
        assert {name: drawn.effective(name) for name in config.values} == {
            name: config.effective(name) for name in config.values
        }
        assert Guarantee.of(config).at_least(space.floor)
        check_record(config, space.sizes.record_bytes, space.sizes.key_bytes or None)


def test_starting_points_keep_the_rest_of_the_baseline() -> None:
    baseline = ProducerConfig.parse({"acks": "1", "partitioner": "murmur2", "linger.ms": 50})
    found = list(SearchSpace.of(1_000, baseline).starting_points(baseline))
    assert len(found) == len(STARTING_POINTS)
    for config, point in zip(found, STARTING_POINTS, strict=True):
        assert config == baseline.updated(point.changes)
        assert config.values["partitioner"] == "murmur2"


def test_a_baseline_below_the_floor_has_no_starting_points() -> None:
    baseline = ProducerConfig.parse({"acks": "1"})
    space = SearchSpace.of(1_000, DEFAULTS, floor=Guarantee(acks=-1, ordered=False, idempotent=False))
    assert list(space.starting_points(baseline)) == []


def test_a_point_that_breaks_a_rule_with_the_baseline_is_left_out() -> None:
    """A linger of 20 ms does not suit a delivery timeout of 15 ms."""
    baseline = ProducerConfig.parse({"delivery.timeout.ms": 15, "request.timeout.ms": 10, "linger.ms": 1})
    space = SearchSpace.of(1_000, baseline)
    found = [config.linger_ms for config in space.starting_points(baseline)]
    assert 20.0 not in found
    assert 1.0 in found


def test_points_outside_a_changed_range_are_left_out() -> None:
    space = SearchSpace.of(1_000, DEFAULTS, changes={"linger.ms": KnobChange(low=30, high=60)})
    assert list(space.starting_points(DEFAULTS)) == []
    space = SearchSpace.of(1_000, DEFAULTS, changes={"compression.type": KnobChange(value="none")})
    assert {config.compression for config in space.starting_points(DEFAULTS)} == {"none"}
