"""Makes the reference of the keys of study files, experiment files and the service's config file, and of the metrics.

The keys come from the JSON Schemas of the files, and the metrics from the tables of metrics.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from objectives.metrics import OUTCOME_METRICS, Direction, Metric
from objectives.row_metrics import ROW_METRICS
from tuner.experiment_file.sections import ExperimentFile
from tuner.service.config import ServiceFile
from tuner.study_file import STARTER_TEXT, json_schema

from .markdown import capital, code, entry, fenced, heading, listed, prose, sentence, together

Schema = Mapping[str, Any]

_LONG_LIST: Final = 12
_TEXT: Final = "a text"


def study_file() -> str:
    """Return all keys of a study file, and an example file with every default, in Markdown."""
    return together(_sections(json_schema()), heading(2, "A file with every default"), fenced("yaml", STARTER_TEXT))


def service_file() -> str:
    """Return all keys of the service's config file, in Markdown."""
    return _sections(ServiceFile.model_json_schema())


def experiment_file() -> str:
    """Return all keys of an experiment file, in Markdown."""
    return _sections(ExperimentFile.model_json_schema()).replace("(#metrics)", "(#the-metrics-of-a-row)")


def metrics() -> str:
    """Return the metrics that objectives and constraints may name, in Markdown."""
    return _metrics(OUTCOME_METRICS.values())


def row_metrics() -> str:
    """Return the metrics of an experiment's rows, in Markdown."""
    return _metrics(ROW_METRICS.values())


def _metrics(known: Iterable[Metric]) -> str:
    entries = []
    for metric in known:
        better = "Higher is better." if metric.direction is Direction.MAXIMIZE else "Lower is better."
        unit = f"In {metric.unit}. " if metric.unit else ""
        meaning = sentence(capital(metric.meaning))
        entries.append(entry(metric.name, meaning, unit + better, anchor=f"metric-{metric.name}"))
    return together(*entries)


def _sections(schema: Schema) -> str:
    """Return the headings of a file's top-level keys, each followed by the key's description or its section's keys."""
    parts: Schema = schema.get("$defs", {})
    required = schema.get("required", ())
    blocks = []
    for key, found in schema["properties"].items():
        blocks.append(heading(2, key))
        section = _section_of(found, parts)
        if section is None:
            blocks.append(_value(key, found, parts, key in required, anchor=""))
            continue
        blocks += [_opening(found, section, key in required), *_keys(key, section, parts)]
    return together(*blocks)


def _opening(key: Schema, section: Schema, required: bool) -> str:
    """Return the text below the heading of a section: its description, and whether every file has the section."""
    texts = dict.fromkeys(filter(None, (key.get("description", ""), section.get("description", ""))))
    return " ".join([*map(sentence, texts), *(["Every file has this section."] if required else [])])


def _keys(path: str, section: Schema, parts: Schema) -> Iterator[str]:
    """Yield the keys of a section, and then the sections inside this section with their headings."""
    required = section.get("required", ())
    inner: list[tuple[str, Schema, Schema]] = []
    for key, found in section["properties"].items():
        below = _section_of(found, parts)
        if below is not None:
            inner.append((key, found, below))
        else:
            yield _value(f"{path}.{key}", found, parts, key in required, anchor=f"{path}.{key}")
    for key, found, below in inner:
        yield heading(3, f"{path}.{key}")
        yield _opening(found, below, required=False)
        yield from _keys(f"{path}.{key}", below, parts)


def _value(path: str, found: Schema, parts: Schema, required: bool, *, anchor: str) -> str:
    """Return the description of one key: its meaning, the values that it takes, and its default."""
    facts = []
    if (taken := _taken(found, parts)) != _TEXT:
        facts.append(f"Takes {taken}.")
    if required:
        facts.append("Required.")
    elif found.get("default") is not None:
        facts.append(f"Default: {code(_as_yaml(found['default'], found))}.")
    meaning = sentence(found["description"])
    return entry(path, meaning, " ".join(facts), anchor=anchor) if anchor else together(meaning, " ".join(facts))


def _section_of(found: Schema, parts: Schema) -> Schema | None:
    """Return the schema of the section that a key holds, or None if the key holds a value.

    A key that may hold a section or nothing counts as holding a section, and so does a key with a list of sections.
    """
    names = [each["$ref"] for each in (found, *found.get("anyOf", ()), found.get("items", {})) if "$ref" in each]
    return parts[names[0].rpartition("/")[2]] if names else None


