"""The section `space`: what a study file says of each knob."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from search_spaces.catalogue import Property, canonical_value, load_catalogue
from search_spaces.errors import InvalidKnob
from search_spaces.knobs import KNOBS
from search_spaces.parameters import KnobChange, check_takes_range, checked, entry_of
from search_spaces.roles import Role
from tuner.study_file.errors import Refusal, Refused, did_you_mean, refused
from tuner.study_file.fields import Reads, flag, whole
from tuner.study_file.properties import property_of, property_value, value_text, within

_NAMES: Final = tuple(knob.name for knob in KNOBS)
_RULE: Final = "a knob takes one value, {low: ..., high: ...}, {choices: [...]}, on or off"
_MAX_STEPS: Final = 1000
_steps: Final = whole(1, _MAX_STEPS).read
_flag: Final = flag().read


def knob_changes() -> Reads:
    """Changes of knobs by name."""
    return Reads(_read, _schema())


def _read(value: object) -> Mapping[str, KnobChange]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise refused("space names knobs, each with what it may be, one a line")
    refusals: list[Refusal] = []
    changes: dict[str, KnobChange] = {}
    for written, inner in value.items():
        try:
            name, entry = _knob(written)
            if name in changes:
                raise refused(f"{name} stands once, and it is here under two of its names")
            changes[name] = checked(name, entry, _change(entry, inner))
        except Refused as error:
            refusals += [within(refusal, (written,)) for refusal in error.refusals]
        except InvalidKnob as error:
            refusals.append(Refusal(error.rule, within=(written, *error.at)))
    if refusals:
        raise Refused(*refusals)
    return changes


def _knob(written: str) -> tuple[str, Property]:
    if written in _NAMES:
        return written, entry_of(written)
    entry = property_of(written, Role.PRODUCER)
    return entry.name, entry


def _change(entry: Property, value: object) -> KnobChange:
    if value in ("on", "off"):
        return KnobChange(off=value == "off")
    if isinstance(value, Mapping):
        return _among(entry, value)
    if value is None or isinstance(value, list):
        raise refused(_RULE, advice="several values are {choices: [...]}" if value else "")
    return KnobChange(value=_text(entry, value))


def _among(entry: Property, value: Mapping[str, object]) -> KnobChange:
    """A range or a list of choices."""
    bound = partial(_bound, entry)
    readers: dict[str, Callable[[Any], object]] = {
        "low": bound,
        "high": bound,
        "log": _flag,
        "steps": _steps,
        "choices": partial(_choices, entry),
    }
    unknown = [
        Refusal(f"a knob has no key {key!r}: {_RULE}", did_you_mean(key, readers), within=(key,), about_name=True)
        for key in value
        if key not in readers
    ]
    if unknown:
        raise Refused(*unknown)
    if not value:
        raise refused(_RULE)
    if "choices" not in value:
        check_takes_range(entry.name, entry)
    elif len(value) > 1:
        raise refused("choices stand alone, without low, high, log and steps")
    said: dict[str, Any] = {key: _at((key,), readers[key], inner) for key, inner in value.items()}
    return KnobChange(**said)


def _choices(entry: Property, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise refused("choices are a list of values, such as [1, 5, 20]")
    return tuple(_at((position,), partial(_text, entry), choice) for position, choice in enumerate(value))


def _text(entry: Property, value: object) -> str:
    return value_text(entry, property_value(entry, value))


def _bound(entry: Property, value: object) -> float:
    return float(canonical_value(entry, property_value(entry, value)))


def _at(place: tuple[str | int, ...], read: Callable[[Any], Any], value: object) -> Any:
    try:
        return read(value)
    except Refused as error:
        raise Refused(*(within(refusal, place) for refusal in error.refusals)) from None


def _schema() -> dict[str, Any]:
    names = [*_NAMES, *(e.name for e in load_catalogue() if e.role is Role.PRODUCER and e.name not in _NAMES)]
    number = {"type": ["number", "string"]}
    plain = {"type": ["string", "number", "boolean"]}
    between = {
        "type": "object",
        "properties": {
            "low": number,
            "high": number,
            "log": {"type": "boolean"},
            "steps": {"type": "integer", "minimum": 1},
        },
        "additionalProperties": False,
        "minProperties": 1,
    }
    among = {
        "type": "object",
        "properties": {"choices": {"type": "array", "minItems": 1, "items": plain}},
        "required": ["choices"],
        "additionalProperties": False,
    }
    return {
        "type": ["object", "null"],
        "propertyNames": {"enum": names},
        "additionalProperties": {"anyOf": [plain, between, among], "description": _RULE},
    }
