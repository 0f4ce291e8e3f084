"""Kafka's knobs (properties that the search may change) as parameters of an Optuna study.

Each parameter has a distribution. Rules between knobs limit the values further: for example, the producer refuses
idempotence without acks=all.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.trial import FrozenTrial, TrialState, create_trial

from search_spaces.client import ClientValues
from search_spaces.client_facts.bounds import Ordering
from search_spaces.client_facts.domains import Domain, NumberList, ParamValue, Range, WordList
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.dependencies import is_drawn
from search_spaces.space.parameters import Parameter
from search_spaces.space.search_space import SearchSpace
from tuner.model.trial import Trial
from tuner.regression.solving import Array
from tuner.search.bayesian.axes import Axis

_ALL_ACKS: Final = "-1"

optuna.logging.set_verbosity(optuna.logging.WARNING)


class KnobSpace:
    """The search space of one record size, as parameters of an Optuna study.

    Attributes:
        space: The search space that the knobs come from.
        distributions: By parameter, the Optuna distribution of all values that occur in the space. Rules between knobs
            may allow fewer values in a single config.
        axes: One axis per parameter, in the order of the space. An axis maps the parameter's values to coordinates for
            the sampler.
    """

    def __init__(self, space: SearchSpace) -> None:
        self.space = space
        self.axes = tuple(_axis(parameter) for parameter in space.parameters)
        self.distributions: dict[str, BaseDistribution] = {axis.name: axis.distribution for axis in self.axes}
        self._domains = {parameter.name: parameter.domain for parameter in space.parameters}
        self._index = {axis.name: index for index, axis in enumerate(self.axes)}

    def nearest_valid(self, values: Mapping[str, Any]) -> dict[str, ParamValue]:
        """Return the parameters of the valid config that comes closest to the given values.

        Args:
            values: A value for each parameter. Numbers are moved into the bounds that the rules leave, and rounded to
                two significant digits.
        """
        return self._implied(self.space.draw(_NearestChooser(values)))

    def implied(self, params: Mapping[str, ParamValue]) -> dict[str, ParamValue] | None:
        """Return the given parameters, and the further parameters whose values follow from them.

        Returns:
            All parameters of the config; None if the config lies outside the search space.
        """
        try:
            return self._implied(self.space.draw(_RecordingChooser(params)))
        except ValueError:
            return None

    def distributions_of(self, params: Mapping[str, ParamValue]) -> dict[str, BaseDistribution]:
        """Return the distributions from which the parameters of a config are drawn.

        These distributions differ from config to config, because some parameters limit others.

        Raises:
            ValueError: The parameters do not belong to this space.
        """
        recorder = _RecordingChooser(params)
        self.space.draw(recorder)
        return recorder.distributions

    def allowed(self, rows: Array) -> Array:
        """Change configs so that they keep the rules between knobs.

        The result is close to that of `nearest_valid`, but is cheaper to compute for many configs.

        Args:
            rows: The coordinates of one config per row, shape (configs, axes); changed in place.

        Returns:
            The same array.
        """
        self._unset_other_levels(rows)
        self._keep_idempotence(rows)
        for ordering in self.space.client.bounds.orderings(self.space.sizes):
            small, large = self._index.get(ordering.small), self._index.get(ordering.large)
            if small is not None and large is not None and isinstance(self._domains[ordering.small], Range):
                limit = self._numbers(large, rows[:, large])
                rows[:, small] = self._at_most(small, rows[:, small], _upper_bound(ordering, limit))
        return rows

    def effective_values(self, rows: Array) -> list[ClientValues]:
        """Return the effective values of the configs at the given coordinates.

        The configs are not rounded or checked, because that would take ten times as long. So the values are only good
        enough for estimates.

        Args:
            rows: The coordinates of one config per row, shape (configs, axes), as `allowed` returns them.
        """
        client, sizes, fixed = self.space.client, self.space.sizes, self.space.fixed
        columns = [
            (parameter.sets, _texts(parameter.domain, axis, rows[:, index]))
            for index, (parameter, axis) in enumerate(zip(self.space.parameters, self.axes, strict=True))
        ]
        found = []
        for position in range(len(rows)):
            values = {**fixed, **{name: text for name, texts in columns if (text := texts[position])}}
            adjusted = client.bounds.adjusted(client.effective_values(values), sizes)
            found.append(client.effective_values({**values, **adjusted}))
        return found

    def _implied(self, config: ProducerConfig) -> dict[str, ParamValue]:
        """Return the values of all parameters that have an effect in a config, including defaults.

        A default outside the range of its parameter is left out if the search does not draw this parameter for the
        config.

        Raises:
            ValueError: A value of the config lies outside the range of its parameter.
        """
        effective_values = config.effective_values
        codec = effective_values.text("compression.type")
        implied: dict[str, ParamValue] = {}
        for parameter in self.space.parameters:
            if parameter.codec not in ("", codec):
                continue
            # A range of levels may hold -1, which stands for the codec's default, or the number of this default.
            texts = effective_values.text(parameter.sets), effective_values.spelt_out(parameter.sets)
            answers = [answer for text in texts if (answer := parameter.domain.answer(text)) is not None]
            if answers:
                implied[parameter.name] = answers[0]
            elif is_drawn(parameter, effective_values):
                raise ValueError(f"the value of {parameter.name} lies outside its range, {parameter.text}")
        return implied

    def _unset_other_levels(self, rows: Array) -> None:
        """Set the compression levels to NaN in each config, except for the level of the codec that the config uses."""
        codec = self._index.get("compression.type")
        if codec is None:
            return
        for word, name in enumerate(self._words("compression.type")):
            knob = self.space.client.level_knobs.get(name)
            level = None if knob is None else self._index.get(knob.name)
            if level is None:
                continue
            here = rows[:, codec] == word
            rows[~here, level] = math.nan
            # A config that has just got this codec starts at the codec's lowest level, which is the fastest.
            rows[here & np.isnan(rows[:, level]), level] = 0.0

    def _keep_idempotence(self, rows: Array) -> None:
        """Unset idempotence in configs without acks=all, and apply the bounds that idempotence sets on other knobs."""
        idempotence = self._index.get(IDEMPOTENCE)
        if idempotence is None or "true" not in self._words(IDEMPOTENCE):
            return
        idempotent = rows[:, idempotence] == self._words(IDEMPOTENCE).index("true")
        acks = self._index.get("acks")
        if acks is not None:
            words = self._words("acks")
            safe = rows[:, acks] == (words.index(_ALL_ACKS) if _ALL_ACKS in words else math.nan)
            rows[~safe, idempotence] = math.nan
            idempotent &= safe
        for name, (_, high) in self.space.client.bounds.idempotent_numbers.items():
            bounded = self._index.get(name)
            if bounded is not None and isinstance(self._domains[name], Range):
                # Without idempotence, a producer keeps the order of records only with one request in flight.
                plain = 1.0 if name == IN_FLIGHT and self.space.floor.ordered else math.inf
                most = np.where(idempotent, high, plain)
                rows[:, bounded] = self._at_most(bounded, rows[:, bounded], most)

    def _words(self, name: str) -> Sequence[str]:
        """Return the words that a knob can have, such as codecs; a word's coordinate is its index in this list."""
        domain = self._domains[name]
        assert isinstance(domain, WordList)
        return domain.canonical

    def _numbers(self, index: int, positions: Array) -> Array:
        """Return the numbers at the given coordinates, in the knob's unit; this includes special values, such as -1."""
        axis = self.axes[index]
        domain, found = self._domains[axis.name], axis.numbers(positions)
        if isinstance(domain, NumberList):
            values = np.array([float(text) for text in domain.values])
            return np.asarray(values[np.clip(np.rint(found).astype(int) - domain.first, 0, len(values) - 1)])
        if isinstance(domain, Range) and domain.special is not None:
            return np.where((found < domain.low) | (found > domain.high), domain.special, found)
        return found

    def _at_most(self, index: int, positions: Array, most: Array) -> Array:
        """Lower the coordinates of a knob where its numbers would be above `most`, which is in the unit of the knob."""
        axis, numbers = self.axes[index], self._numbers(index, positions)
        low, _ = axis.ends
        bounded = axis.at(np.maximum(low, np.where(np.isfinite(most), most, np.maximum(numbers, low))))
        return np.where(numbers > most, bounded, positions)


