"""Readers, which check the value of a single key. Each reader has its rule in words and as JSON Schema.

A reader takes a value from YAML and returns the converted value, or raises `Refused` with the rule. The rule does not
repeat the value, because the value may be a secret. `Problems` decides whether the value may be shown.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler, ValidationInfo
from pydantic_core import CoreSchema, core_schema

from runners.errors import WorkloadRefused
from runners.number_range import NumberRange
from runners.quantities import CLOCK_RULE, DURATION_RULE, SIZE_RULE, clock_time, duration_s, size_bytes
from runners.workload import MAX_RECORD_BYTES, RecordSizes
from search_spaces.client import Client
from tuner.model.target import ADDRESS_RULE, check_addresses
from tuner.study_file.errors import did_you_mean, refused
from tuner.study_file.strict_yaml import scalar

Schema = Mapping[str, Any]

LONGEST_TEXT: Final = 4_096
"""The largest number of characters of a text. A path can't be longer, and no other text needs more."""

_VARIABLE: Final[Schema] = {"type": "string", "pattern": r"\$\{", "description": "An environment variable, as ${NAME}"}
_NUMBER_TYPES: Final = ("integer", "number")


@dataclass(frozen=True, slots=True, eq=False)  # `typing` hashes readers, but a schema has no hash
class ValueReader:
    """A reader of one value of a study file. As a pydantic annotation, it replaces pydantic's own rules and messages.

    Attributes:
        read: Takes a value from YAML, and returns the converted value or raises `Refused`.
        schema: The values that are accepted, as JSON Schema.
    """

    read: Callable[[Any], object]
    schema: Schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(self._read_short)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        if self.schema.get("type") in (*_NUMBER_TYPES, "boolean") or "enum" in self.schema:
            return {"anyOf": [dict(self.schema), dict(_VARIABLE)]}
        return dict(self.schema)

    def _read_short(self, value: Any) -> object:
        _check_length(value)
        return self.read(value)


@dataclass(frozen=True, slots=True, eq=False)
class ClientValueReader:
    """A reader of a value whose meaning depends on the study's client.

    Attributes:
        read: Takes the client and a value from YAML, and returns the converted value or raises `Refused`.
        schema: The values that are accepted, as JSON Schema.
    """

    read: Callable[[Client, Any], object]
    schema: Schema

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.with_info_plain_validator_function(self._read)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return dict(self.schema)

    def _read(self, value: Any, info: ValidationInfo) -> object:
        _check_length(value)
        assert isinstance(info.context, Client), "a study file must be validated with its client as context"
        return self.read(info.context, value)


def _check_length(value: object) -> None:
    """Check that a value is not a text that is too long.

    Raises:
        Refused: The text is longer than `LONGEST_TEXT`.
    """
    if isinstance(value, str) and len(value) > LONGEST_TEXT:
        raise refused(
            f"a text here must have at most {LONGEST_TEXT} characters", advice=f"it has {len(value)}, so shorten it"
        )


def whole(low: int, high: int) -> ValueReader:
    """Return a reader that accepts whole numbers from `low` to `high`."""
    return ValueReader(lambda value: int(_number(value, low, high, whole=True)), _range_schema("integer", low, high))


def number(low: float, high: float, *, above: bool = False, below: bool = False) -> ValueReader:
    """Return a reader that accepts numbers from `low` to `high`; `above` excludes `low`, `below` excludes `high`."""
    schema = _range_schema("number", low, high, above=above, below=below)
    return ValueReader(lambda value: float(_number(value, low, high, above=above, below=below)), schema)


def seconds(low: float, high: float, *, above: bool = False) -> ValueReader:
    """Return a reader that turns a duration, such as `30s` or `5m`, into seconds; `above` excludes `low` itself."""
    return ValueReader(
        lambda value: float(_number(_amount(value, duration_s, DURATION_RULE), low, high, above=above, unit="seconds")),
        _or_text(_range_schema("number", low, high, above=above), "Seconds, or a text such as 30s, 5m, 2h"),
    )


def size(low: int, high: int) -> ValueReader:
    """Return a reader that turns a size, such as `64KiB` or `50GB`, into bytes."""
    return ValueReader(
        lambda value: _size(value, low, high),
        _or_text(_range_schema("integer", low, high), "Bytes, or a text such as 64KiB, 50GB"),
    )


def clock() -> ValueReader:
    """Return a reader that accepts a local time, as `clock_time` does."""

    def read(value: object) -> str:
        try:
            return clock_time(value if isinstance(value, str) else "")
        except ValueError:
            raise refused(CLOCK_RULE, advice="put it in quotes") from None

    return ValueReader(
        read,
        {"type": "string", "description": "A time of day, such as 07:00, or with its date, such as 2026-11-25 07:00"},
    )


