"""The parameters of a search space, and the values that are the same in all its configs.

Both are derived from the knobs, the baseline and the changes to knobs in the study file.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from search_spaces.client import Client
from search_spaces.client_facts.domains import Chooser, Domain, NumberList, Range, WordList
from search_spaces.client_facts.knobs import Knob, Stage, words
from search_spaces.client_facts.sizes import Sizes
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import InvalidKnob, MisplacedProperty
from search_spaces.properties.catalogue import Property, Role
from search_spaces.properties.values import canonical_value

_NUMBERS: Final = ("int", "float")


@dataclass(frozen=True, slots=True)
class KnobChange:
    """What a study file says about one knob. An empty change means: search the knob's default values.

    A change has only one of `value`, `off`, `choices` and a range (`low`, `high`, `log`, `steps`).

    Attributes:
        value: The value that the knob has in every config.
        low: The smallest value to search, in the knob's unit; None for the knob's default.
        high: The largest value to search, in the knob's unit; None for the knob's default.
        choices: The only values to search.
        log: Whether to search the range on a logarithmic scale; None for the knob's default.
        steps: How many values of the knob a grid search tries; None for the number that the study file sets for all
            knobs.
        off: Whether to leave the knob at the baseline's value.
    """

    value: str | None = None
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] | None = None
    log: bool | None = None
    steps: int | None = None
    off: bool = False

    @property
    def is_range(self) -> bool:
        """Whether the change sets any of `low`, `high`, `log` and `steps`."""
        return not (self.low is None and self.high is None and self.log is None and self.steps is None)


def check_change(name: str, entry: Property, change: KnobChange) -> KnobChange:
    """Check everything about a change that does not depend on the record size, and return the change.

    Args:
        name: The knob's name.
        entry: The client's property that the knob sets.
        change: What the study file says about the knob.

    Raises:
        InvalidKnob: The change contradicts itself, or does not suit the property.
        InvalidValue: The property does not accept one of the choices.
    """
    said = {
        "value": change.value is not None,
        "off": change.off,
        "choices": change.choices is not None,
        "a range": change.is_range,
    }
    given = [what for what, is_given in said.items() if is_given]
    if len(given) > 1:
        raise InvalidKnob(
            name, "a change to a knob must have only one of value, off, choices and a range", " and ".join(given)
        )
    if change.steps is not None and change.steps < 1:
        raise InvalidKnob(name, "a grid needs at least one step", f"steps={change.steps}", ("steps",))
    if change.is_range:
        check_takes_range(name, entry)
    if change.low is not None and change.high is not None:
        _check_order(name, change.low, change.high)
    if change.choices is not None:
        canonical = [canonical_value(entry, choice) for choice in change.choices]
        if not canonical:
            raise InvalidKnob(name, "choices must not be empty", "none", ("choices",))
        for position, choice in enumerate(canonical):
            if choice in canonical[:position]:
                raise InvalidKnob(name, "each choice may be listed only once", f"{choice} twice", ("choices", position))
    return change


def check_takes_range(name: str, entry: Property) -> None:
    """Check that the property is a number, so that a range suits it.

    Raises:
        InvalidKnob: The property is not a number.
    """
    if entry.kind not in _NUMBERS:
        rule = "a property that is not a number takes {choices: [...]} or one value"
        raise InvalidKnob(name, rule, "a range")


def _check_order(name: str, low: float, high: float) -> None:
    if low > high:
        raise InvalidKnob(name, "low must be at most high", f"low={low:g}, high={high:g}", ("low",))


def _changed_domain(name: str, entry: Property, domain: Domain | None, change: KnobChange) -> Domain:
    """Return the values to search for a knob (its domain), as the study file changes them.

    Args:
        name: The knob's name.
        entry: The client's property that the knob sets.
        domain: The values searched by default; None for a property that is not one of the client's knobs.
        change: What the study file says about the knob, as `check_change` returns it. It must not set `off` or `value`.

    Raises:
        InvalidKnob: The change does not suit the knob.
        InvalidValue: The property does not accept one of the bounds or choices.
    """
    if change.choices is not None:
        return _chosen(entry, change.choices)
    if isinstance(domain, WordList) and not change.is_range:
        return domain
    if domain is None and not change.is_range:
        choices = ("false", "true") if entry.kind == "bool" else entry.choices
        if choices is None or entry.kind == "flags":
            raise InvalidKnob(
                name, "low and high, or choices, must be given, as the knob has no default range", "neither"
            )
        return WordList(choices, choices)
    if isinstance(domain, WordList):
        raise InvalidKnob(name, "this property takes only choices or one value", "a range")
    return _ranged(name, entry, domain if isinstance(domain, Range) else None, change)


def _chosen(entry: Property, choices: tuple[str, ...]) -> Domain:
    """Return the choices that a study file lists, as numbers in order or as words."""
    canonical = [canonical_value(entry, choice) for choice in choices]
    if entry.kind in _NUMBERS and entry.name != "acks":
        return NumberList(tuple(sorted(canonical, key=float)))
    return WordList(tuple(choices), tuple(canonical))


def _ranged(name: str, entry: Property, own: Range | None, change: KnobChange) -> Range:
    """Return the range that a study file sets; what it leaves out is that of the knob's default range, `own`."""
    low = change.low if change.low is not None else own.low if own else None
    high = change.high if change.high is not None else own.high if own else None
    if low is None or high is None:
        raise InvalidKnob(
            name, "both low and high must be given, as the knob has no default range", f"low={low}, high={high}"
        )
    for bound in (low, high):
        canonical_value(entry, bound)
    _check_order(name, low, high)
    log = change.log if change.log is not None else bool(own and own.log)
    if own is not None and own.special is not None and not log and change.low is None:
        low = min(low, own.special)
    bounds = Range(low, high, whole=entry.kind == "int", log=log)
    if own is not None and own.special is not None and log:
        bounds = _with_special(bounds, own, change)
    if bounds.log and bounds.low <= 0:
        raise InvalidKnob(name, "a logarithmic range must start above 0", f"low={low:g}")
    return bounds