def optuna_trial(
    trial: Trial,
    space: KnobSpace,
    state: TrialState,
    values: Sequence[float] | None,
    constraints: Mapping[str, float],
    user_attrs: Mapping[str, Any],
) -> FrozenTrial | None:
    """Return a stored trial as an Optuna trial; None if its config lies outside the search space.

    Args:
        trial: The trial whose parameters are used.
        space: The search space of the trial's record size.
        state: How the trial ended.
        values: One value per objective; None if the trial is not complete.
        constraints: By name, how far each constraint was missed; 0 or less if it was met.
        user_attrs: The user attributes of the Optuna trial.
    """
    try:
        params = trial.params or space.space.params_of(trial.config())
        if params is None:
            return None
        distributions = space.distributions_of(params)
    except ValueError:
        return None  # from an older client, or from a space with other bounds, such as a larger topic limit
    return create_trial(
        state=state,
        values=values,
        params=dict(params),
        distributions=distributions,
        constraints=dict(constraints),
        user_attrs=dict(user_attrs),
        system_attrs=dict(trial.sampler_state),
    )


class _NearestChooser:
    """Chooses each parameter's wanted value, or the value nearest to it that the space allows (a `Chooser`)."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the integer nearest to the wanted value within the bounds."""
        return round(self.real(name, low, high, log=log))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the number nearest to the wanted value within the bounds, rounded to be readable."""
        return _readable(min(high, max(low, self._values[name])), low, high)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the wanted word of a parameter."""
        return str(self._values[name])


