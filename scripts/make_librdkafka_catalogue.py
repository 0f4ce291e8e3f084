"""Writes the catalogue of librdkafka's properties from the library itself, and their descriptions for the docs.

Run it when the pinned version of confluent-kafka changes, and review the difference:

    python scripts/make_librdkafka_catalogue.py

The library prints its properties as a Markdown table, which this script parses. The table does not list the values of
`partitioner`, so the script tries to set each candidate.
"""

import ctypes
import json
import re
import tempfile
import textwrap
from pathlib import Path
from typing import Any

import confluent_kafka
import confluent_kafka.cimpl

_REPOSITORY = Path(__file__).resolve().parents[1]
TARGET = _REPOSITORY / "search_spaces" / "librdkafka" / "properties.json"
DESCRIPTIONS = _REPOSITORY / "docs" / "extensions" / "reference" / "descriptions" / "librdkafka.json"

# The names of types in the library's table, where they follow `*Type:`, with their names in the catalogue. It does not
# state the type of a text.
_TYPES = {
    "boolean": "bool",
    "integer": "int",
    "float": "float",
    "string": None,
    "enum value": "enum",
    "CSV flags": "flags",
    "pattern list": "patterns",
    "see dedicated API": "pointer",
}


def librdkafka() -> ctypes.CDLL:
    """Return librdkafka as it is linked into confluent-kafka's extension module."""
    return ctypes.CDLL(confluent_kafka.cimpl.__file__)


def property_table() -> str:
    """Return the Markdown table that `rd_kafka_conf_properties_show` prints."""
    libc = ctypes.CDLL(None)
    libc.fopen.restype = ctypes.c_void_p
    libc.fopen.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
    libc.fclose.argtypes = [ctypes.c_void_p]
    show = librdkafka().rd_kafka_conf_properties_show
    show.argtypes = [ctypes.c_void_p]
    show.restype = None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "properties.md"
        stream = libc.fopen(str(path).encode(), b"w")
        if not stream:
            raise OSError(f"the file {path} can't be written")
        show(stream)
        libc.fclose(stream)
        return path.read_text(encoding="utf-8")


def describe() -> tuple[dict[str, Any], dict[str, str]]:
    """Return the catalogue of the loaded library (its name, version and properties), and the descriptions by name."""
    rows: dict[str, tuple[dict[str, Any], str]] = {}
    for line in property_table().splitlines():
        if line.count("|") >= 5 and not line.startswith(("Property ", "---")):
            row, description = _row(line)
            # librdkafka lists some names twice, as a global and as a topic property. Setting such a name on a client
            # sets the global property, which is listed first.
            rows.setdefault(row["name"], (row, description))
    properties = [row for row, _ in rows.values()]
    catalogue = {"client": "librdkafka", "version": confluent_kafka.libversion()[0], "properties": properties}
    return catalogue, {name: description for name, (_, description) in rows.items()}


def as_json(catalogue: dict[str, Any]) -> str:
    """Return the catalogue as JSON with one property per line, so that the diff to a new version is readable.

    A property's line leaves out what the property does not have, such as the range of a text, and the type of a text.
    It says `producer` only of a property that a producer does not use.
    """
    stated = [{key: value for key, value in row.items() if value is not None} for row in catalogue["properties"]]
    rows = ",\n".join(json.dumps(row, ensure_ascii=False) for row in stated)
    head = "".join(f"  {json.dumps(key)}: {json.dumps(catalogue[key])},\n" for key in ("client", "version"))
    return "{\n" + head + '  "properties": [\n' + rows + "\n]}\n"


def _row(line: str) -> tuple[dict[str, Any], str]:
    # A default may contain `||`, such as in a shell command, so the columns are split off from both ends.
    name, applies, domain, rest = (cell.strip() for cell in line.split("|", 3))
    split = re.fullmatch(r"(.*?)\s*\| (high|medium|low)\s*\| (.*)", rest)
    if split is None:
        raise ValueError(f"a row of the library's table must have the known columns, but this row has not: {line!r}")
    default, _, text = split.groups()
    description, _, type_words = text.partition(" <br>*Type: ")
    kind = _TYPES[type_words.strip().removesuffix("*")]
    alias = re.match(r"(?:\*\*DEPRECATED\*\* )?Alias for `([^`]+)`", description)
    low, high, choices = _domain(name, kind, domain, description)
    row = {
        "name": name,
        "producer": None if "P" in applies or "*" in applies else False,
        "type": "enum" if name == "partitioner" else kind,
        "low": low,
        "high": high,
        "choices": choices,
        # The table shows the features of this build as a default. They differ between wheels, so they are left out.
        "default": None if name == "builtin.features" else default or None,
        "alias_of": alias.group(1) if alias else None,
    }
    return row, _short(description)


def _domain(
    name: str, kind: str | None, domain: str, description: str
) -> tuple[float | None, float | None, list[str] | None]:
    if kind in ("int", "float") and ".." in domain:
        low, high = (int(bound) for bound in domain.split(" .. "))
        return low, high, None
    if kind in ("enum", "flags") and domain:
        return None, None, domain.split(", ")
    if name == "partitioner":
        return None, None, [word for word in re.findall(r"`(\w+)` - ", description) if _takes(name, word)]
    return None, None, None


def _takes(name: str, value: str) -> bool:
    library = librdkafka()
    library.rd_kafka_conf_new.restype = ctypes.c_void_p
    library.rd_kafka_conf_set.argtypes = [ctypes.c_void_p, *[ctypes.c_char_p] * 3, ctypes.c_size_t]
    library.rd_kafka_conf_destroy.argtypes = [ctypes.c_void_p]
    conf = library.rd_kafka_conf_new()
    try:
        return bool(library.rd_kafka_conf_set(conf, name.encode(), value.encode(), None, 0) == 0)
    finally:
        library.rd_kafka_conf_destroy(conf)


def _short(description: str) -> str:
    plain = re.sub(r"<br>", " ", description)
    plain = re.sub(r"^(?:\*\*DEPRECATED\*\* )?Alias for `[^`]+`: ", "", plain)
    plain = re.sub(r"\*\*(.+?)\*\*", r"\1", plain).strip()
    first, stop, _ = plain.partition(". ")
    return textwrap.shorten(first + ("." if stop else ""), 160, placeholder=" ...")


def main() -> None:
    """Write the catalogue of the loaded library and the descriptions to their files."""
    catalogue, descriptions = describe()
    TARGET.write_text(as_json(catalogue), encoding="utf-8")
    DESCRIPTIONS.write_text(json.dumps(descriptions, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    print(f"{TARGET.name}: {len(catalogue['properties'])} properties of librdkafka {catalogue['version']}")


if __name__ == "__main__":
    main()
