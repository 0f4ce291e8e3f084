"""The properties of librdkafka, as the library lists them."""

import json
from importlib import resources
from types import MappingProxyType
from typing import Final

from search_spaces.librdkafka.roles import JAVA_HINTS, hidden, role_of
from search_spaces.properties.catalogue import Catalogue, DefaultChange, Property

# librdkafka lists these Kafka names as aliases of names that only librdkafka uses. We make the Kafka names canonical,
# because users know them and paste them into other tools.
_KAFKA_NAMES: Final = {
    "metadata.broker.list": "bootstrap.servers",
    "sasl.mechanisms": "sasl.mechanism",
    "queue.buffering.max.ms": "linger.ms",
    "message.send.max.retries": "retries",
    "compression.codec": "compression.type",
    "request.required.acks": "acks",
    "message.timeout.ms": "delivery.timeout.ms",
}

# The client compares the case of the words of this property. Source: rd_kafka_conf_validate_partitioner of librdkafka.
_EXACT_CASE: Final = frozenset({"partitioner"})

DEFAULT_CHANGES: Final = (
    DefaultChange("linger.ms", "1.5", "0.5", "5"),
    DefaultChange("request.timeout.ms", "1.5.2", "5000", "30000"),
    DefaultChange("retries", "1.5.2", "2", "2147483647"),
    DefaultChange("topic.metadata.refresh.fast.interval.ms", "2.3", "250", "100"),
    DefaultChange("socket.nagle.disable", "2.10", "false", "true"),
)
"""The properties whose defaults differ between versions.

Source: CHANGELOG.md of librdkafka, and all of its CONFIGURATION.md from 1.4.0 to 2.15.0, compared.
"""


def _alias_of(name: str, alias_of: str | None) -> str | None:
    """Return the canonical name that `name` is an alias of; None if `name` is canonical itself."""
    canonical = _KAFKA_NAMES.get(alias_of or name, alias_of)
    return None if canonical == name else canonical


def load_catalogue() -> Catalogue:
    """Return the catalogue of librdkafka."""
    text = resources.files("search_spaces.librdkafka").joinpath("properties.json").read_text(encoding="utf-8")
    data = json.loads(text)
    properties: dict[str, Property] = {}
    for row in data["properties"]:
        alias_of = _alias_of(row["name"], row.get("alias_of"))
        producer, kind = row.get("producer", True), row.get("type", "string")
        role, reason = role_of(alias_of or row["name"], producer=producer, pointer=kind == "pointer")
        properties[row["name"]] = Property(
            name=row["name"],
            producer=producer,
            kind=kind,
            low=row.get("low"),
            high=row.get("high"),
            choices=tuple(row["choices"]) if "choices" in row else None,
            default=row.get("default"),
            alias_of=alias_of,
            role=role,
            reason=reason,
            any_case=row["name"] not in _EXACT_CASE,
        )
    return Catalogue(
        data["client"], data["version"], MappingProxyType(JAVA_HINTS), MappingProxyType(properties), hidden
    )
