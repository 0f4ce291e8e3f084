"""From knobs, a baseline and what a study file says of knobs to the parameters of a space and the values it fixes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from search_spaces.catalogue import Property, canonical_value, load_catalogue
from search_spaces.domains import Chooser, Domain, Numbers, Range, Words
from search_spaces.effective import Effective
from search_spaces.errors import InvalidKnob, MisplacedProperty
from search_spaces.knobs import KNOBS, LEVEL, LEVEL_KNOBS, Knob, Stage, words
from search_spaces.producer_config import ProducerConfig
from search_spaces.record_size import Sizes
from search_spaces.roles import Role

_NUMBERS = ("int", "float")


@dataclass(frozen=True, slots=True)
class KnobChange:
    """What a study file says of one knob; with nothing said, the knob is searched with its own domain.

    `value`, `off`, `choices` and a range (`low`, `high`, `log`, `steps`) exclude each other.

    Attributes:
        value: fix it to this.
        low: the least value, in the knob's unit; None for the knob's own.
        high: the greatest value, likewise.
        choices: search these values only.
        log: whether to search it by ratios; None for the knob's own way.
        steps: how many values a grid takes of it; None for the grid's own number.
        off: leave it at the baseline's value.
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
        """Whether it says anything that only a range has."""
        return not (self.low is None and self.high is None and self.log is None and self.steps is None)


def checked(name: str, entry: Property, change: KnobChange) -> KnobChange:
    """Return `change` when it says one thing only, and one that suits the property whatever the record size.

    Args:
        name: the knob's name.
        entry: the client's property that it sets.
        change: what is said of it.

    Raises:
        InvalidKnob: it contradicts itself, or does not suit the property.
        InvalidValue: the property does not take a choice.
    """
    said = {
        "value": change.value is not None,
        "off": change.off,
        "choices": change.choices is not None,
        "a range": change.is_range,
    }
    given = [what for what, is_given in said.items() if is_given]
    if len(given) > 1:
        raise InvalidKnob(name, "takes one of value, off, choices and a range", " and ".join(given))
    if change.steps is not None and change.steps < 1:
        raise InvalidKnob(name, "a grid takes one step or more of it", f"steps={change.steps}", ("steps",))
    if change.is_range:
        check_takes_range(name, entry)
    if change.low is not None and change.high is not None:
        _check_order(name, change.low, change.high)
    if change.choices is not None:
        canonical = [canonical_value(entry, choice) for choice in change.choices]
        if not canonical:
            raise InvalidKnob(name, "takes one choice or more", "none", ("choices",))
        for position, choice in enumerate(canonical):
            if choice in canonical[:position]:
                raise InvalidKnob(name, "each choice stands once", f"{choice} twice", ("choices", position))
    return change


def check_takes_range(name: str, entry: Property) -> None:
    """Whether the property is a number.

    Raises:
        InvalidKnob: it is none.
    """
    if entry.kind not in _NUMBERS:
        rule = f"{entry.name} is not a number, so it takes {{choices: [...]}} or one value"
        raise InvalidKnob(name, rule, "a range")


def _check_order(name: str, low: float, high: float) -> None:
    if low > high:
        raise InvalidKnob(name, "low is at most high", f"low={low:g}, high={high:g}", ("low",))


def changed(name: str, entry: Property, domain: Domain | None, change: KnobChange) -> Domain:
    """Return the domain of a knob as `change` leaves it.

    Args:
        name: the knob's name.
        entry: the client's property that it sets.
        domain: the knob's own domain; None for a property that is no knob of ours.
        change: what is said of it, as `checked` lets it pass; neither `off` nor a `value`.

    Raises:
        InvalidKnob: the change does not suit the knob.
        InvalidValue: the property does not take a bound.
    """
    if change.choices is not None:
        return _chosen(entry, change.choices)
    if isinstance(domain, Words) and not change.is_range:
        return domain
    if domain is None and not change.is_range:
        words = ("false", "true") if entry.kind == "bool" else entry.choices
        if words is None or entry.kind == "flags":
            raise InvalidKnob(name, "needs low and high, or choices, for it has no range of its own", "nothing")
        return Words(words, words)
    if isinstance(domain, Words):
        raise InvalidKnob(name, "takes choices", "a range")
    return _ranged(name, entry, domain if isinstance(domain, Range) else None, change)


def _chosen(entry: Property, choices: tuple[str, ...]) -> Domain:
    canonical = [canonical_value(entry, choice) for choice in choices]
    if entry.kind in _NUMBERS and entry.name != "acks":
        return Numbers(tuple(sorted(canonical, key=float)))
    return Words(tuple(choices), tuple(canonical))


def _ranged(name: str, entry: Property, own: Range | None, change: KnobChange) -> Range:
    low = change.low if change.low is not None else own.low if own else None
    high = change.high if change.high is not None else own.high if own else None
    if low is None or high is None:
        raise InvalidKnob(name, "needs both low and high, for it has no range of its own", f"low={low}, high={high}")
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
        raise InvalidKnob(name, "a logarithmic range begins above 0", f"low={low:g}")
    return bounds


def _with_special(bounds: Range, own: Range, change: KnobChange) -> Range:
    """Keep the special value beyond a bound that was not given, and 0 below one that was given as 0."""
    special = own.special or 0
    if special < own.low:
        if change.low is None or change.low <= special:
            low = min(own.low, bounds.high)
            return replace(bounds, low=low, special=special, reach=own.reach * low / own.low)
    elif change.high is None:
        return replace(bounds, special=special, reach=own.reach)
    return bounds


