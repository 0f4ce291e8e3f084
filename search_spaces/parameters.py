"""From knobs, a baseline and what a study file says to the parameters of a space and the values it fixes."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

from search_spaces.catalogue import Property, load_catalogue
from search_spaces.domains import Domain, Words
from search_spaces.effective import Effective
from search_spaces.errors import InvalidKnob, MisplacedProperty
from search_spaces.knob_change import KnobChange, changed, checked
from search_spaces.knobs import KNOBS, LEVEL, LEVEL_KNOBS, Knob, Stage, words
from search_spaces.producer_config import ProducerConfig
from search_spaces.record_size import Sizes
from search_spaces.roles import Role
from search_spaces.values import canonical_value

_KNOBS = {knob.name: knob for knob in KNOBS}
_ADDED = "the study: a property that is no knob of ours"
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
    codecs = _codecs(parameters, fixed)
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
        source=knob.source if knob else _ADDED,
        steps=change.steps,
        stage=Stage.FIRST if asked or knob is None else knob.stage,
    )


def _codecs(parameters: Mapping[str, Parameter], fixed: Mapping[str, str]) -> tuple[str, ...]:
    compression = parameters.get("compression.type")
    if compression is not None and isinstance(compression.domain, Words):
        return compression.domain.canonical
    return (Effective(fixed).text("compression.type"),)
