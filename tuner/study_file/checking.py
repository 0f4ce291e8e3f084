"""Plain values against the sections, with every misfit in our words."""

from collections.abc import Iterator
from typing import Any, Final

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tuner.study_file.errors import Place, Problems, Refusal, Refused, key_path
from tuner.study_file.nearest import did_you_mean
from tuner.study_file.reading import Plain
from tuner.study_file.sections import Section, StudyFile

_EXAMPLE: Final = "the least study file is `workload: {record_bytes: [100, 1000]}`"


def check(value: Plain, problems: Problems) -> StudyFile | None:
    """The sections of a file; None when something is wrong, and then `problems` says what."""
    if not isinstance(value, dict):
        what = "is empty" if value is None else "holds no sections"
        problems.add((), f"a study file names sections, each with its keys, and this one {what}; {_EXAMPLE}")
        return None
    try:
        return StudyFile.model_validate(value)
    except ValidationError as error:
        misfits = error.errors(include_url=False)
    for misfit in misfits:
        _note(misfit, problems)
    return None


def _note(misfit: ErrorDetails, problems: Problems) -> None:
    place: Place = tuple(misfit["loc"])
    match misfit["type"]:
        case "value_error":
            refusal: Refused = misfit["ctx"]["error"]
            for each in refusal.refusals:
                problems.refuse(place, each, _inside(misfit["input"], each.within))
        case "extra_forbidden":
            problems.add(place, _unknown(place))
        case "missing":
            problems.add(place, f"this key must be there; {_EXAMPLE}")
        case "too_short":
            problems.refuse(place, Refusal("a list has at least one entry"), misfit["input"])
        case "too_long":
            problems.refuse(
                place, Refusal(f"a list has at most {misfit['ctx']['max_length']} entries"), misfit["input"]
            )
        case "list_type":
            problems.refuse(place, Refusal("this is a list, such as [a, b]"), misfit["input"])
        case _:
            advice = f"its keys are {', '.join(_keys(place))}; a blank follows the colon"
            problems.refuse(place, Refusal("a section has keys with values", advice), misfit["input"])


def _unknown(place: Place) -> str:
    """What to say of a key that its section does not have; its value may be anything and is not shown."""
    section, name = place[:-1], str(place[-1])
    keys = _keys(section)
    where = key_path(section) or "a study file"
    advice = did_you_mean(name, keys)
    if not advice:
        elsewhere = [
            f"{key_path(other)}" for other, known in _sections(StudyFile) if name in known and other != section
        ]
        advice = f"it belongs in {elsewhere[0]}" if elsewhere and elsewhere[0] else ""
    ended = advice if advice.endswith("?") else f"{advice or 'leave it out'}."
    return f"{where} has no such key; {ended} Its keys: {', '.join(keys)}"


def _keys(section: Place) -> list[str]:
    named = tuple(part for part in section if isinstance(part, str))
    named = ("target", *named[1:]) if named[:1] == ("targets",) else named
    return next((keys for place, keys in _sections(StudyFile) if place == named), [])


def _sections(model: type[BaseModel], place: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Every section's place and keys, outer ones first."""
    yield place, list(model.model_fields)
    for name, field in model.model_fields.items():
        inner: Any = field.annotation
        if isinstance(inner, type) and issubclass(inner, Section):
            yield from _sections(inner, (*place, name))


def _inside(value: Any, place: Place) -> Any:
    for part in place:
        value = value[part]
    return value
