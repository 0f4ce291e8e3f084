"""The formats of a recommended config. Each format is a pure function of the recommendation."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from search_spaces.java import Translation, translate_to_java
from search_spaces.properties_file import format_properties
from tuner.present.export.record import SCHEMA_VERSION, recommendation_record
from tuner.present.wording import (
    KEEP,
    NO_GAIN,
    aligned,
    changes,
    gain_sentences,
    numbers_table,
    within_scatter,
)
from tuner.results.recommendation import Recommendation


class Format(StrEnum):
    """The formats in which a recommendation can be written."""

    TABLE = "table"
    PROPERTIES = "properties"
    LIBRDKAFKA = "librdkafka"
    JSON = "json"
    ENV = "env"
    JAVA = "java"
    SPRING = "spring"


TRANSLATED: Final = frozenset({Format.JAVA, Format.SPRING})
"""Formats for another client than the one that was measured."""

SUFFIXES: Final[Mapping[Format, str]] = MappingProxyType(
    {
        Format.TABLE: ".txt",
        Format.PROPERTIES: ".properties",
        Format.LIBRDKAFKA: ".librdkafka.json",
        Format.JSON: ".json",
        Format.ENV: ".env",
        Format.JAVA: ".java.properties",
        Format.SPRING: ".spring.yaml",
    }
)
"""The end of the file name for each format, after the name of the goal."""


def export(found: Recommendation, form: Format) -> str:
    """Return the recommendation in one format; the text ends with a line feed."""
    return _FORMS[form](found)


def export_all(found: Sequence[Recommendation], form: Format) -> str:
    """Return the recommendations for several record sizes as one text.

    The JSON formats hold one entry per record size. In the other formats the recommendations follow each other, each
    below a comment that names its record size. A single recommendation is written as `export` writes it.
    """
    if len(found) == 1:
        return export(found[0], form)
    match form:
        case Format.JSON:
            records = [recommendation_record(each) for each in found]
            return _dumped({"schema_version": SCHEMA_VERSION, "kind": "recommendations", "recommendations": records})
        case Format.LIBRDKAFKA:
            return _dumped({each.record_bytes: each.config.values for each in found})
        case Format.SPRING:
            return "---\n".join(export(each, form) for each in found)
        case _:
            return "\n".join(export(each, form) for each in found)


def _properties(found: Recommendation) -> str:
    return format_properties(found.config.values, comment="\n".join(_origin(found)))


def _librdkafka(found: Recommendation) -> str:
    return _dumped(found.config.values)


def _json(found: Recommendation) -> str:
    return _dumped(recommendation_record(found))


def _env(found: Recommendation) -> str:
    lines = [f"{_variable(name)}={shlex.quote(value)}" for name, value in found.config.values.items()]
    comment = [*_origin(found), "to set these variables in sh: set -a; . ./this-file"]
    return format_properties({}, comment="\n".join(comment)) + "".join(f"{line}\n" for line in lines)


def _variable(name: str) -> str:
    """Return the environment variable for a property.

    Source: the convention of Kafka's and Confluent's images: a dot becomes `_`, and a `_` in the name becomes `__`.
    """
    return "KAFKA_" + name.replace("_", "__").replace(".", "_").upper()


def _java(found: Recommendation) -> str:
    translation = translate_to_java(found.config)
    return format_properties(translation.properties, comment="\n".join(_translated(found, translation)))


def _spring(found: Recommendation) -> str:
    """Return the recommendation as Spring Boot configuration.

    Names in brackets keep their dots; a JSON string is also a YAML string.
    Source: Spring Boot, "Apache Kafka Support".
    """
    translation = translate_to_java(found.config)
    head = format_properties({}, comment="\n".join(_translated(found, translation)))
    entries = [f"        {json.dumps(f'[{name}]')}: {json.dumps(v)}\n" for name, v in translation.properties.items()]
    return head + "spring:\n  kafka:\n    producer:\n      properties:\n" + "".join(entries)


def _origin(found: Recommendation) -> list[str]:
    """Return the comment lines above a config that say where the config comes from."""
    promised, before = found.trial.guarantee, found.baseline.guarantee
    return [
        f"kafka-tuner: study {found.study}, trial {found.trial.number}, for {found.config.client}",
        f"records: {found.record_bytes} B",
        f"goal: {found.goal}",
        *(f"gain: {sentence}" for sentence in gain_sentences(found)),
        f"measured: {found.how}",
        f"guarantee: {promised}" + ("" if promised == before else f"; the baseline's is different: {before}"),
        *(f"warning: {warning}" for warning in found.warnings),
    ]


def _translated(found: Recommendation, translation: Translation) -> list[str]:
    without = ", ".join(f"{name}={found.config.values[name]}" for name in translation.without_twin)
    return [
        f"{translation.label}: this config is for Kafka's Java producer, but was measured with {found.config.client}",
        *_origin(found),
        f"left out (Kafka's Java producer has no such property): {without or 'none'}",
        *(f"note: {note}" for note in translation.notes),
    ]


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def recommendation_table(found: Recommendation) -> str:
    """Return the recommendation as plain text that is readable at any width."""
    head = f"study {found.study}, {found.record_bytes} B records, goal {found.goal}: trial {found.trial.number}"
    parts = [head, "", *_to_paste(found), "", *_numbers(found), "", *_facts(found)]
    changed = _changed(found)
    return "\n".join([*parts, *(["", *changed] if changed else [])]) + "\n"


def _to_paste(found: Recommendation) -> list[str]:
    pasted = format_properties(found.config.values).splitlines() or ["(nothing: the client's own defaults)"]
    heading = KEEP if found.is_baseline else f"to paste ({found.config.client} properties):"
    return [heading, *(f"  {line}" for line in pasted)]


def _numbers(found: Recommendation) -> list[str]:
    headings, rows = numbers_table(found)
    return aligned([headings, *([cell if isinstance(cell, str) else cell[0] for cell in row] for row in rows)])


def _facts(found: Recommendation) -> list[str]:
    promised, before = found.trial.guarantee, found.baseline.guarantee
    rows = [] if found.confirmed or found.is_baseline else [("gain:", NO_GAIN)]
    rows.append(("guarantee:", f"{promised} (the same as the baseline's)" if promised == before else promised))
    if promised != before:
        rows.append(("", f"the baseline's is different: {before}"))
    rows += [
        ("measured:", found.how),
        *([("", "one more round: where the ratio of one more round would fall")] if found.confirmed else []),
    ]
    if found.confirmed and (unsure := within_scatter(found)):
        rows.append(
            ("beware:", f"the gain in {' and '.join(unsure)} is proven on average, but one round may not show it")
        )
        if any("p99" in name for name in unsure):
            rows.append(("", "a few stalls decide a p99: optimise a p95, or lengthen the paced phase (workload.paced)"))
    if found.trial.verdict:
        rows.append(("bound by:", f"{found.trial.verdict}: {found.trial.because}"))
    return aligned(rows, right=False)


def _changed(found: Recommendation) -> list[str]:
    changed = changes(found.trial.values, found.baseline.values)
    if not changed:
        return []
    rows = [("changed property", "recommended", "baseline", "client's default")]
    return aligned([*rows, *((c.name, c.value, c.baseline or "-", c.default or "-") for c in changed)])


_FORMS: Final[Mapping[Format, Callable[[Recommendation], str]]] = MappingProxyType(
    {
        Format.TABLE: recommendation_table,
        Format.PROPERTIES: _properties,
        Format.LIBRDKAFKA: _librdkafka,
        Format.JSON: _json,
        Format.ENV: _env,
        Format.JAVA: _java,
        Format.SPRING: _spring,
    }
)