class _RecordingChooser:
    """Chooses given values, and records the distribution that the search space offers for each (a `Chooser`)."""

    def __init__(self, params: Mapping[str, ParamValue]) -> None:
        self._params = params
        self.distributions: dict[str, BaseDistribution] = {}

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the given integer of a parameter, and record the distribution that it is drawn from."""
        return int(self._answer(name, IntDistribution(low, high, log=log)))

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the given number of a parameter, and record the distribution that it is drawn from."""
        return float(self._answer(name, FloatDistribution(low, high, log=log)))

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the given word of a parameter, and record the distribution that it is drawn from."""
        return str(self._answer(name, CategoricalDistribution(list(choices))))

    def _answer(self, name: str, distribution: BaseDistribution) -> ParamValue:
        if name not in self._params:
            raise ValueError(f"every parameter of the search space must have a value, but {name} has none")
        self.distributions[name] = distribution
        return self._params[name]


def _texts(domain: Domain, axis: Axis, positions: Array) -> list[str]:
    """Return a knob's values as text at positions on its axis; "" for NaN, which stands for no value."""
    if isinstance(domain, WordList):
        return ["" if math.isnan(at) else domain.canonical[int(at)] for at in positions.tolist()]
    numbers = axis.numbers(positions).tolist()
    if isinstance(domain, NumberList):
        last = len(domain.values) - 1
        return [
            "" if math.isnan(each) else domain.values[min(last, max(0, round(each) - domain.first))] for each in numbers
        ]
    return ["" if math.isnan(each) else domain.text_of(each) for each in numbers]


def _axis(parameter: Parameter) -> Axis:
    domain = parameter.domain
    core = (domain.low, domain.high) if isinstance(domain, Range) and domain.special is not None else None
    return Axis(parameter.name, _distribution(domain), core, ordered=isinstance(domain, NumberList))


def _distribution(domain: Domain) -> BaseDistribution:
    if isinstance(domain, WordList):
        return CategoricalDistribution(list(domain.values))
    if isinstance(domain, NumberList):
        return IntDistribution(domain.first, domain.first + len(domain.values) - 1)
    ends = [domain.low, domain.high, *([] if domain.special is None else [domain.reach])]
    if domain.asks_whole:
        return IntDistribution(int(min(ends)), int(max(ends)), log=domain.log)
    return FloatDistribution(min(ends), max(ends), log=domain.log)


def _upper_bound(ordering: Ordering, limit: Array) -> Array:
    return np.where(limit == ordering.unlimited, math.inf, limit * ordering.factor - ordering.gap)


def _readable(value: float, low: float, high: float) -> float:
    """Round a number to two significant digits, but keep the ends of its range exact.

    Measurements can't tell finer values apart, and two digits are easier to read than eight.
    """
    nearest = min((low, high), key=lambda end: abs(value - end))
    return nearest if math.isclose(value, nearest) else min(high, max(low, float(f"{value:.2g}")))
