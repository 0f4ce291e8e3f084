"""The search space of a client's producer. Client and broker accept every config that is drawn from it."""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Self

from search_spaces.client import Client, ClientValues
from search_spaces.client_facts.bounds import UNBOUNDED
from search_spaces.client_facts.domains import Chooser, NumberList, ParamValue, Range, WordList
from search_spaces.client_facts.sizes import DEFAULT_MAX_MESSAGE_BYTES, Sizes
from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig, check_record, same_effect
from search_spaces.errors import ConfigError, InvalidKnob, RuleBroken
from search_spaces.properties.catalogue import Value
from search_spaces.space.choosers import GridChooser, RangeEnds
from search_spaces.space.dependencies import bounds, check_acks, drawing_order, is_drawn, narrow, ties
from search_spaces.space.parameters import KnobChange, Parameter, canonical_changes, resolve_parameters

_GIB: Final = 2**30
_NO_CHANGES: Final[Mapping[str, KnobChange]] = MappingProxyType({})


class _OutsideError(Exception):
    """Raised when a config has a value that the space does not contain."""


@dataclass(frozen=True, slots=True)
class SearchSpace:
    """The configs that a search may try for one record size. Immutable and hashable; can be pickled.

    Every config of the space is valid (`ProducerConfig.parse`), can send the record to the topic (`check_record`), and
    guarantees at least `floor`. Knobs without effect in a config, such as the level of a codec that is not used, are
    left out of the config.

    Attributes:
        client: The client that the configs are for.
        sizes: The sizes of records and of the topic that the ranges were made for.
        floor: The weakest guarantee that a config may have.
        parameters: The knobs that are searched, in the order in which they are drawn.
        fixed_pairs: Canonical names and values of the properties that every config has, sorted by name.
    """

    client: Client
    sizes: Sizes
    floor: Guarantee
    parameters: tuple[Parameter, ...]
    fixed_pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(
        cls,
        record_bytes: int,
        baseline: ProducerConfig,
        *,
        key_bytes: int = 0,
        partitions: int = 3,
        changes: Mapping[str, KnobChange] = _NO_CHANGES,
        floor: Guarantee | None = None,
        topic_max_message_bytes: int = DEFAULT_MAX_MESSAGE_BYTES,
        queue_memory_bytes: int = _GIB,
        mean_record_bytes: float | None = None,
    ) -> Self:
        """Return the space for records of one size.

        Every property of the baseline that is not searched keeps the baseline's value in every config.

        Args:
            record_bytes: Size of a record's value, in bytes; of the largest one if there are several sizes.
            baseline: The config that the search starts from; its client is the space's client.
            key_bytes: Size of a record's key, in bytes; 0 for no key.
            partitions: Number of partitions of the topic.
            changes: The study file's changes to knobs, by name or alias. A producer property that is not searched by
                default becomes a knob if it is named here.
            floor: The weakest guarantee that a config may have; None for the baseline's guarantee.
            topic_max_message_bytes: The topic's `max.message.bytes`; by default, Kafka's own default.
            queue_memory_bytes: How much memory the client's queue may use, in bytes.
            mean_record_bytes: Mean size of the records' values, in bytes; None if all have the size `record_bytes`.

        Raises:
            UnknownProperty: A change names a property that the client does not have.
            MisplacedProperty: A change names a property that does not belong to the measured config.
            InvalidKnob: A change contradicts itself or does not suit its knob.
            InvalidValue: A property does not accept the given value.
            EmptySpace: The rules and the guarantee leave no value for a knob.
            RuleBroken: Fixed values break a rule together, or the record does not fit.
        """
        client = baseline.client
        framing_bytes = client.limits.framing_bytes(record_bytes, key_bytes)
        sizes = Sizes(
            record_bytes,
            key_bytes,
            partitions,
            topic_max_message_bytes,
            queue_memory_bytes,
            framing_bytes,
            float(record_bytes) if mean_record_bytes is None else mean_record_bytes,
        )
        floor = floor or Guarantee.of(baseline)
        changes = canonical_changes(client, changes)
        parameters, fixed = resolve_parameters(sizes, baseline, changes)
        if "acks" in changes:
            check_acks(parameters.get("acks"), floor)
        _check_levels(parameters, client)
        _check_fits(parameters, fixed, client, sizes)
        narrow(parameters, fixed, client, sizes, floor)
        ordered = tuple(parameters[name] for name in sorted(parameters, key=drawing_order(client)))
        space = cls(client, sizes, floor, ordered, tuple(sorted(fixed.items())))
        space._try_ends()
        return space

    @property
    def has_choice(self) -> bool:
        """Whether the space has more than one config."""
        return any(parameter.domain.only is None for parameter in self.parameters)

    @property
    def fixed(self) -> dict[str, str]:
        """The properties with the same value in every config of the space; a new dict on every access."""
        return dict(self.fixed_pairs)

    def draw(self, chooser: Chooser) -> ProducerConfig:
        """Return the config that results when `chooser` picks a value for every knob.

        Raises:
            ValueError: The chooser picked a value that was not among the values to pick from.
        """
        return ProducerConfig.parse(self._drawn(chooser), self.client)

    def starting_points(self, baseline: ProducerConfig) -> Iterator[ProducerConfig]:
        """Yield the configs to try first: the baseline with the changes of each of the client's starting points.

        Configs that this space does not contain are left out.
        """
        for point in self.client.starting_points:
            try:
                config = baseline.updated(point.changes)
            except ConfigError:
                continue  # the baseline's other properties and this starting point break a rule together
            if self.params_of(config) is not None:
                yield config

    def params_of(self, config: ProducerConfig) -> dict[str, ParamValue] | None:
        """Return `config` as values of this space's parameters, by name; None if the space does not contain the config.

        If a chooser picks these values, `draw` returns a config with the same effect as `config`. For a `config` drawn
        from this space, the drawn config equals `config`. Otherwise the drawn config may state defaults that `config`
        leaves out.
        """
        params: dict[str, ParamValue] = {}
        effective_values = config.effective_values

        def read(parameter: Parameter) -> str:
            for value in (effective_values.text(parameter.sets), effective_values.spelt_out(parameter.sets)):
                answer = parameter.domain.answer(value)
                if answer is not None:
                    if parameter.domain.only is None:
                        params[parameter.name] = answer
                    return value
            raise _OutsideError

        try:
            values = self._values(read)
        except _OutsideError:
            return None
        return params if same_effect(self.client.effective_values(values), effective_values) else None

    def grid(self, steps: int = 3) -> Iterator[ProducerConfig]:
        """Yield the configs of a grid without repeats, always in the same order.

        Args:
            steps: Number of grid points of a range, including both ends, for knobs whose `steps` is None.
        """
        yielded: set[ProducerConfig] = set()
        for combination in self._grid_chooser(steps):
            config = self.draw(combination)
            if config not in yielded:
                yielded.add(config)
                yield config

    def grid_size(self, steps: int = 3) -> int:
        """Return how many configs `grid` yields, without building them.

        Knobs that depend on each other form a group. The combinations in every group are counted, and the counts are
        multiplied.
        """
        return math.prod(self._count(group, steps) for group in self._groups())

    def raw_grid_size(self, steps: int = 3) -> int:
        """Return how many combinations the grid would have if all knobs were independent."""
        size = 1
        for parameter in self.parameters:
            size *= len([parameter.ask(combination) for combination in self._grid_chooser(steps)])
        return size

    @property
    def rules(self) -> tuple[str, ...]:
        """The required guarantee, and the rules between knobs that are searched; one sentence each."""
        searched = {parameter.sets for parameter in self.parameters}
        find = self.client.catalogue.find
        tied = [rule for rule in self.client.rules if len({find(knob).name for knob in rule.knobs} & searched) > 1]
        return (f"the guarantee of every config is at least: {self.floor}", *(rule.statement for rule in tied))

    def combinations_text(self, steps: int = 3) -> str:
        """Return a sentence that says how many of a grid's combinations remain after the rules are applied."""
        raw, left = self.raw_grid_size(steps), self.grid_size(steps)
        if left == raw:
            return f"{raw:,} combinations"
        return f"{left:,} of {raw:,} combinations; the other {raw - left:,} would be refused or be duplicates"

    def _drawn(self, chooser: Chooser) -> dict[str, str]:
        return self._values(lambda parameter: parameter.ask(chooser))

    def _values(self, ask: Callable[[Parameter], str]) -> dict[str, str]:
        values, highest = self.fixed, self._highest
        so_far = self.client.effective_values(values)
        for parameter in self.parameters:
            if is_drawn(parameter, so_far):
                values[parameter.sets] = ask(self._allowed(parameter, so_far, highest))
        return {**values, **self.client.bounds.adjusted(so_far, self.sizes)}

    def _allowed(self, parameter: Parameter, so_far: ClientValues, highest: Mapping[str, float]) -> Parameter:
        if isinstance(parameter.domain, WordList):
            return parameter
        low, high = bounds(parameter.name, so_far, self.sizes, self.floor, highest)
        if (low, high) == UNBOUNDED:
            return parameter
        domain = parameter.domain.narrowed(low, high)
        assert domain is not None, (
            f"narrow() must leave {parameter.name} a value for every value of the knobs that bound it"
        )
        return replace(parameter, domain=domain)

    @property
    def _highest(self) -> dict[str, float]:
        return {each.name: each.domain.span[1] for each in self.parameters if not isinstance(each.domain, WordList)}

    def _grid_chooser(self, steps: int, turning: frozenset[str] | None = None) -> GridChooser:
        if steps < 1:
            raise ValueError(f"a grid needs at least one step, but got {steps}")
        own = {
            parameter.name: len(parameter.domain.values)
            if isinstance(parameter.domain, NumberList)
            else parameter.steps or steps
            for parameter in self.parameters
        }
        return GridChooser(steps, own, turning)

    def _groups(self) -> list[frozenset[str]]:
        groups = [frozenset({parameter.name}) for parameter in self.parameters]
        for tie in ties(self.client, self.sizes):
            tied = [group for group in groups if group & tie]
            if len(tied) > 1:
                groups = [group for group in groups if group not in tied] + [frozenset().union(*tied)]
        return groups

    def _count(self, group: frozenset[str], steps: int) -> int:
        return len({frozenset(self._drawn(combination).items()) for combination in self._grid_chooser(steps, group)})

    def _try_ends(self) -> None:
        """Check that configs at the ends of all ranges are valid and can send the largest record, with each word."""
        words = {p.name: p.domain.values for p in self.parameters if isinstance(p.domain, WordList)}
        for at_high in (False, True):
            for name, values in words.items() or {"": ("",)}.items():
                for value in values:
                    config = self.draw(RangeEnds(name, value, at_high=at_high))
                    size = self.sizes
                    check_record(config, size.record_bytes, size.key_bytes or None, size.topic_max_message_bytes)