def flag() -> ValueReader:
    """Return a reader that accepts true and false."""
    return ValueReader(lambda value: _flag(value, "must be true or false"), {"type": "boolean"})


def switch() -> ValueReader:
    """Return a reader that accepts on and off, and also true and false."""
    words = {"on": True, "off": False}

    def read(value: object) -> bool:
        return _flag(words.get(value, value) if isinstance(value, str) else value, "must be on or off")

    return ValueReader(read, {"enum": [*words, True, False]})


def text(
    rule: str = "must be a line of printable text that neither is empty nor begins or ends with a blank",
    pattern: str = r"\S(.*\S)?",
) -> ValueReader:
    """Return a reader that accepts texts of one line.

    Args:
        rule: The rule in words, for messages.
        pattern: Regular expression that the whole text must match.
    """
    compiled = re.compile(pattern, re.ASCII)

    def read(value: object) -> str:
        if not isinstance(value, str):
            raise refused(rule, advice="put it in quotes" if _is_number(value) or isinstance(value, bool) else "")
        if not compiled.fullmatch(value) or not value.isprintable():
            raise refused(rule)
        return value

    return ValueReader(read, {"type": "string"})


def addresses() -> ValueReader:
    """Return a reader that accepts the addresses of brokers, each with a host and a port."""
    plain = text(ADDRESS_RULE)

    def read(value: object) -> str:
        written = str(plain.read(value))
        try:
            return check_addresses(written)
        except ValueError:
            raise refused(ADDRESS_RULE) from None

    return ValueReader(read, {"type": "string"})


def word(names: Iterable[str]) -> ValueReader:
    """Return a reader that accepts only the given words."""
    words = list(names)

    def read(value: object) -> str:
        if not isinstance(value, str) or value not in words:
            raise refused(f"must be one of {', '.join(words)}", advice=did_you_mean(value, words))
        return value

    return ValueReader(read, {"enum": words})


def one_of(kind: type[StrEnum]) -> ValueReader:
    """Return a reader that accepts the values of an enumeration, and returns the matching member."""
    words = word(member.value for member in kind)
    return ValueReader(lambda value: kind(str(words.read(value))), words.schema)


def record_sizes() -> ValueReader:
    """Return a reader that accepts one record size, or a mix of sizes with weights such as `100:70,1000:30`."""
    rule = "a record size must read like 1000 or 64KiB, and a mix of sizes like 100:70,1000:30 (size:weight)"

    def read(value: object) -> RecordSizes:
        if not isinstance(value, str) or ":" not in value:
            return RecordSizes.fixed(_size(value, 1, MAX_RECORD_BYTES, rule))
        if "," not in value:
            raise refused(rule, advice="put a mix inside [...] in quotes")
        try:
            return RecordSizes.parse(value)
        except WorkloadRefused as error:
            raise refused(rule, detail=str(error)) from None

    return ValueReader(
        read,
        _or_text(
            _range_schema("integer", 1, MAX_RECORD_BYTES),
            'Bytes, a text such as 64KiB, or a mix such as "100:70,1000:30"',
        ),
    )


def _size(value: object, low: int, high: int, rule: str = SIZE_RULE) -> int:
    return int(_number(_amount(value, size_bytes, rule), low, high, whole=True, unit="bytes"))


def _amount(value: object, parse: Callable[[str], float], rule: str) -> object:
    """Return the number that a value is, or that `parse` reads from its text.

    Raises:
        Refused: The value is neither a number nor such a text; `rule` says so.
    """
    if isinstance(value, str):
        try:
            return parse(value)
        except ValueError:
            raise refused(rule) from None
    if not _is_number(value):
        raise refused(rule)
    return value


def _flag(value: object, rule: str) -> bool:
    meant = scalar(value) if isinstance(value, str) else value
    if not isinstance(meant, bool):
        raise refused(rule)
    return meant


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _number(
    value: object,
    low: float,
    high: float,
    *,
    whole: bool = False,
    above: bool = False,
    below: bool = False,
    unit: str = "",
) -> int | float:
    """Return the value if it is a number in the range.

    A text that reads as a number is accepted, too, because the values of environment variables are texts.

    Raises:
        Refused: The value is not a number, or is outside the range.
    """
    allowed = NumberRange(low, high, whole=whole, above=above, below=below, unit=unit)
    meant = scalar(value) if isinstance(value, str) else value
    if isinstance(meant, bool) or not isinstance(meant, int | float) or meant not in allowed:
        raise refused(str(allowed))
    return meant


def _range_schema(kind: str, low: float, high: float, *, above: bool = False, below: bool = False) -> Schema:
    return {
        "type": kind,
        "exclusiveMinimum" if above else "minimum": low,
        "exclusiveMaximum" if below else "maximum": high,
    }


def _or_text(schema: Schema, description: str) -> Schema:
    text = {"type": "string", "description": description}
    return {"anyOf": [dict(schema), text], "description": description}
