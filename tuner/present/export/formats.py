"""The formats in which a recommended config can be written. For each format, a pure function makes the text.

Some formats are for everybody. The others are the formats of one client's users, which `FORMATS` in
`search_spaces.client` lists.
"""

import json
import shlex
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final

import yaml

from runners.reporting import printable
from search_spaces.client import FORMATS, Client, ClientKind
from search_spaces.client_facts.formats import FileLayout, PropertiesFormat
from search_spaces.errors import FormatNotOffered
from search_spaces.files.properties_file import format_properties
from search_spaces.properties.catalogue import shown_value
from search_spaces.translation.to_java import for_java
from tuner.model.document import document
from tuner.present.export.pasted import pasted_values
from tuner.present.export.recommendation_json import recommendation_json
from tuner.present.export.table import recommendation_table
from tuner.present.recommendations.recommendation_words import gain_sentences, not_advice, proven_for_other_goals
from tuner.results.recommendations.recommendation import Recommendation


class Format(StrEnum):
    """The formats in which a recommendation can be written."""

    TABLE = "table"
    PROPERTIES = "properties"
    LIBRDKAFKA = "librdkafka"
    JSON = "json"
    ENV = "env"
    JAVA = "java"
    SPRING = "spring"
    QUARKUS = "quarkus"
    CONNECT = "connect"
    STREAMS = "streams"
    STRIMZI_CONNECT = "strimzi-connect"
    STRIMZI_CONNECTOR = "strimzi-connector"


_FORMATS: Final[Mapping[Format, PropertiesFormat]] = MappingProxyType(
    {Format(form.name): form for forms in FORMATS.values() for form in forms}
)
"""The formats for the users of one client."""
_CLIENTS: Final[Mapping[Format, ClientKind]] = MappingProxyType(
    {Format(form.name): kind for kind, forms in FORMATS.items() for form in forms}
)
"""The client of each format for the users of one client."""
_TRANSLATED: Final[Mapping[ClientKind, frozenset[Format]]] = MappingProxyType(
    {ClientKind.LIBRDKAFKA: frozenset({Format.JAVA, Format.SPRING}), ClientKind.JAVA: frozenset({Format.LIBRDKAFKA})}
)
"""For each client that was measured, the formats for the translation to another client."""

SUFFIXES: Final[Mapping[Format, str]] = MappingProxyType(
    {
        Format.TABLE: ".txt",
        Format.PROPERTIES: ".properties",
        Format.JSON: ".json",
        Format.ENV: ".env",
        **{each: f".{form.name}.{form.layout}" for each, form in _FORMATS.items()},
    }
)
"""The suffix of the file name for each format. The file name begins with the goal: `balanced.properties`."""
_NO_FOLDING: Final = 10_000


def is_translated(format_: Format, client: Client) -> bool:
    """Return whether a format is for another client than the one that was measured."""
    return format_ in _CLIENTS and _CLIENTS[format_] is not client.kind


def offered(client: Client) -> tuple[Format, ...]:
    """Return the formats in which a recommendation for a client can be written."""
    return tuple(each for each in Format if not is_translated(each, client) or each in _TRANSLATED[client.kind])


def export(recommendation: Recommendation, format_: Format, *, everything: bool = False) -> str:
    """Return the text of a recommendation in the given format, with a line feed at the end.

    Args:
        recommendation: The recommendation.
        format_: The format.
        everything: Whether formats to paste also hold the properties that have the client's default value. The formats
            of the Java client hold the whole config in any case.

    Raises:
        FormatNotOffered: The format is for another client than the one that was measured, and there is no translation.
    """
    client = recommendation.config.client
    if format_ not in offered(client):
        raise FormatNotOffered(format_, _CLIENTS[format_], client.label, offered(client))
    if format_ is Format.JSON:
        return _dumped(recommendation_json(recommendation))
    if format_ in _FORMATS:
        values = _entries(recommendation, format_, everything=everything)
        return _dumped(values) if _is_json(format_) else _commented(recommendation, format_, values)
    return _FOR_EVERYBODY[format_](recommendation, pasted_values(recommendation, everything=everything))


def export_all(recommendations: Sequence[Recommendation], format_: Format, *, everything: bool = False) -> str:
    """Return the recommendations for several record sizes as one text.

    The JSON formats hold one entry per record size. In the other formats the recommendations follow each other, each
    below a comment that names its record size. A single recommendation is written as `export` writes it.

    Raises:
        FormatNotOffered: As `export` does.
    """
    if len(recommendations) == 1:
        return export(recommendations[0], format_, everything=everything)
    if format_ is Format.JSON:
        records = [recommendation_json(recommendation) for recommendation in recommendations]
        return _dumped(document("recommendations", recommendations=records))
    if _is_json(format_):
        return _dumped({each.record_bytes: _entries(each, format_, everything=everything) for each in recommendations})
    between = "---\n" if format_ in _FORMATS and _FORMATS[format_].layout is FileLayout.YAML else "\n"
    return between.join(export(each, format_, everything=everything) for each in recommendations)


