"""JAAS configurations of one login, as the property `sasl.jaas.config` of Kafka's Java client holds them.

Source: `JaasConfig` of kafka-clients 4.3.1, which reads `Module flag name=value ...;` with Java's `StreamTokenizer`:
single and double quotes, C's escapes within them, `//` and `/* */` comments.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | "(?P<double>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)'
    | (?P<sign>[=;]) | (?P<word>[^\s=;"'/]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """One entry of a JAAS configuration; its options hold secrets.

    Attributes:
        module: Class name of the login module, without its package.
        options: The entry's options by name, as the user wrote them.
    """

    module: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"Login({self.module})"


def parse_jaas(text: str) -> Login | None:
    """Return the login in a value of `sasl.jaas.config`; None if the value is not one entry in Java's syntax."""
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != (";", True):
        return None
    (module, _), (flag, _), *rest = tokens[:-1]
    if flag.lower() not in _FLAGS or len(rest) % 3:
        return None
    options: dict[str, str] = {}
    for (name, name_is_sign), equals, (value, value_is_sign) in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if name_is_sign or equals != ("=", True) or value_is_sign:
            return None
        options[name] = value
    return Login(module.rpartition(".")[2], options)


def _tokens(text: str) -> list[tuple[str, bool]] | None:
    """Return pairs of a token and whether it is a sign (`=` or `;`); None if the text is not valid JAAS syntax."""
    tokens: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        position = match.end()
        if match["sign"]:
            tokens.append((match["sign"], True))
        elif match["word"]:
            tokens.append((match["word"], False))
        elif (quoted := match["double"] if match["double"] is not None else match["single"]) is not None:
            tokens.append((_ESCAPE.sub(_unescaped, quoted), False))
    return tokens


def _unescaped(escape: re.Match[str]) -> str:
    inside = escape[1]
    return chr(int(inside, 8)) if inside.isdecimal() and inside[0] in "01234567" else _LETTERS.get(inside, inside)


def jaas(module: str, options: Mapping[str, str]) -> str:
    """Return one entry of a JAAS configuration, such as `module required username="tuner" password="...";`.

    Values are quoted as Java's `StreamTokenizer` reads them: a backslash before quotes and backslashes, and octal
    numbers for control characters.
    """
    written = "".join(f' {name}="{"".join(map(_quoted, value))}"' for name, value in options.items())
    return f"{module} required{written};"


def _quoted(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    return f"\\{ord(character):03o}" if ord(character) < ord(" ") else character