def _with_special(bounds: Range, own: Range, change: KnobChange) -> Range:
    """Return a new range with the knob's special value, such as 0 for "do not wait", unless the change excludes it.

    A special value above the range is kept if the change gives no `high`. A special value below the range is kept if
    the change gives no `low`, or gives a `low` that is at most the special value.

    Args:
        bounds: The new range, without the special value.
        own: The knob's default range, with its special value.
        change: What the study file says about the knob.
    """
    special = own.special or 0
    if special < own.low:
        if change.low is None or change.low <= special:
            low = min(own.low, bounds.high)
            return replace(bounds, low=low, special=special, reach=_reach(own.reach * low / own.low, low, bounds))
    elif change.high is None:
        return replace(bounds, special=special, reach=own.reach)
    return bounds


def _reach(wanted: float, low: float, bounds: Range) -> float:
    """Return where the extension of a range below `low` ends: near `wanted`, and a whole number if need be."""
    if not bounds.whole or wanted < 1:
        return wanted
    return math.ceil(wanted) if math.ceil(wanted) < low else math.floor(wanted)


_UNITS: Final = {"ms": "ms", "bytes": "bytes", "kbytes": "KiB"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A knob that a space searches.

    Attributes:
        name: The property's name; for a compression level, the codec is appended.
        sets: The client's property that the parameter sets.
        unit: The unit of the parameter's numbers; "" for words and for counts without a unit.
        domain: The values that the parameter may have.
        default: The client's default, as text.
        source: How we know that the knob matters, and where its range comes from.
        steps: How many values of the parameter a grid has; None for the number that holds for all parameters.
        stage: The part of the search in which the parameter is changed for the first time. For a knob that the study
            file names, this is always the first part.
        codec: The codec whose compression level the parameter is; "" for all other parameters.
    """

    name: str
    sets: str
    unit: str
    domain: Domain
    default: str
    source: str
    steps: int | None = None
    stage: Stage = Stage.FIRST
    codec: str = ""

    @property
    def text(self) -> str:
        """The values that the parameter may have, in words."""
        return self.domain.text

    def ask(self, chooser: Chooser) -> str:
        """Return the value that `chooser` picks, as text. If only one value is possible, `chooser` is not asked."""
        only = self.domain.only
        return self.domain.ask(chooser, self.name) if only is None else only


def entry_of(client: Client, name: str) -> Property:
    """Return the property that the knob `name` of a client sets.

    Raises:
        UnknownProperty: The client has no such property.
        MisplacedProperty: The property does not belong to the measured config.
    """
    knob = client.knob(name)
    entry = client.catalogue.find(name if knob is None else knob.sets)
    if entry.role is not Role.PRODUCER:
        raise MisplacedProperty(name, entry.role, entry.reason)
    return entry


def canonical_changes(client: Client, changes: Mapping[str, KnobChange]) -> dict[str, KnobChange]:
    """Check a study file's changes to knobs, and return them by the canonical names of the knobs.

    Raises:
        UnknownProperty: The client has no such property.
        MisplacedProperty: A property does not belong to the measured config.
        InvalidKnob: A change contradicts itself, or a knob is changed under two names.
    """
    by_name: dict[str, KnobChange] = {}
    for spelling, change in changes.items():
        entry = entry_of(client, spelling)
        name = spelling if client.knob(spelling) is not None else entry.name
        if name in by_name:
            raise InvalidKnob(name, "a knob may be changed only once, under one name", f"it again as {spelling}")
        by_name[name] = check_change(name, entry, change)
    return by_name


def resolve_parameters(
    sizes: Sizes, baseline: ProducerConfig, changes: Mapping[str, KnobChange]
) -> tuple[dict[str, Parameter], dict[str, str]]:
    """Return the parameters of a search space by name, and the fixed values that every config has.

    The rules between knobs are not applied yet, and the order of the parameters means nothing.

    Args:
        sizes: The sizes that the ranges depend on.
        baseline: The config that the search starts from.
        changes: The study file's changes as `canonical_changes` returns them. The property of a client that sets the
            levels of all codecs, such as `compression.level`, means the level of every codec.

    Raises:
        InvalidKnob: A change does not suit its knob.
        InvalidValue: A property does not accept a value.
    """
    client, fixed = baseline.client, baseline.values
    knobs = {knob.name: knob for knob in client.knobs if not knob.codec}
    parameters: dict[str, Parameter] = {}
    levels = {name: fixed.pop(name, None) for name in {knob.sets for knob in client.level_knobs.values()}}
    for name in {**knobs, **changes}:
        if name in levels or name in (knob.name for knob in client.level_knobs.values()):
            continue
        entry, knob = entry_of(client, name), knobs.get(name)
        requested = changes.get(name)
        change = requested or KnobChange(off=not (knob and knob.searched(sizes, baseline.effective_values)))
        if change.value is not None:
            fixed[entry.name] = canonical_value(entry, change.value)
        elif not change.off:
            parameters[name] = _parameter(client, knob or name, sizes, change, requested=requested is not None)
            fixed.pop(entry.name, None)
    codecs: tuple[str, ...] = (client.effective_values(fixed).text("compression.type"),)
    compression = parameters.get("compression.type")
    if compression is not None and isinstance(compression.domain, WordList):
        codecs = compression.domain.canonical
    for codec, knob in client.level_knobs.items():
        requested = changes.get(knob.name) or changes.get(knob.sets)
        change = requested or KnobChange()
        if codec not in codecs:
            if knob.name in changes and not change.off:
                raise InvalidKnob(knob.name, "its codec must be searched too", f"only {', '.join(codecs)}")
            continue
        value = levels[knob.sets] if change.off and codec == baseline.compression else change.value
        if value is not None:
            pinned = canonical_value(entry_of(client, knob.name), value)
            parameter = _parameter(client, knob, sizes, KnobChange(), requested=True)
            parameters[knob.name] = replace(parameter, domain=words(pinned))
        elif not change.off:
            parameters[knob.name] = _parameter(client, knob, sizes, change, requested=requested is not None)
    return parameters, fixed


def _parameter(client: Client, of: Knob | str, sizes: Sizes, change: KnobChange, *, requested: bool) -> Parameter:
    """Return the parameter for a knob, or for a property that is searched because the study file names it."""
    knob, name = (None, of) if isinstance(of, str) else (of, of.name)
    entry = entry_of(client, name)
    return Parameter(
        name=name,
        sets=entry.name,
        unit=knob.unit if knob else _UNITS.get(entry.name.rpartition(".")[2], ""),
        domain=_changed_domain(name, entry, knob.domain(sizes) if knob else None, change),
        default=client.effective_values({}).text(entry.name),
        source=knob.source
        if knob
        else "named by the study file; it is not among the knobs that are searched by default",
        steps=change.steps,
        stage=Stage.FIRST if requested or knob is None else knob.stage,
        codec=knob.codec if knob else "",
    )
