"""Parses the text of a property's value as the clients do.

`canonical_value` returns the canonical text of a property's value, and refuses a value that the client would misread.
librdkafka parses numbers like C and stops at the first character that it does not understand: it reads
`batch.size=1e3` as 1, `010` as 8, `4294967300` as 4 and `linger.ms=5ms` as 5, and reports no error.

Source: `rd_kafka_conf_set` of librdkafka 2.16.0, tried with each of these values.
"""

import math
import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from search_spaces.errors import ConflictingSpellings, InvalidValue, MisplacedProperty
from search_spaces.properties.catalogue import TRANSACTIONAL_ID, Catalogue, Property, Role, Value

_INTEGER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)", re.ASCII)
_ANY_INTEGER: Final = re.compile(r"[+-]?[0-9]{1,19}", re.ASCII)
_LONG_MAX: Final = 2**63 - 1
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?", re.ASCII)
# The clients ignore the case of these words and accept no others: neither "yes" nor "on".
_BOOLEANS: Final = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}
_JAVA_BOOLEANS: Final = {"true": "true", "false": "false"}
# Java compares the text, so it takes neither "+1" nor "ALL".
_JAVA_ACKS: Final = ("all", "-1", "0", "1")
# The characters that the clients skip: `String.trim` of Java, and `isspace` of C.
_JAVA_BLANKS: Final = "".join(map(chr, range(0x21)))
_C_BLANKS: Final = " \t\n\v\f\r"
# librdkafka stores linger.ms, its only fractional property, in whole microseconds.
_SMALLEST_MS: Final = Decimal("0.001")


def canonical_value(entry: Property, value: Value) -> str:
    """Return the canonical text of `value` for the property `entry`.

    Booleans become `true` or `false`. Integers lose a plus sign and surrounding spaces. Fractional milliseconds are
    rounded to the microsecond and written without an exponent. Words get the client's spelling. `acks=all` becomes
    `-1`.

    Blanks around a value are accepted where the client accepts them: Java removes them from every value. librdkafka
    skips them around numbers and in front of words, and refuses all others, also those at the end of a word.

    Raises:
        InvalidValue: The property does not accept the value, or the client would read it as a different value.

    Source: `ConfigDef.parseType` of kafka-clients and `rd_kafka_anyconf_set` of librdkafka, tried with kafka-clients
    2.8.2, 3.9.1 and 4.3.1 and librdkafka 2.16.0.
    """
    text = _as_text(entry, value)
    if entry.java:
        text = text.strip(_JAVA_BLANKS)
    if entry.kind == "bool":
        return _boolean(entry, text)
    if entry.kind == "int":
        return _integer(entry, text)
    if entry.kind == "float":
        return _milliseconds(entry, text)
    if entry.choices is not None:
        return _words(entry, text)
    if entry.java and entry.name == TRANSACTIONAL_ID and not text:
        raise InvalidValue(entry.name, "text that is not empty", text)
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
    # numpy's float64 is a subclass of float with its own str() and repr(); this prints it like a plain float.
    return float.__repr__(value) if isinstance(value, float) else str(value)


def _boolean(entry: Property, text: str) -> str:
    try:
        return (_JAVA_BOOLEANS if entry.java else _BOOLEANS)[text.lower()]
    except KeyError:
        raise _no_such_word(entry, text) from None


def _integer(entry: Property, text: str) -> str:
    if entry.name == "acks":
        if entry.java and text not in _JAVA_ACKS:
            raise InvalidValue(entry.name, "one of " + ", ".join(_JAVA_ACKS), text)
        if text.lower() == "all":
            return "-1"
        if text.strip(_C_BLANKS).lower() == "all":
            raise _no_such_word(entry, text)
    text = text.strip(_C_BLANKS)
    if not (_ANY_INTEGER if entry.java else _INTEGER).fullmatch(text):
        raise InvalidValue(entry.name, _takes(entry), text)
    # int() refuses texts of thousands of digits.
    number = Decimal(text)
    _check_range(entry, number, text)
    return str(int(number))


