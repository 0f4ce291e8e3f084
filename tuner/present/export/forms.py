"""The formats in which a recommended config can be written. For each format, a pure function makes the text."""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

from search_spaces.client import Client, Kind
from search_spaces.from_java import translate_from_java
from search_spaces.properties_file import format_properties
from search_spaces.to_java import Translation, for_java
from tuner.present.export.record import SCHEMA_VERSION, recommendation_record
from tuner.present.wording import (
    NO_GAIN,
    aligned,
    changes,
    gain_sentences,
    in_short,
    instead,
    keep,
    not_advice,
    numbers_table,
    shown_value,
    undecided,
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


_OF_ONE_CLIENT: Final[Mapping[Format, Kind]] = MappingProxyType(
    {Format.JAVA: Kind.JAVA, Format.SPRING: Kind.JAVA, Format.LIBRDKAFKA: Kind.LIBRDKAFKA}
)


def is_translated(form: Format, client: Client) -> bool:
    """Return whether a format is for another client than the one that was measured."""
    return _OF_ONE_CLIENT.get(form, client.kind) is not client.kind


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
"""The suffix of the file name for each format. The file name begins with the goal: `balanced.properties`."""


def export(recommendation: Recommendation, form: Format, *, everything: bool = False) -> str:
    """Return the text of a recommendation in the given format, with a line feed at the end.

    Args:
        recommendation: The recommendation.
        form: The format.
        everything: Whether formats to paste also hold the properties that have the client's default value.
    """
    if form in _TO_PASTE:
        return _TO_PASTE[form](recommendation, _values_for(recommendation, form, everything=everything))
    return _FORMS[form](recommendation)


def pasted_values(recommendation: Recommendation, *, everything: bool = False) -> dict[str, str]:
    """Return the properties of a recommended config that a user has to set.

    A property is left out if the client has the same value without it. It stays if the baseline sets another value,
    because users may paste the config into the file that holds the baseline.

    Args:
        recommendation: The recommendation.
        everything: Whether to return all properties of the config.
    """
    values, baseline = dict(recommendation.config.values), recommendation.baseline.values
    client = recommendation.config.client
    in_force = {name: client.in_force(values).text(name) for name in values}
    for name in () if everything else in_force:
        without = {each: value for each, value in values.items() if each != name}
        is_same = all(client.in_force(without).text(each) == text for each, text in in_force.items())
        if is_same and baseline.get(name, in_force[name]) == in_force[name]:
            values = without
    return {name: shown_value(name, value) for name, value in values.items()}


def export_all(recommendations: Sequence[Recommendation], form: Format, *, everything: bool = False) -> str:
    """Return the recommendations for several record sizes as one text.

    The JSON formats hold one entry per record size. In the other formats the recommendations follow each other, each
    below a comment that names its record size. A single recommendation is written as `export` writes it.
    """
    if len(recommendations) == 1:
        return export(recommendations[0], form, everything=everything)
    match form:
        case Format.JSON:
            records = [recommendation_record(recommendation) for recommendation in recommendations]
            return _dumped({"schema_version": SCHEMA_VERSION, "kind": "recommendations", "recommendations": records})
        case Format.LIBRDKAFKA:
            return _dumped(
                {each.record_bytes: _values_for(each, form, everything=everything) for each in recommendations}
            )
        case Format.SPRING:
            return "---\n".join(export(recommendation, form) for recommendation in recommendations)
        case _:
            return "\n".join(export(each, form, everything=everything) for each in recommendations)


def _values_for(recommendation: Recommendation, form: Format, *, everything: bool) -> dict[str, str]:
    if not is_translated(form, recommendation.config.client):
        return pasted_values(recommendation, everything=everything)
    config, _ = translate_from_java(recommendation.config)
    return {name: shown_value(name, value) for name, value in config.values.items()}


def _properties(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    return format_properties(values, comment="\n".join(_origin(recommendation)))


def _librdkafka(_: Recommendation, values: Mapping[str, str]) -> str:
    return _dumped(values)


def _json(recommendation: Recommendation) -> str:
    return _dumped(recommendation_record(recommendation))


def _env(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    lines = [f"{_variable(name)}={shlex.quote(value)}" for name, value in values.items()]
    comment = [*_origin(recommendation), "to set these variables in sh: set -a; . ./this-file"]
    return format_properties({}, comment="\n".join(comment)) + "".join(f"{line}\n" for line in lines)


def _variable(name: str) -> str:
    """Return the name of the environment variable that sets a property in a container image of Kafka.

    Source: the convention of Kafka's and Confluent's images: a dot in the property's name becomes `_`, and `_`
    becomes `__`.
    """
    return "KAFKA_" + name.replace("_", "__").replace(".", "_").upper()


def _java(recommendation: Recommendation) -> str:
    translation = for_java(recommendation.config)
    return format_properties(translation.properties, comment="\n".join(_translated(recommendation, translation)))


def _spring(recommendation: Recommendation) -> str:
    """Return the recommendation as Spring Boot configuration.

    Property names are written in brackets, so that Spring keeps their dots. Names and values are written as JSON
    strings, which are also valid YAML strings.
    Source: Spring Boot, "Apache Kafka Support".
    """
    translation = for_java(recommendation.config)
    head = format_properties({}, comment="\n".join(_translated(recommendation, translation)))
    entries = [f"        {json.dumps(f'[{name}]')}: {json.dumps(v)}\n" for name, v in translation.properties.items()]
    return head + "spring:\n  kafka:\n    producer:\n      properties:\n" + "".join(entries)


def _origin(recommendation: Recommendation) -> list[str]:
    """Return the comment lines above a config that say where the config comes from."""
    promised, before = recommendation.trial.guarantee, recommendation.baseline.guarantee
    return [
        (
            f"kafka-tuner: study {recommendation.study}, trial {recommendation.trial.number}, "
            f"for {recommendation.config.client.identity}"
        ),
        f"records: {recommendation.record_bytes} B",
        f"goal: {recommendation.goal}",
        *(f"gain: {sentence}" for sentence in gain_sentences(recommendation)),
        *([not_advice(recommendation)] if not_advice(recommendation) else []),
        f"measured: {recommendation.how}",
        f"guarantee: {promised}" + ("" if promised == before else f"; the baseline's is different: {before}"),
        *(f"warning: {warning}" for warning in recommendation.warnings),
    ]


def _translated(recommendation: Recommendation, translation: Translation) -> list[str]:
    if not is_translated(Format.JAVA, recommendation.config.client):
        return _origin(recommendation)
    without = ", ".join(f"{name}={recommendation.config.values[name]}" for name in translation.without_twin)
    return [
        f"{translation.label}: for Kafka's Java producer, but measured with {recommendation.config.client.identity}",
        *_origin(recommendation),
        f"left out (Kafka's Java producer has no such property): {without or 'none'}",
        *(f"note: {note}" for note in translation.notes),
    ]


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


def recommendation_table(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    """Return the recommendation as plain text that can be read in a terminal of any width.

    Args:
        recommendation: The recommendation.
        values: The properties to paste.
    """
    head = (
        f"study {recommendation.study}, {recommendation.record_bytes} B records, goal {recommendation.goal}: "
        f"trial {recommendation.trial.number}"
    )
    short = in_short(recommendation)
    parts = [
        head,
        *([short] if short else []),
        "",
        *_to_paste(recommendation, values),
        "",
        *_numbers(recommendation),
        "",
        *_facts(recommendation),
    ]
    changed = _changed(recommendation)
    return "\n".join([*parts, *(["", *changed] if changed else [])]) + "\n"


def _to_paste(recommendation: Recommendation, values: Mapping[str, str]) -> list[str]:
    pasted = format_properties(values).splitlines() or ["(nothing: the client's own defaults)"]
    advice = keep(recommendation) or not_advice(recommendation)
    heading = advice or f"to paste ({recommendation.config.client.identity} properties):"
    others = instead(recommendation)
    return [heading, *others, *(["", "your config:"] if others else []), *(f"  {line}" for line in pasted)]


def _numbers(recommendation: Recommendation) -> list[str]:
    headings, rows = numbers_table(recommendation)
    return aligned([headings, *([cell if isinstance(cell, str) else cell[0] for cell in row] for row in rows)])


def _facts(recommendation: Recommendation) -> list[str]:
    promised, before = recommendation.trial.guarantee, recommendation.baseline.guarantee
    rows = [] if recommendation.confirmed or recommendation.is_baseline else [("gain:", NO_GAIN)]
    rows.append(("guarantee:", f"{promised} (the same as the baseline's)" if promised == before else promised))
    if promised != before:
        rows.append(("", f"the baseline's is different: {before}"))
    rows += [
        ("measured:", recommendation.how),
        *(
            [("", "one more round: the range in which the ratio of one more round would fall")]
            if recommendation.confirmed
            else []
        ),
    ]
    if recommendation.confirmed and (unsure := within_scatter(recommendation)):
        rows.append(
            ("beware:", f"the gain in {' and '.join(unsure)} is proven on average, but one round may not show it")
        )
        if any("p99" in name for name in unsure):
            rows.append(("", "a few stalls decide a p99: optimise a p95, or lengthen the paced phase (workload.paced)"))
    if open_question := undecided(recommendation):
        rows.append(("undecided:", open_question))
    if recommendation.trial.verdict:
        rows.append(("bound by:", f"{recommendation.trial.verdict}: {recommendation.trial.because}"))
    return aligned(rows, right=False)


def _changed(recommendation: Recommendation) -> list[str]:
    changed = changes(recommendation.trial, recommendation.baseline.values)
    if not changed:
        return []
    rows = [("changed property", "recommended", "baseline", "client's default")]
    shown = (
        (c.name, *(shown_value(c.name, each) or "-" for each in (c.value, c.baseline, c.default))) for c in changed
    )
    return aligned([*rows, *shown])


_TO_PASTE: Final[Mapping[Format, Callable[[Recommendation, Mapping[str, str]], str]]] = MappingProxyType(
    {
        Format.TABLE: recommendation_table,
        Format.PROPERTIES: _properties,
        Format.LIBRDKAFKA: _librdkafka,
        Format.ENV: _env,
    }
)
_FORMS: Final[Mapping[Format, Callable[[Recommendation], str]]] = MappingProxyType(
    {
        Format.JSON: _json,
        Format.JAVA: _java,
        Format.SPRING: _spring,
    }
)