def _is_json(format_: Format) -> bool:
    return format_ in _FORMATS and _FORMATS[format_].layout is FileLayout.JSON


def _entries(recommendation: Recommendation, format_: Format, *, everything: bool) -> dict[str, str]:
    """Return the properties that a format for the users of one client has, under the names that the format gives them.

    A format for the Java client has the whole config; one for librdkafka has it only if `everything` is set.
    """
    config, form, kind = recommendation.config, _FORMATS[format_], _CLIENTS[format_]
    own = {name: shown_value(name, config.effective(name)) for name in form.own_defaults}
    whole = everything or kind is ClientKind.JAVA
    properties = {**own, **pasted_values(recommendation, kind, everything=whole)}
    return {form.key.format(name): value for name, value in properties.items()}


def _properties(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    return format_properties(values, comment=_comment(_origin(recommendation)))


def _env(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    lines = [f"{_variable(name)}={shlex.quote(value)}" for name, value in values.items()]
    comment = [*_origin(recommendation), "to set these variables in sh: set -a; . ./this-file"]
    return format_properties({}, comment=_comment(comment)) + "".join(f"{line}\n" for line in lines)


def _variable(name: str) -> str:
    """Return the name of the environment variable that sets a property in a container image of Kafka.

    Source: the convention of Kafka's and Confluent's images: a dot in the property's name becomes `_`, and `_`
    becomes `__`.
    """
    return "KAFKA_" + name.replace("_", "__").replace(".", "_").upper()


def _commented(recommendation: Recommendation, format_: Format, values: Mapping[str, str]) -> str:
    """Return a config in a client's format, as properties or YAML below a comment that says where it comes from."""
    form, entries = _FORMATS[format_], dict(sorted(values.items()))
    translated = is_translated(format_, recommendation.config.client)
    origin = _origin_of_translation(recommendation) if translated else _origin(recommendation)
    head = _comment([*origin, *([f"to use it: {form.usage}"] if form.usage else [])])
    if form.layout is FileLayout.YAML:
        return format_properties({}, comment=head) + _yaml(form, entries)
    return format_properties(entries, comment=head)


class _Quoted(str):
    """A text that is always in quotes, so that no reader of YAML takes it for a number, a boolean or a list."""


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that knows quoted texts."""


def _represent_quoted(dumper: yaml.SafeDumper, text: _Quoted) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"')


_Dumper.add_representer(_Quoted, _represent_quoted)


def _yaml(form: PropertiesFormat, entries: Mapping[str, str]) -> str:
    nested: dict[str, Any] = {_Quoted(key): _Quoted(value) for key, value in entries.items()}
    for key in reversed(form.inside):
        nested = {key: nested}
    if form.resource:
        nested = {"kind": form.resource, **nested}
    return yaml.dump(nested, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=_NO_FOLDING)


def _comment(lines: Sequence[str]) -> str:
    # Line separators that YAML knows, but properties files do not, would end the comment.
    return printable("\n".join(lines))


def _origin(recommendation: Recommendation) -> list[str]:
    """Return the comment lines above a config that say where the config comes from."""
    promised, before = recommendation.trial.guarantee, recommendation.baseline.guarantee
    others = proven_for_other_goals(recommendation)
    return [
        (
            f"kafka-tuner: study {recommendation.study}, "
            f"{'the baseline, ' if recommendation.is_baseline else ''}trial {recommendation.trial.number}, "
            f"for {recommendation.config.client.identity}"
        ),
        f"records: {recommendation.record_bytes} B",
        f"goal: {recommendation.goal}",
        *(f"gain: {sentence}" for sentence in gain_sentences(recommendation) if sentence not in others),
        *(f"other goals: {sentence}" for sentence in others),
        *([not_advice(recommendation)] if not_advice(recommendation) else []),
        f"measured: {recommendation.how}",
        f"guarantee: {promised}" + ("" if promised == before else f"; the baseline's is different: {before}"),
        *(f"warning: {warning}" for warning in recommendation.warnings),
    ]


def _origin_of_translation(recommendation: Recommendation) -> list[str]:
    """Return the comment lines above a config that was translated for the Java client."""
    config = recommendation.config
    translation = for_java(config)
    without = ", ".join(f"{name}={config.values[name]}" for name in translation.without_twin)
    return [
        f"{translation.label}: this is for Kafka's Java producer, and the study measured {config.client.identity}",
        *_origin(recommendation),
        f"left out (Kafka's Java producer has no such property): {without or 'none'}",
        *(f"note: {note}" for note in translation.notes),
    ]


def _dumped(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"


_FOR_EVERYBODY: Final[Mapping[Format, Callable[[Recommendation, Mapping[str, str]], str]]] = MappingProxyType(
    {Format.TABLE: recommendation_table, Format.PROPERTIES: _properties, Format.ENV: _env}
)
