"""Applies the dependencies between knobs to a search space: cuts ranges, and says in which order knobs are drawn.

A search space draws only configs that keep the rules between knobs. For example, `linger.ms` must stay below
`delivery.timeout.ms`. The space first draws the knob that is the bound, and then limits the range of the other knob to
the drawn value. The limited range is never empty, because the range of the bound starts no lower than the range of the
other knob. Before anything is drawn, `narrow` cuts the ranges of a space to the values that the rules and the guarantee
allow. If a knob has no value left, `narrow` raises `EmptySpace`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from operator import eq
from types import MappingProxyType
from typing import Final

from search_spaces.client import Client, ClientValues
from search_spaces.client_facts.bounds import UNBOUNDED, Ordering, limit
from search_spaces.client_facts.domains import WordList
from search_spaces.client_facts.knobs import IDEMPOTENCE, IN_FLIGHT
from search_spaces.client_facts.sizes import Sizes
from search_spaces.configs.guarantee import Guarantee
from search_spaces.errors import EmptySpace, InvalidKnob
from search_spaces.space.parameters import Parameter

Parameters = dict[str, Parameter]
Values = dict[str, str]
_NO_CHANGES: Final[Mapping[str, str]] = MappingProxyType({})
_NO_HIGHEST: Final[Mapping[str, float]] = MappingProxyType({})


def ties(client: Client, sizes: Sizes) -> tuple[frozenset[str], ...]:
    """Return the groups of knobs whose ranges or effects depend on each other."""
    idempotence = {"acks", IDEMPOTENCE, *client.bounds.idempotent_numbers, *client.bounds.idempotent_words}
    pairs = (frozenset({ordering.small, ordering.large, ordering.plus}) for ordering in client.bounds.orderings(sizes))
    levels = (knob.name for knob in client.level_knobs.values())
    needs = (frozenset({name, other}) for name, (other, _) in client.bounds.needs.items())
    return frozenset(idempotence), frozenset({"compression.type", *levels}), *pairs, *needs


def drawing_order(client: Client) -> Callable[[str], tuple[int, str]]:
    """Return the sort key for the order in which knobs are drawn: a knob comes before the knobs that it bounds."""
    knobs = [knob.name for knob in client.knobs]
    order = [*knobs[:2], *client.bounds.drawn_early, *knobs[2:], *client.bounds.drawn_late]
    return lambda name: ((order.index(name) if name in order else len(order)), name)


def bounds(
    name: str, so_far: ClientValues, sizes: Sizes, floor: Guarantee, highest: Mapping[str, float] = _NO_HIGHEST
) -> tuple[float, float]:
    """Return the lowest and the highest value allowed for a numeric knob, given the values already drawn.

    Args:
        name: The knob's name.
        so_far: The fixed values, and the values drawn before this knob.
        sizes: The sizes of records and of the topic.
        floor: The weakest guarantee that the config may have.
        highest: The highest value of each numeric knob of the space; it counts for knobs that are drawn later.
    """
    low, high = UNBOUNDED
    if so_far.flag(IDEMPOTENCE):
        low, high = so_far.client.bounds.idempotent_numbers.get(name, UNBOUNDED)
    elif name == IN_FLIGHT and floor.ordered and so_far.integer("retries") > 0:
        high = 1
    for ordering in so_far.client.bounds.orderings(sizes):
        if ordering.small == name:
            high = min(high, limit(ordering, so_far) - _added(ordering.plus, so_far, highest))
    return low, high


def _added(name: str, so_far: ClientValues, highest: Mapping[str, float]) -> float:
    """Return the value of `Ordering.plus`, the property `name`: the highest one if its knob is drawn later."""
    if not name:
        return 0
    return highest[name] if name in highest and not so_far.is_given(name) else so_far.number(name)


def is_drawn(parameter: Parameter, so_far: ClientValues) -> bool:
    """Return whether to draw a value for a knob: only if the knob has an effect, given the values drawn before it."""
    if parameter.name == IDEMPOTENCE:
        return so_far.integer("acks") == -1
    if parameter.name in so_far.client.bounds.idempotent_words:
        return not so_far.flag(IDEMPOTENCE)
    other, value = so_far.client.bounds.needs.get(parameter.name, ("", ""))
    return parameter.codec in ("", so_far.text("compression.type")) and (not other or so_far.text(other) == value)


def narrow(parameters: Parameters, fixed: Values, client: Client, sizes: Sizes, floor: Guarantee) -> None:
    """Remove from the parameters, in place, all values that the rules or the guarantee exclude.

    A parameter with only one value left moves to `fixed`.

    Args:
        parameters: The parameters of the search space, by name.
        fixed: The values that every config has.
        client: The client that the knobs belong to.
        sizes: The sizes of records and of the topic.
        floor: The weakest guarantee that a config may have.

    Raises:
        EmptySpace: A knob has no value left.
    """
    space = _Narrowing(parameters, fixed, client, sizes, floor)
    space.keep_guarantee()
    # At most two orderings form a chain. So after three rounds, a range that became smaller at one end of a chain has
    # changed the ranges up to the other end.
    for _ in range(3):
        for ordering in client.bounds.orderings(sizes):
            space.keep_ordering(ordering)
    space.fix_decided()


def check_acks(acks: Parameter | None, floor: Guarantee) -> None:
    """Check that the study file's choices for acks keep the required guarantee.

    Without choices in the study file, the default choices whose guarantee is too weak are dropped silently. But a
    choice that the user wrote is refused, so that nobody wonders why it was never tried.

    Args:
        acks: The parameter for acks; None if acks is not searched.
        floor: The weakest guarantee that a config may have.

    Raises:
        InvalidKnob: A choice gives a weaker guarantee than `floor`.
        InvalidValue: A choice is a number of replicas, such as 2.
    """
    if acks is None or not isinstance(acks.domain, WordList):
        return
    for word, value in zip(acks.domain.values, acks.domain.canonical, strict=True):
        if not _acknowledged(int(value)).at_least(floor):
            raise InvalidKnob("acks", f"every choice must keep the guarantee, which is {floor}", word)


def _acknowledged(acks: int) -> Guarantee:
    """Return the strongest guarantee that a config with this value of acks can give."""
    return Guarantee(acks, ordered=True, idempotent=True)


@dataclass(frozen=True, slots=True)
class _Narrowing:
    """A search space while its ranges are cut.

    Attributes:
        parameters: The parameters of the search space, by name; changed in place.
        fixed: The values that every config has; changed in place.
        client: The client that the knobs belong to.
        sizes: The sizes of records and of the topic.
        floor: The weakest guarantee that a config may have.
    """

    parameters: Parameters
    fixed: Values
    client: Client
    sizes: Sizes
    floor: Guarantee

    def keep_guarantee(self) -> None:
        promise = f"the guarantee must be at least {self.floor}"
        self._keep_words("acks", lambda value: _acknowledged(int(value)).at_least(self.floor), promise)
        if self.floor.ordered:
            # To keep the order of records, a producer without idempotence needs the same words as an idempotent one:
            # queuing.strategy=fifo.
            for name, word in self.client.bounds.idempotent_words.items():
                self._keep_words(name, partial(eq, word), promise)
        possible = {"false": self._can_be_plain(), "true": self._can_be_idempotent()}
        if IDEMPOTENCE in self.parameters or not self._effective_values().flag(IDEMPOTENCE):
            self._keep_words(IDEMPOTENCE, lambda value: possible[value], promise)
        choice = self.parameters.get(IDEMPOTENCE)
        decided = self._effective_values().text(IDEMPOTENCE) if choice is None else choice.domain.only
        if decided == "true":
            promise = "an idempotent producer needs acks=all, at most 5 requests in flight and retries"
            self._keep_words("acks", lambda value: value == "-1", promise)
        if decided is None or "retries" in self.parameters:
            return
        so_far = self._effective_values({IDEMPOTENCE: decided})
        for name in self.client.bounds.idempotent_numbers:
            self._cut(name, *bounds(name, so_far, self.sizes, self.floor), promise, f"{IDEMPOTENCE}={decided}")

    def keep_ordering(self, ordering: Ordering) -> None:
        rule = f"{self.client.statements[ordering.rule]} (rule {ordering.rule})"
        small, large = self.parameters.get(ordering.small), self.parameters.get(ordering.large)
        gap = ordering.gap + self._largest(ordering.plus)
        if large is None:
            highest = limit(ordering, self._effective_values()) - self._largest(ordering.plus)
            against = f"{ordering.large}={self._effective_values().text(ordering.large)}"
        else:
            highest = _span(large)[1] * ordering.factor - gap
            against = f"{ordering.large} is {large.text}"
        if small is not None:
            self._cut(ordering.small, float("-inf"), highest, rule, against)
            lowest = _span(self.parameters[ordering.small])[0]
            against = f"{ordering.small} is {small.text}"
        elif ordering.small in self.fixed or ordering.with_default:
            lowest = self._effective_values().number(ordering.small)
            against = f"{ordering.small}={lowest:g}"
        else:
            return
        self._cut(ordering.large, (lowest + gap) / ordering.factor, float("inf"), rule, against)

    def fix_decided(self) -> None:
        for name, parameter in list(self.parameters.items()):
            value = parameter.domain.only
            if not parameter.codec and value is not None:
                del self.parameters[name]
                if value != self._effective_values().text(parameter.sets):
                    self.fixed[parameter.sets] = value

    def _effective_values(self, changes: Mapping[str, str] = _NO_CHANGES) -> ClientValues:
        return self.client.effective_values({**self.fixed, **changes})

    def _largest(self, name: str) -> float:
        """Return the largest value that a property has in the space; 0 if `name` is empty."""
        if not name:
            return 0
        parameter = self.parameters.get(name)
        return self._effective_values().number(name) if parameter is None else _span(parameter)[1]

    def _keep_words(self, name: str, keep: Callable[[str], bool], rule: str) -> None:
        parameter = self.parameters.get(name)
        if parameter is None or not isinstance(parameter.domain, WordList):
            value = self._effective_values().text(name)
            if not keep(value):
                raise EmptySpace(name, rule, f"{name}={value}")
            return
        pairs = zip(parameter.domain.values, parameter.domain.canonical, strict=True)
        kept = [pair for pair in pairs if keep(pair[1])]
        if not kept:
            raise EmptySpace(name, rule, f"its choices are {parameter.text}")
        values, canonical = zip(*kept, strict=True)
        self.parameters[name] = replace(parameter, domain=WordList(values, canonical))

    def _can_be_idempotent(self) -> bool:
        needed = self.client.bounds
        return (
            self._can_be("acks", "-1")
            and all(self._can_be(name, word) for name, word in needed.idempotent_words.items())
            and all(self._has_value_between(name, low, high) for name, (low, high) in needed.idempotent_numbers.items())
        )

    def _can_be_plain(self) -> bool:
        if self.floor.idempotent:
            return False
        one_at_a_time = IN_FLIGHT in {*self.parameters, *self.fixed} and self._has_value_between(IN_FLIGHT, 1, 1)
        return not self.floor.ordered or one_at_a_time or self.fixed.get("retries") == "0"

    def _can_be(self, name: str, value: str) -> bool:
        parameter = self.parameters.get(name)
        if parameter is None or not isinstance(parameter.domain, WordList):
            return self._effective_values().text(name) == value
        return value in parameter.domain.canonical

    def _has_value_between(self, name: str, low: float, high: float) -> bool:
        parameter = self.parameters.get(name)
        if parameter is None or isinstance(parameter.domain, WordList):
            return name not in self.fixed or low <= float(self.fixed[name]) <= high
        return parameter.domain.narrowed(low, high) is not None

    def _cut(self, name: str, low: float, high: float, rule: str, against: str) -> None:
        parameter = self.parameters.get(name)
        if parameter is None or isinstance(parameter.domain, WordList):
            return
        domain = parameter.domain.narrowed(low, high)
        if domain is None:
            raise EmptySpace(name, rule, against)
        self.parameters[name] = replace(parameter, domain=domain)


def _span(parameter: Parameter) -> tuple[float, float]:
    """Return the lowest and the highest number of a parameter; unbounded for words."""
    return (float("-inf"), float("inf")) if isinstance(parameter.domain, WordList) else parameter.domain.span
