"""Configs of a space as rows of coordinates, and back: what a model learns from, and what it proposes."""

import math
from collections.abc import Sequence

import numpy as np

from search_spaces.dependencies import IDEMPOTENT_BOUNDS, orderings
from search_spaces.domains import Numbers, ParamValue, Words
from search_spaces.knobs import IDEMPOTENCE, IN_FLIGHT, LEVEL, LEVEL_KNOBS
from search_spaces.producer_config import ProducerConfig, spelt_out
from search_spaces.space import SearchSpace
from tuner.search.bayesian.axes import Axis
from tuner.search.bayesian.solving import Array


class Coordinates:
    """One axis per parameter of a space.

    Attributes:
        space: Whose configs these are.
        axes: In the order of the space's parameters.
        groups: The axis behind each feature, shape (features,).
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.axes = tuple(Axis(parameter.name, parameter.domain) for parameter in space.parameters)
        self.groups = np.repeat(np.arange(len(self.axes)), [axis.features for axis in self.axes])
        self._sets = tuple(parameter.sets for parameter in space.parameters)
        self._place = {axis.name: place for place, axis in enumerate(self.axes)}

    def row(self, config: ProducerConfig) -> Array | None:
        """Where a config lies, shape (axes,); None outside of the space."""
        in_force = config.in_force
        codec = in_force.text("compression.type")
        found = np.full(len(self.axes), math.nan)
        for place, (axis, sets) in enumerate(zip(self.axes, self._sets, strict=True)):
            if axis.name in LEVEL_KNOBS and axis.name != f"{LEVEL}.{codec}":
                continue
            position = axis.position(spelt_out(in_force, sets))
            if position is None:
                return None
            found[place] = position
        return np.asarray(self.allowed(found[None, :])[0])

    def features(self, rows: Array) -> Array:
        """What a kernel sees. Shapes: (configs, axes) to (configs, features)."""
        return np.concatenate([axis.seen(rows[:, place]) for place, axis in enumerate(self.axes)], axis=1)

    def allowed(self, rows: Array) -> Array:
        """The rows as the rules between knobs leave them: what a config drawn from them will be, near enough.

        Shape (configs, axes), changed in place and given back.
        """
        self._silence_levels(rows)
        self._keep_idempotence(rows)
        for ordering in orderings(self.space.sizes):
            small, large = self._place.get(ordering.small), self._place.get(ordering.large)
            if small is None or large is None or not _is_range(self.axes[small]):
                continue
            limit = self.axes[large].values(rows[:, large])
            most = np.where(limit == ordering.unlimited, math.inf, limit * ordering.factor - ordering.gap)
            rows[:, small] = _at_most(self.axes[small], rows[:, small], most)
        return rows

    def draw(self, row: Array) -> tuple[ProducerConfig, dict[str, ParamValue]]:
        """The config at a row, moved to the nearest that the space has, and the answers that give it."""
        chooser = _AtRow(self.axes, row)
        return self.space.draw(chooser), chooser.params

    def _silence_levels(self, rows: Array) -> None:
        place = self._place.get("compression.type")
        if place is None:
            return
        words = self.axes[place].domain
        assert isinstance(words, Words)
        for word, codec in enumerate(words.canonical):
            level = self._place.get(f"{LEVEL}.{codec}")
            if level is None:
                continue
            here = rows[:, place] == word
            rows[~here, level] = math.nan
            # The lowest level is the quickest; what was not chosen begins there.
            rows[here & np.isnan(rows[:, level]), level] = 0.0

    def _keep_idempotence(self, rows: Array) -> None:
        place = self._place.get(IDEMPOTENCE)
        if place is None:
            return
        words = self.axes[place].domain
        assert isinstance(words, Words)
        if "true" not in words.canonical:
            return
        idempotent = rows[:, place] == words.canonical.index("true")
        acks = self._place.get("acks")
        if acks is not None:
            domain = self.axes[acks].domain
            assert isinstance(domain, Words)
            safe = rows[:, acks] == (domain.canonical.index("-1") if "-1" in domain.canonical else math.nan)
            rows[~safe, place] = math.nan
            idempotent &= safe
        for name, (_, high) in IDEMPOTENT_BOUNDS.items():
            bounded = self._place.get(name)
            if bounded is not None and _is_range(self.axes[bounded]):
                # Who may neither reorder nor repeat has one request under way, or is idempotent.
                plain = 1.0 if name == IN_FLIGHT and self.space.floor.ordered else math.inf
                most = np.where(idempotent, high, plain)
                rows[:, bounded] = _at_most(self.axes[bounded], rows[:, bounded], most)


class _AtRow:
    """A `Chooser` that answers with the coordinates of a row, moved into the bounds offered."""

    def __init__(self, axes: Sequence[Axis], row: Array) -> None:
        self._at = {axis.name: (axis, float(position)) for axis, position in zip(axes, row, strict=True)}
        self.params: dict[str, ParamValue] = {}

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """See `Chooser.integer`."""
        axis, position = self._at[name]
        value = round(_readable(axis.answer(position, low, high), low, high))
        self.params[name] = value
        return value

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """See `Chooser.real`."""
        axis, position = self._at[name]
        value = _readable(axis.answer(position, low, high), low, high)
        self.params[name] = value
        return value

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """See `Chooser.choice`."""
        axis, position = self._at[name]
        word = axis.word(position, choices)
        self.params[name] = word
        return word


def _readable(value: float, low: float, high: float) -> float:
    """Two digits are as fine as measurements tell configs apart, and easier to read than eight; ends are kept whole."""
    nearest = min((low, high), key=lambda end: abs(value - end))
    return nearest if math.isclose(value, nearest) else min(high, max(low, float(f"{value:.2g}")))


def _is_range(axis: Axis) -> bool:
    return not isinstance(axis.domain, (Words, Numbers))


def _at_most(axis: Axis, positions: Array, most: Array) -> Array:
    """Positions of values that are at most `most`, in the knob's unit."""
    values = axis.values(positions)
    span_low, _ = axis.domain.span if not isinstance(axis.domain, Words) else (0.0, 0.0)
    bounded = axis.at(np.maximum(span_low, np.where(np.isfinite(most), most, np.maximum(values, span_low))))
    return np.where(values > most, bounded, positions)