def _check_levels(parameters: Mapping[str, Parameter], client: Client) -> None:
    """Check that the client accepts all levels of the codecs, also those between the ends, such as gzip's level 0."""
    for parameter in parameters.values():
        domain = parameter.domain
        if not parameter.codec or isinstance(domain, WordList):
            continue
        values = domain.values if isinstance(domain, NumberList) else ("0",) if domain.low < 0 < domain.high else ()
        for value in values:
            try:
                ProducerConfig.parse({"compression.type": parameter.codec, parameter.sets: value}, client)
            except RuleBroken as error:
                got = f"{parameter.text}: {error}; choose a range, or choices, without {value}"
                raise InvalidKnob(parameter.name, "every value must be valid", got) from None


def _check_fits(parameters: Mapping[str, Parameter], fixed: Mapping[str, str], client: Client, sizes: Sizes) -> None:
    """Check that the largest record fits into the client's largest message and queue, if both are at their highest."""
    largest, queue = client.limits.largest_message, client.limits.queue
    limits: dict[str, Value] = {largest: max(client.limits.least_message_bytes, sizes.message_bytes)}
    searched = parameters[queue].domain if queue in parameters else None
    if isinstance(searched, Range | NumberList):
        limits[queue] = int(searched.span[1])  # `_try_ends` tries the low end, when the rules have raised it
    limits.update((name, fixed[name]) for name in (largest, queue) if name in fixed)
    check_record(ProducerConfig.parse(limits, client), sizes.record_bytes, sizes.key_bytes or None)
