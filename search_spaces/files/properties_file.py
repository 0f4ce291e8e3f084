"""Reading and writing of Java's `.properties` files, and reading of `key=value` pairs from a command line.

The format is that of `java.util.Properties`: comments start with `#` or `!`, a key ends at `=`, `:` or white space, and
a backslash continues a line or starts an escape. Files are UTF-8. This reader differs from Java in two points: a
repeated key is an error here, while Java silently uses the last entry, and values can name environment variables.

Source: the documentation of `java.util.Properties.load(Reader)` and `store`, Java SE 21.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Final

from search_spaces.client import is_known, may_show
from search_spaces.errors import ConfigError, PropertiesFileError
from search_spaces.files.variables import VariableError, filled_in
from search_spaces.properties.catalogue import is_secret

MAX_BYTES: Final = 1_000_000
_FRAMEWORKS: Final = {"spring.": "a Spring application", "mp.messaging.": "a Quarkus application"}
"""The beginnings of keys that only the config of a framework has, and not that of a client."""
_BLANK: Final = " \t\f"
_LINE_END: Final = re.compile(r"\r\n|\n|\r")
_ESCAPES: Final = {"t": "\t", "n": "\n", "r": "\r", "f": "\f"}
# The letter is optional, because a backslash may be the last character of the file.
_ESCAPE: Final = re.compile(r"\\(?:u(?P<digits>.{0,4})|(?P<letter>.?))", re.DOTALL)
_WRITTEN: Final = {
    **{code: f"\\u{code:04x}" for code in (*range(ord(" ")), 0x7F)},
    **{ord(character): f"\\{character}" for character in "\\=:#!"},
    **{ord(character): f"\\{letter}" for letter, character in _ESCAPES.items()},
}
_HEX_DIGITS: Final = re.compile(r"[0-9a-fA-F]{4}")
_SURROGATE_PAIR: Final = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def read_properties(
    path: Path, environ: Mapping[str, str] | None = None, *, is_filled: Callable[[str], bool] = lambda _: True
) -> dict[str, str]:
    """Return the entries of a properties file, in the file's order.

    Args:
        path: The file.
        environ: The environment variables for `${NAME}` in values; None leaves the values as they are written.
        is_filled: Returns whether variables are replaced in the value of this property; by default in all values.

    Raises:
        PropertiesFileError: The file or an entry cannot be read, the file is of another kind, such as JSON, or is not
            UTF-8, a key is repeated, a variable is not set, or a line does not begin with a property's name. The
            message does not show such a line, which may be a secret.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise PropertiesFileError(str(path), 0, "", f"a properties file must be readable: {error.strerror}") from None
    if len(data) > MAX_BYTES:
        raise PropertiesFileError(str(path), 0, "", f"a properties file must have at most {MAX_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise PropertiesFileError(str(path), line, "", "a properties file must be UTF-8 text") from None

    def value_of(key: str, written: str) -> str:
        return written if environ is None or not is_filled(key) else _filled(key, written, environ)

    _check_kind(path, text)
    return parse_properties(text, source=str(path), is_name=may_show, value_of=value_of)


def _check_kind(path: Path, text: str) -> None:
    """Refuse a file that is obviously no properties file.

    Raises:
        PropertiesFileError: The file is JSON, XML or nested YAML, or the config of a framework.
    """
    lines = [line.strip() for line in text.split("\n")]
    first = next(filter(None, lines), "")
    if first.startswith("{"):
        raise _other_kind(path, "JSON")
    if first.startswith("<"):
        raise _other_kind(path, "XML")
    # Simple YAML, such as `linger.ms: 5`, can be read as properties.
    of_yaml = path.suffix in (".yml", ".yaml") and any(line.endswith(":") or line.startswith("-") for line in lines)
    if of_yaml or _is_nested_yaml(text):
        raise _other_kind(path, "YAML")
    keys = [_split(entry)[0] for _, entry in _logical_lines(text)]
    framework = next((name for key in keys for prefix, name in _FRAMEWORKS.items() if key.startswith(prefix)), None)
    if framework and not any(map(is_known, keys)):
        raise _other_kind(path, f"the config of {framework}")


def _is_nested_yaml(text: str) -> bool:
    """Return whether a line has only the name of a section, such as `spring:`, and the next line is indented."""
    lines = [line for each in text.split("\n") if (line := each.partition(" #")[0].rstrip()) and line[0] != "#"]
    return any(
        line.endswith(":") and line[0] != " " and not is_known(line[:-1]) and following[0] == " "
        for line, following in pairwise(lines)
    )


def _other_kind(path: Path, kind: str) -> PropertiesFileError:
    return PropertiesFileError(
        str(path),
        0,
        "",
        "a properties file has one property of the Kafka client in each line, such as linger.ms=5, but this looks "
        f"like {kind}; write its properties into a properties file, with the names that the client gives them, such as "
        "batch.size and not batch-size",
    )


def _filled(key: str, written: str, environ: Mapping[str, str]) -> str:
    try:
        return filled_in(written, environ, MAX_BYTES)[0]
    except VariableError as error:
        # A password may contain `${`. Then what follows is not the name of a variable, but a part of the password.
        if is_secret(key) and error.name and written != f"${{{error.name}}}":
            rule = "an environment variable that the value names is not set; export it, or write $${ for the characters"
            raise VariableError(f"{rule} ${{") from None
        raise


@contextmanager
def named_source(source: str) -> Iterator[None]:
    """Run a block that checks properties, and begin its error messages with the place that the properties are from.

    Args:
        source: The name of a file, or the option that gives the properties.

    Raises:
        ConfigError: The error from the block.
    """
    try:
        yield
    except PropertiesFileError:  # its message names the source already
        raise
    except ConfigError as error:
        error.args = (f"{source}: {error}", *error.args[1:])
        raise


def parse_properties(
    text: str,
    *,
    source: str = "properties",
    is_name: Callable[[str], bool] | None = None,
    value_of: Callable[[str, str], str] = lambda _, written: written,
) -> dict[str, str]:
    """Return the entries in the text of a properties file, in the text's order.

    Args:
        text: The whole text.
        source: The name of the file in error messages.
        is_name: Returns whether a text can be a key; by default any text can.
        value_of: Returns the value of a key from the written value, or raises `VariableError`; by default the same.

    Raises:
        PropertiesFileError: An entry cannot be read, a key is repeated, or a variable can't be replaced.
    """
    entries: dict[str, str] = {}
    first_lines: dict[str, int] = {}
    for line, entry in _logical_lines(text):
        raw_key, raw_value = _split(entry)
        key = _unescape(raw_key, source, line, "")
        if is_name is not None and not is_name(key):
            rule = "a line must begin with a property's name, such as linger.ms=5"
            advice = "a value that continues in the next line needs a backslash at its line's end"
            raise PropertiesFileError(source, line, "", f"{rule}; {advice} (not shown, since it may be a secret)")
        if key in first_lines:
            raise PropertiesFileError(
                source,
                line,
                key,
                f"a key must not be repeated, but line {first_lines[key]} already has it; remove one of the lines",
            )
        first_lines[key] = line
        try:
            entries[key] = value_of(key, _unescape(raw_value, source, line, key))
        except VariableError as error:
            raise PropertiesFileError(source, line, key, str(error)) from None
    return entries


def parse_pairs(pairs: Iterable[str], option: str = "-X") -> dict[str, str]:
    """Return the entries of `key=value` pairs, as a repeated option gives them.

    A pair is split at its first `=`, so values may contain `=`. There are no escapes.

    Args:
        pairs: The values of the option.
        option: The option, for error messages.

    Raises:
        PropertiesFileError: A pair has no `=` or no key, or a key is repeated. The error's `line` is the number of the
            pair, from 1.
    """
    entries: dict[str, str] = {}
    positions: dict[str, int] = {}
    for position, pair in enumerate(pairs, start=1):
        key, equals, value = pair.partition("=")
        key = key.strip()
        if not equals or not key:
            # The text may be a secret value whose key was forgotten, so only the name of a known property is shown.
            rule = "a pair must be written as key=value, such as linger.ms=5"
            raise PropertiesFileError(option, position, "", rule, pair if is_known(pair) else "")
        if key in positions:
            raise PropertiesFileError(
                option, position, key, f"a key must not be repeated, but pair {positions[key]} already has it"
            )
        positions[key] = position
        entries[key] = value
    return entries


def format_properties(entries: Mapping[str, str], *, comment: str = "") -> str:
    """Return the text of a properties file with the given entries, in their order.

    Args:
        entries: Keys and values; any text without lone surrogates.
        comment: Text for the top of the file; every line is prefixed with `# `.
    """
    head = "".join(f"# {line}".rstrip() + "\n" for line in _LINE_END.split(comment)) if comment else ""
    return head + "".join(
        f"{_escape(key, blanks=True)}={_escape(value, blanks=False)}\n" for key, value in entries.items()
    )


def format_ascii_properties(entries: Mapping[str, str]) -> str:
    """Return the text of a properties file for a program that reads it as Latin-1, as Kafka does.

    Every character outside ASCII is escaped, as one or two units of UTF-16.

    Args:
        entries: Keys and values; any text.
    """
    return "".join(c if c.isascii() else _escaped_units(c) for c in format_properties(entries))


def _escaped_units(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[index : index + 4]}" for index in range(0, len(units), 4))


def _logical_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield every entry as a pair: the number of the entry's first line, and the text of all its lines joined."""
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
            shown = digits if key and not is_secret(key) else ""
            raise PropertiesFileError(source, line, key, "four hex digits must follow \\u", shown)
        return chr(int(digits, 16))

    unescaped = _ESCAPE.sub(meant, raw)
    # Java strings are UTF-16, so two escapes may form one character.
    text = _SURROGATE_PAIR.sub(lambda pair: pair.group().encode("utf-16", "surrogatepass").decode("utf-16"), unescaped)
    if _SURROGATE.search(text):
        raise PropertiesFileError(
            source,
            line,
            key,
            "text must not contain a lone surrogate (\\uD800 to \\uDFFF), which is only half a character",
        )
    return text


def _escape(text: str, *, blanks: bool) -> str:
    escaped = text.translate(_WRITTEN)
    if blanks:
        return escaped.replace(" ", "\\ ")
    return f"\\{escaped}" if escaped.startswith(" ") else escaped
