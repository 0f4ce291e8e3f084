"""The knobs of a search as axes: configs and rows stand for each other, and rules hold."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_spaces.client import Client, java, librdkafka
from search_spaces.client_facts.domains import Range
from search_spaces.client_facts.knobs import IN_FLIGHT
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from search_spaces.space.parameters import KnobChange
from search_spaces.space.search_space import SearchSpace
from tests.helpers.choosers import Replay
from tests.helpers.spaces import spaces
from tests.tuner.search.rows import DEFAULTS, KNOBS, config_at, index_of, nearest_valid, row_of, row_of_implied
from tuner.search.bayesian.candidates import Candidates
from tuner.search.knob_space import KnobSpace


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


def test_both_ends_of_a_range_can_be_proposed_exactly() -> None:
    row = row_of(KNOBS, DEFAULTS)
    batch, codec, level = (index_of(name) for name in ("batch.size", "compression.type", "compression.level.lz4"))
    row[codec] = KNOBS.axes[codec].position("lz4")
    for end, (batch_bytes, at_level) in {0.0: ("4096", "0"), 1.0: ("1048588", "12")}.items():
        row[[batch, level]] = end
        config = config_at(KNOBS, row)
        assert config.effective_values.text("batch.size") == batch_bytes
        assert config.effective_values.text("compression.level") == at_level
    row[batch] = 0.5
    assert config_at(KNOBS, row).effective_values.text("batch.size") == "66000"


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
