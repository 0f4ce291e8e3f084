"""Java's `.properties` files, read as Java reads them, and `key=value` pairs from a command line.

The format is that of `java.util.Properties`: comments with `#` or `!`, a key ended by `=`, `:` or white
space, lines continued by a backslash, and escapes. Files are UTF-8. In one point this is stricter than Java,
where the last of two entries for one key wins in silence: here a repeated key is an error.

Source: the documentation of `java.util.Properties.load(Reader)` and `store`, Java SE 21.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

from search_spaces.errors import PropertiesFileError
from search_spaces.roles import is_secret

_BLANK: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# A backslash that ends the file continues into nothing.
_ESCAPE: Final = re.compile(r"\\(?:u(?P<digits>.{0,4})|(?P<letter>.?))", re.DOTALL)
_WRITTEN: Final = {
    **{code: f"\\u{code:04x}" for code in (*range(ord(" ")), 0x7F)},
    **{ord(character): f"\\{character}" for character in "\\=:#!"},
    **{ord(character): f"\\{letter}" for letter, character in _ESCAPES.items()},
}
_HEX_DIGITS: Final = re.compile(r"[0-9a-fA-F]{4}")
_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_properties(path: Path) -> dict[str, str]:
    """Return the entries of a properties file, in the file's order.

    Raises:
        PropertiesFileError: the file or an entry cannot be read, a key stands there twice, or it is not UTF-8.
    """
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise PropertiesFileError(str(path), 0, "", f"a properties file must be readable: {error.strerror}") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PropertiesFileError(path.name, line, "", "a properties file is UTF-8 text") from None
    return parse_properties(text, source=path.name)


def parse_properties(text: str, *, source: str = "properties") -> dict[str, str]:
    """Return the entries of the text of a properties file, in its order.

    Args:
        text: the whole text.
        source: what errors call it.

    Raises:
        PropertiesFileError: an entry cannot be read, or a key stands there twice.
    """
    entries: dict[str, str] = {}
    first_lines: dict[str, int] = {}
    for line, entry in _logical_lines(text):
        raw_key, raw_value = _split(entry)
        key = _unescape(raw_key, source, line, "")
        if key in first_lines:
            raise PropertiesFileError(
                source,
                line,
                key,
                f"a key stands in a file once, and line {first_lines[key]} has this one too",
            )
        first_lines[key] = line
        entries[key] = _unescape(raw_value, source, line, key)
    return entries


def parse_pairs(pairs: Iterable[str]) -> dict[str, str]:
    """Return the entries of `key=value` pairs, as given by repeated `-X`; each is split at its first `=`.

    Values may hold `=` themselves, and nothing in them is an escape.

    Raises:
        PropertiesFileError: a pair has no `=` or no key, or a key is given twice; `line` counts the pairs.
    """
    entries: dict[str, str] = {}
    positions: dict[str, int] = {}
    for position, pair in enumerate(pairs, start=1):
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            # The whole of it may be a value that lost its key, so it is not repeated here.
            raise PropertiesFileError("-X", position, "", "a pair is written key=value")
        if key in positions:
            raise PropertiesFileError(
                "-X", position, key, f"a key is given once, and this one is pair {positions[key]} too"
            )
        positions[key] = position
        entries[key] = value
    return entries


def format_properties(entries: Mapping[str, str], *, comment: str = "") -> str:
    """Return the text of a properties file that reads back as `entries`, in their order.

    Args:
        entries: keys and values; any text without lone surrogates.
        comment: put first, each of its lines behind `# `.
    """
    head = "".join(f"# {line}".rstrip() + "\n" for line in _LINE_END.split(comment)) if comment else ""
    return head + "".join(
        f"{_escape(key, blanks=True)}={_escape(value, blanks=False)}\n" for key, value in entries.items()
    )


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of its first line and the text of each entry, continuations joined."""
    parts: list[str] = []
    first = 0
    for number, natural in enumerate(_LINE_END.split(text), start=1):
        line = natural.lstrip(_BLANK)
        if not parts:
            if not line or line[0] in "#!":
                continue
            first = number
        backslashes = len(line) - len(line.rstrip("\\"))
        if backslashes % 2:
            parts.append(line[:-1])
            continue
        yield first, "".join([*parts, line])
        parts = []
    if any(parts):
        yield first, "".join(parts)


def _split(entry: str) -> tuple[str, str]:
    end = 0
    while end < len(entry) and entry[end] not in "=:" + _BLANK:
        end += 2 if entry[end] == "\\" else 1
    rest = entry[end:].lstrip(_BLANK)
    if rest[:1] in ("=", ":"):
        rest = rest[1:].lstrip(_BLANK)
    return entry[:end], rest


def _unescape(raw: str, source: str, line: int, key: str) -> str:
    def meant(escape: re.Match[str]) -> str:
        digits = escape["digits"]
        if digits is None:
            return _ESCAPES.get(escape["letter"], escape["letter"])
        if not _HEX_DIGITS.fullmatch(digits):
            shown = "" if is_secret(key) else digits
            raise PropertiesFileError(source, line, key, "four hex digits follow \\u", shown)
        return chr(int(digits, 16))

    unescaped = _ESCAPE.sub(meant, raw)
    # Java strings are UTF-16: two escapes may stand for one character.
    text = _SURROGATE_PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), unescaped)
    if _SURROGATE.search(text):
        raise PropertiesFileError(source, line, key, "half a character (a lone \\uD800 to \\uDFFF) is no text")
    return text


def _escape(text: str, *, blanks: bool) -> str:
    escaped = text.translate(_WRITTEN)
    if blanks:
        return escaped.replace(" ", "\\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