def _milliseconds(entry: Property, text: str) -> str:
    text = text.strip(_C_BLANKS)
    if not _DECIMAL.fullmatch(text):
        raise InvalidValue(entry.name, _takes(entry), text)
    number = Decimal(text)
    _check_range(entry, number, text)
    rounded = number.quantize(_SMALLEST_MS)
    if number and not rounded:
        raise InvalidValue(entry.name, "0, or at least 0.001 (a microsecond)", text)
    digits = f"{rounded:f}"
    return digits.rstrip("0").rstrip(".").removeprefix("-")


def _check_range(entry: Property, number: Decimal, text: str) -> None:
    low = -math.inf if entry.low is None else entry.low
    high = math.inf if entry.high is None else entry.high
    if not low <= number <= high:
        raise InvalidValue(entry.name, _takes(entry), text)


def _words(entry: Property, text: str) -> str:
    def spelt(word: str) -> str:
        return word.lower() if entry.any_case else word

    taken = {spelt(choice): choice for choice in entry.choices or ()}
    words = text.split(",") if entry.kind == "flags" else [text]
    try:
        return ",".join(taken[spelt(word.lstrip(_C_BLANKS))] for word in words)
    except KeyError:
        raise _no_such_word(entry, text) from None


def _no_such_word(entry: Property, text: str) -> InvalidValue:
    blanks = ", without a blank around it" if text != text.strip() else ""
    return InvalidValue(entry.name, _takes(entry) + blanks, text)


def _takes(entry: Property) -> str:
    if entry.kind == "bool":
        return "true or false"
    if entry.kind in ("int", "float"):
        noun = "a whole decimal number" if entry.kind == "int" else "a decimal number"
        if entry.name == "acks":
            noun = f"all, or {noun}"
        return f"{noun} from {entry.low:,} to {entry.high:,}"
    if entry.choices is not None:
        return ("any of " if entry.kind == "flags" else "one of ") + ", ".join(entry.choices)
    return "text"


def lowered(entry: Property, value: str) -> str:
    """Return the highest number as text if the value exceeds it and the client lowers it; otherwise the value as it is.

    Source: `KafkaProducer.lingerMs` of kafka-clients.
    """
    text = value.strip(_JAVA_BLANKS)
    if not entry.lowers or entry.high is None or not _ANY_INTEGER.fullmatch(text):
        return value
    return str(int(entry.high)) if entry.high < int(text) <= _LONG_MAX else value


class CanonicalValues:
    """Canonical values by canonical name, of properties that may be given under several names.

    Attributes:
        values: Canonical values by canonical name.
    """

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self._spellings: dict[str, str] = {}

    def add(self, entry: Property, spelling: str, value: Value) -> None:
        """Add a property that was given under the name `spelling`.

        Raises:
            InvalidValue: The property does not accept the value.
            ConflictingSpellings: The property was already given under another name with a different value.
        """
        canonical = canonical_value(entry, value)
        first = self._spellings.setdefault(entry.name, spelling)
        if (kept := self.values.setdefault(entry.name, canonical)) != canonical:
            raise ConflictingSpellings(entry.name, (first, spelling), (kept, canonical), secret=entry.secret)


def canonical_values(catalogue: Catalogue, mapping: Mapping[str, Value], role: Role) -> dict[str, str]:
    """Return canonical values by canonical name, after checking that every property has the role `role`.

    Args:
        catalogue: The properties of the client.
        mapping: Property names (aliases are allowed) and values, as text or plain YAML values.
        role: The role that every property must have, such as `Role.CONNECTION`.

    Raises:
        UnknownProperty: The client has no property of this name.
        MisplacedProperty: A property has another role.
        InvalidValue: A property does not accept its value.
        ConflictingSpellings: A property is given under two names with different values.
    """
    given = CanonicalValues()
    for spelling, value in mapping.items():
        entry = catalogue.find(spelling)
        if entry.role is not role:
            raise MisplacedProperty(spelling, entry.role, entry.reason)
        given.add(entry, spelling, value)
    return given.values
