"""The section `space`: what a study file says of each knob."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from search_spaces.catalogue import Property, load_catalogue
from search_spaces.knob_change import KnobChange
from search_spaces.knobs import KNOBS
from search_spaces.parameters import entry_of
from search_spaces.roles import Role
from search_spaces.values import canonical_value
from tuner.study_file.errors import Refusal, Refused, did_you_mean, refused
from tuner.study_file.fields import Reads, flag, whole
from tuner.study_file.properties import property_of, property_value, value_text, within

_NAMES: Final = tuple(knob.name for knob in KNOBS)
_RULE: Final = "a knob takes one value, {low: ..., high: ...}, {choices: [...]}, on or off"
_RANGE_KEYS: Final = ("low", "high", "log", "steps")
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
            changes[name] = _change(entry, inner)
        except Refused as error:
            refusals += [within(refusal, (written,)) for refusal in error.refusals]
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
    return KnobChange(value=value_text(entry, property_value(entry, value)))


def _among(entry: Property, value: Mapping[str, object]) -> KnobChange:
    """A range or a list of choices."""
    known = (*_RANGE_KEYS, "choices")
    unknown = [
        Refusal(f"a knob has no key {key!r}: {_RULE}", did_you_mean(key, known), within=(key,), about_name=True)
        for key in value
        if key not in known
    ]
    if unknown:
        raise Refused(*unknown)
    if not value:
        raise refused(_RULE)
    if "choices" in value:
        if len(value) > 1:
            raise refused("choices stand alone, without low, high, log and steps")
        return KnobChange(choices=_choices(entry, value["choices"]))
    return _range(entry, value)


def _choices(entry: Property, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not value:
        raise refused("choices are a list of values, such as [1, 5, 20]", within=("choices",))
    found: list[str] = []
    for position, choice in enumerate(value):
        text = _at(("choices", position), lambda one: value_text(entry, property_value(entry, one)), choice)
        if text in found:
            raise refused("each choice stands once", within=("choices", position))
        found.append(text)
    return tuple(found)


def _range(entry: Property, value: Mapping[str, object]) -> KnobChange:
    if entry.kind not in ("int", "float"):
        raise refused(f"{entry.name} is not a number, so it takes {{choices: [...]}} or one value")
    ends = {end: _at((end,), lambda one: _bound(entry, one), value[end]) for end in ("low", "high") if end in value}
    low, high = ends.get("low"), ends.get("high")
    if low is not None and high is not None and low > high:
        raise refused("low is at most high", within=("low",))
    log = _at(("log",), _flag, value["log"]) if "log" in value else None
    steps = _at(("steps",), _steps, value["steps"]) if "steps" in value else None
    return KnobChange(low=low, high=high, log=log, steps=steps)


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
