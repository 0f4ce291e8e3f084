"""A search space, its configs as rows of the coordinates that a sampler computes with, and the way back."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tests.helpers.choosers import Replay
from tuner.regression.solving import Array
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
