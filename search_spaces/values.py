"""The one canonical text of a property's value, or a refusal where the client would read it otherwise.

librdkafka reads numbers the way C does and stops at the first character it does not know: it takes
`batch.size=1e3` for 1, `010` for 8, `4294967300` for 4 and `linger.ms=5ms` for 5, without a word. Here a
value means what it says or is refused.

Source: `rd_kafka_conf_set` of librdkafka 2.16.0, tried with each of these values.
"""

import math
import re
from decimal import Decimal
from typing import Final

from search_spaces.catalogue import Property
from search_spaces.errors import InvalidValue

# What a config may be written with: text from a file, or the plain values of YAML and of a search.
Value = str | int | float | bool

_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)", re.ASCII)
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
# The client compares these without regard to case, and takes nothing else: not yes, not on.
_BOOLEANS: Final = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
# The client keeps linger.ms, its only fractional property, in whole microseconds.
_SMALLEST_MS: Final = Decimal("0.001")


def canonical_value(entry: Property, value: Value) -> str:
    """Return the canonical text of `value` for the property `entry`.

    Booleans become `true` or `false`; integers lose their sign and spaces; fractional milliseconds are
    rounded to the microsecond and written without exponent; words take the client's spelling; `acks=all`
    becomes `-1`.

    Raises:
        InvalidValue: the property does not take the value, or the client would read it as another one.
    """
    text = _as_text(entry, value)
    if entry.kind == "bool":
        return _boolean(entry, text)
    if entry.kind == "int":
        return _integer(entry, text)
    if entry.kind == "float":
        return _milliseconds(entry, text)
    if entry.choices is not None:
        return _words(entry, text)
    if "\x00" in text:
        raise InvalidValue(entry.name, "text without NUL characters", text, secret=entry.secret)
    return text


def _as_text(entry: Property, value: Value) -> str:
    if isinstance(value, bool):
        if entry.kind != "bool":
            raise InvalidValue(entry.name, _takes(entry), value, secret=entry.secret)
        return "true" if value else "false"
    if isinstance(value, float) and entry.kind == "int" and value.is_integer():
        return str(int(value))
    # repr, not str of a subclass: numpy's float64 is a float and prints as one only so.
    return float.__repr__(value) if isinstance(value, float) else str(value)


def _boolean(entry: Property, text: str) -> str:
    try:
        return _BOOLEANS[text.strip().lower()]
    except KeyError:
        raise InvalidValue(entry.name, _takes(entry), text) from None


def _integer(entry: Property, text: str) -> str:
    text = text.strip()
    if entry.name == "acks" and text.lower() == "all":
        return "-1"
    if not _INTEGER.fullmatch(text):
        raise InvalidValue(entry.name, _takes(entry), text)
    number = int(text)
    _check_range(entry, number, text)
    return str(number)


def _milliseconds(entry: Property, text: str) -> str:
    text = text.strip()
    if not _DECIMAL.fullmatch(text):
        raise InvalidValue(entry.name, _takes(entry), text)
    number = Decimal(text)
    _check_range(entry, number, text)
    rounded = number.quantize(_SMALLEST_MS)
    if number and not rounded:
        raise InvalidValue(entry.name, "0 or at least a microsecond (0.001)", text)
    digits = f"{rounded:f}"
    return digits.rstrip("0").rstrip(".").removeprefix("-")


def _check_range(entry: Property, number: int | Decimal, text: str) -> None:
    low = -math.inf if entry.low is None else entry.low
    high = math.inf if entry.high is None else entry.high
    if not low <= number <= high:
        raise InvalidValue(entry.name, _takes(entry), text)


def _words(entry: Property, text: str) -> str:
    by_lower = {choice.lower(): choice for choice in entry.choices or ()}
    words = text.split(",") if entry.kind == "flags" else [text]
    try:
        return ",".join(by_lower[word.strip().lower()] for word in words)
    except KeyError:
        raise InvalidValue(entry.name, _takes(entry), text) from None


def _takes(entry: Property) -> str:
    if entry.kind == "bool":
        return "true or false"
    if entry.kind in ("int", "float"):
        noun = "a whole decimal number" if entry.kind == "int" else "a decimal number"
        return f"{noun} from {entry.low:,} to {entry.high:,}"
    if entry.choices is not None:
        return ("any of " if entry.kind == "flags" else "one of ") + ", ".join(entry.choices)
    return "text"
