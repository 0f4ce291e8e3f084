"""The properties of the Java producer, as the releases of kafka-clients list them."""

import json
import re
from collections.abc import Mapping
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from types import MappingProxyType
from typing import Any, Final

from search_spaces.client_facts.record_format import CODECS
from search_spaces.java_client.levels import LEVEL_PROPERTIES
from search_spaces.java_client.roles import LIBRDKAFKA_HINTS, role_of
from search_spaces.java_client.versions import Minor
from search_spaces.properties.catalogue import INT_MAX, Catalogue, DefaultChange, Property, Role, major_and_minor

# Facts that the client's own list of properties lacks.
_ANY_CASE: Final = "metadata.recovery.strategy"  # for all other properties, the client compares the case of the words
_MINOR: Final = re.compile(r"\d+\.\d+", re.ASCII)


@lru_cache
def _catalogue_file() -> dict[str, list[Any]]:
    """Return the content of the file: the rows of `properties`, and `releases` from the oldest to the newest.

    A row that says nothing else begins with the oldest release and ends with the newest one.
    """
    text = resources.files("search_spaces.java_client").joinpath("properties.json").read_text(encoding="utf-8")
    content: dict[str, list[Any]] = json.loads(text)
    oldest, newest = (release.rpartition(".")[0] for release in (content["releases"][0], content["releases"][-1]))
    content["properties"] = [{"since": oldest, "until": newest, **row} for row in content["properties"]]
    return content


def newest_release() -> str:
    """Return the newest release of kafka-clients that is known."""
    return str(_catalogue_file()["releases"][-1])


def release_of(version: str) -> str:
    """Return the newest known release of a minor version such as "3.6"; any other text is returned as it is."""
    releases = (release for release in reversed(_catalogue_file()["releases"]) if release.rpartition(".")[0] == version)
    # There is no known release of an unknown minor version. The first one then stands for it in error messages.
    return next(releases, f"{version}.0" if _MINOR.fullmatch(version) else version)


@lru_cache
def default_changes() -> tuple[DefaultChange, ...]:
    """Return the properties of the measured config whose defaults differ between releases, sorted by name."""
    changes = []
    for older, newer in pairwise(_catalogue_file()["properties"]):
        before, after = _property(older), _property(newer)
        if before.name != after.name or after.role is not Role.PRODUCER:
            continue
        # With another default partitioner, null stands for another algorithm and not for another value.
        if before.default is not None and after.default is not None and before.default != after.default:
            changes.append(DefaultChange(after.name, newer["since"], before.default, after.default))
    return tuple(changes)


def load_catalogue(version: str, minor: Minor) -> Catalogue:
    """Return the properties of a release.

    Args:
        version: The release, such as "3.9.1".
        minor: Its minor version, such as (3, 9).
    """
    found = {
        row["name"]: _property(row)
        for row in _catalogue_file()["properties"]
        if major_and_minor(row["since"]) <= minor <= major_and_minor(row["until"])
    }
    hints = {**LIBRDKAFKA_HINTS, **_of_other_releases(found, minor)}
    return Catalogue(f"the Java client {version}", version, MappingProxyType(hints), MappingProxyType(found))


def _of_other_releases(found: Mapping[str, Property], minor: Minor) -> dict[str, str]:
    """Return hints for names that other releases have."""
    hints: dict[str, str] = {}
    for row in _catalogue_file()["properties"]:
        if row["name"] in found:
            continue
        if major_and_minor(row["since"]) > minor:
            hints.setdefault(row["name"], f"it exists from {row['since']} on")
        else:
            hints[row["name"]] = f"it existed up to {row['until']}"
    return hints


def _property(row: Mapping[str, Any]) -> Property:
    name, kind, low = row["name"], row.get("type", "string"), row.get("low")
    high, default = row.get("high"), row.get("default")
    choices = tuple(row["choices"]) if "choices" in row else None
    if name == "compression.type":
        kind, choices = "enum", CODECS  # releases before 3.3 check the codec only when they start
    elif name == _ANY_CASE and choices is not None:
        choices = tuple(choice.lower() for choice in choices)
    elif name == "acks":
        kind, choices, low, high = "int", None, -1, 1
        default = "-1" if default == "all" else default
    elif name == "linger.ms":
        high = INT_MAX  # KafkaProducer.lingerMs lowers longer ones without a word
    elif name == LEVEL_PROPERTIES["gzip"]:
        low = int(row["default"])  # -1 means the codec's own default; 0 is refused by a rule
    role, reason = role_of(name)
    return Property(
        name=name,
        producer=True,
        kind=kind,
        low=low,
        high=high,
        choices=choices,
        default=default,
        alias_of=None,
        role=role,
        reason=reason,
        java=True,
        any_case=name == _ANY_CASE,
        lowers=name == "linger.ms",
    )