_KNOBS = {knob.name: knob for knob in KNOBS}
_UNITS = {"ms": "ms", "bytes": "bytes", "kbytes": "KiB"}


@dataclass(frozen=True, slots=True)
class Parameter:
    """A knob that a space searches.

    Attributes:
        name: what choosers call it: the property's name, with the codec added for a level.
        sets: the client's property that it sets.
        unit: the unit of its numbers; "" for words and counts without one.
        domain: what it may be.
        default: the client's default, as text.
        source: how we know that it matters, and where its range comes from.
        steps: how many values a grid takes of it; None for the grid's own number.
        stage: when a search that begins with few knobs begins with it; what the study names is among the first.
    """

    name: str
    sets: str
    unit: str
    domain: Domain
    default: str
    source: str
    steps: int | None = None
    stage: Stage = Stage.FIRST

    @property
    def text(self) -> str:
        """What it may be, in words."""
        return self.domain.text

    def ask(self, chooser: Chooser) -> str:
        """Return the value that `chooser` picks, as text; its only one without a question."""
        only = self.domain.only
        return self.domain.ask(chooser, self.name) if only is None else only


def entry_of(name: str) -> Property:
    """Return the property that the knob `name` sets.

    Raises:
        UnknownProperty: the client has no such property.
        MisplacedProperty: it is no property of the measured config.
    """
    entry = load_catalogue().find(LEVEL if name in LEVEL_KNOBS else name)
    if entry.role is not Role.PRODUCER:
        raise MisplacedProperty(name, entry.role, entry.reason)
    return entry


def named(changes: Mapping[str, KnobChange]) -> dict[str, KnobChange]:
    """Return `changes` by canonical names.

    Raises:
        UnknownProperty: the client has no such property.
        MisplacedProperty: it is no property of the measured config.
        InvalidKnob: a change contradicts itself, or a knob is changed under two names.
    """
    by_name: dict[str, KnobChange] = {}
    for spelling, change in changes.items():
        name = spelling if spelling in LEVEL_KNOBS else entry_of(spelling).name
        if name in by_name:
            raise InvalidKnob(name, "is changed once, under one name", f"again as {spelling}")
        by_name[name] = checked(name, entry_of(name), change)
    return by_name


def resolved(
    sizes: Sizes, baseline: ProducerConfig, changes: Mapping[str, KnobChange]
) -> tuple[dict[str, Parameter], dict[str, str]]:
    """Return the parameters by name, in no order, and the values that every config has; no rule is applied yet.

    Args:
        sizes: what the ranges depend on.
        baseline: the config that the search starts from.
        changes: what the study file says, as `named` returns it; `compression.level` means every codec's.

    Raises:
        InvalidKnob: a change does not suit its knob.
        InvalidValue: a property does not take a value.
    """
    fixed = baseline.values
    level = fixed.pop(LEVEL, None)
    parameters: dict[str, Parameter] = {}
    for name in {**_KNOBS, **changes}:
        if name == LEVEL or name in LEVEL_KNOBS:
            continue
        entry, knob = entry_of(name), _KNOBS.get(name)
        asked = changes.get(name)
        change = asked or KnobChange(off=not (knob and knob.searched(sizes, baseline.in_force)))
        if change.value is not None:
            fixed[entry.name] = canonical_value(entry, change.value)
        elif not change.off:
            parameters[name] = _parameter(name, entry, knob, sizes, change, asked=asked is not None)
            fixed.pop(entry.name, None)
    codecs: tuple[str, ...] = (Effective(fixed).text("compression.type"),)
    compression = parameters.get("compression.type")
    if compression is not None and isinstance(compression.domain, Words):
        codecs = compression.domain.canonical
    kept = None if level is None else f"{LEVEL}.{baseline.compression}"
    for name in LEVEL_KNOBS:
        asked = changes.get(name) or changes.get(LEVEL)
        change = asked or KnobChange()
        if name.removeprefix(f"{LEVEL}.") not in codecs:
            if name in changes and not change.off:
                raise InvalidKnob(name, "its codec is one of those searched", ", ".join(codecs))
            continue
        value = level if change.off and name == kept else change.value
        if value is not None:
            pinned = canonical_value(entry_of(LEVEL), value)
            parameter = _parameter(name, entry_of(name), _KNOBS[name], sizes, KnobChange(), asked=True)
            parameters[name] = replace(parameter, domain=words(pinned))
        elif not change.off:
            parameters[name] = _parameter(name, entry_of(name), _KNOBS[name], sizes, change, asked=asked is not None)
    return parameters, fixed


def _parameter(
    name: str, entry: Property, knob: Knob | None, sizes: Sizes, change: KnobChange, *, asked: bool
) -> Parameter:
    return Parameter(
        name=name,
        sets=entry.name,
        unit=knob.unit if knob else _UNITS.get(entry.name.rpartition(".")[2], ""),
        domain=changed(name, entry, knob.domain(sizes) if knob else None, change),
        default=Effective({}).text(entry.name),
        source=knob.source if knob else "the study: a property that is no knob of ours",
        steps=change.steps,
        stage=Stage.FIRST if asked or knob is None else knob.stage,
    )