def _taken(schema: Schema, parts: Schema) -> str:
    """Return in words which values a key takes."""
    choices = [each for each in schema.get("anyOf", [schema]) if not _is_variable(each) and each != {"type": "null"}]
    plain = [each for each in choices if each.get("type") in ("integer", "number")]
    texts = [each for each in choices if each.get("type") == "string" and set(each) <= {"type", "description"}]
    if plain and texts and len(choices) == 2:
        unit, _, text = texts[0]["description"].partition(", ")
        return f"{unit.lower()} {_range(plain[0])}, {prose(text)}"
    several = next((each for each in choices if each.get("type") == "array"), None)
    if several is not None and several["items"] in choices:
        single = [_kind(each, parts) for each in choices if each is not several]
        return f"{', or '.join(single)}, or a list of {_count(several)} of them"
    kinds = list(dict.fromkeys(_kind(each, parts) for each in choices))
    return f"{', '.join(kinds[:-1])}, or {kinds[-1]}" if len(kinds) > 1 else kinds[0]


def _kind(schema: Schema, parts: Schema) -> str:
    """Return in words which values one of the alternative schemas of a key allows."""
    if "anyOf" in schema:
        return _taken(schema, parts)
    if "$ref" in schema:
        return "a section with the keys of [`target`](study-file.md#target)"
    if "enum" in schema:
        words = schema["enum"]
        if {"on", "off"} <= {word for word in words if isinstance(word, str)}:
            return f"{code('on')} or {code('off')}"
        if len(words) > _LONG_LIST:
            return "one of the [metrics](#metrics)" if "mb_per_s" in words else listed(words)
        return listed(words)
    match schema.get("type"):
        case "integer" | "number":
            return _number(schema)
        case "boolean":
            return f"{code('true')} or {code('false')}"
        case "string":
            return _TEXT
        case "array":
            return f"a list of {_count(schema)} items, each {_kind(schema['items'], parts)}"
        case _:
            return _mapping(schema, parts)


def _mapping(schema: Schema, parts: Schema) -> str:
    inner = schema.get("additionalProperties")
    if isinstance(inner, Mapping) and "$ref" in inner:
        return f"names, each with {_kind(inner, parts)}"
    names = schema.get("propertyNames", {}).get("enum", ())
    if "security.protocol" in names:
        return "connection properties of the client with their values"
    if "acks" in names and isinstance(inner, Mapping) and "anyOf" in inner:
        return "[knobs](knobs.md), each with the values that the search may choose"
    if "acks" in names:
        return "[producer properties](knobs.md#all-producer-properties) with their values"
    return "names with values"


def _count(schema: Schema) -> str:
    low, high = schema.get("minItems", 0), schema.get("maxItems")
    if high is None:
        return f"at least {low:,}" if low else "any number of"
    return f"{low:,} to {high:,}"


def _number(schema: Schema) -> str:
    if "minimum" in schema and schema["minimum"] == schema.get("maximum"):
        return f"only {_digits(schema['minimum'])}"
    return f"a {'whole ' if schema['type'] == 'integer' else ''}number {_range(schema)}"


def _range(schema: Schema) -> str:
    """Return a range of numbers in words."""
    if "exclusiveMinimum" in schema:
        return f"above {_digits(schema['exclusiveMinimum'])} and up to {_digits(schema['maximum'])}"
    if "exclusiveMaximum" in schema:
        return f"from {_digits(schema['minimum'])} to below {_digits(schema['exclusiveMaximum'])}"
    return f"from {_digits(schema['minimum'])} to {_digits(schema['maximum'])}"


def _digits(number: float) -> str:
    return f"{number:,.15g}" if number < 10**15 else f"{number:.0e}".replace("e+", "e")


def _is_variable(schema: Schema) -> bool:
    """Return whether a schema allows only `${NAME}`, the reference to an environment variable that holds the value."""
    return schema.get("pattern") == r"\$\{"


def _as_yaml(value: object, schema: Schema) -> str:
    """Return a default value as it would be written in a study file."""
    if isinstance(value, bool):
        words = [word for each in schema.get("anyOf", ()) for word in each.get("enum", ())]
        return ("on" if value else "off") if "on" in words else str(value).lower()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, int) and value >= 10**9 and value % 10**9 == 0:
        return f"{value // 10**9}GB"
    if isinstance(value, list):
        return f"[{', '.join(_as_yaml(each, {}) for each in value)}]"
    return value if isinstance(value, str) else json.dumps(value)
