"""The settings that a question about another config or load changes.

This module does not import scipy, because the options of a command need it, and scipy takes long to import.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final, get_args, get_type_hints

from search_spaces.client import Client


@dataclass(frozen=True, slots=True)
class ChangedSettings:
    """The changes of a question. None leaves a setting as it is in the study.

    Attributes:
        record_bytes: Record size in bytes, or a mix of sizes.
        rate: Records per second at which the latencies hold.
        partitions: Number of partitions of the topic.
        replication: Number of replicas of each partition.
        producers: Number of producers that share the load.
        compressibility: Share of each value that compression can remove.
        properties: Producer properties and their values.
    """

    record_bytes: str | None = None
    rate: float | None = None
    partitions: int | None = None
    replication: int | None = None
    producers: int | None = None
    compressibility: float | None = None
    properties: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, settings: Mapping[str, str]) -> "ChangedSettings":
        """Parse changes: the new values of settings as text, by name.

        Raises:
            ValueError: A setting of the load must be a number, and is not.
        """
        changes: dict[str, Any] = {"properties": {}}
        for name, value in settings.items():
            if name not in LOAD_SETTINGS:
                changes["properties"][name] = value
                continue
            kind = _TYPES[name]
            try:
                changes[name] = kind(value)
            except ValueError:
                number = "a whole number" if kind is int else "a number"
                raise ValueError(f"{name} must be {number}, but got {value!r}") from None
        return cls(**changes)


LOAD_SETTINGS: Final = tuple(each.name for each in fields(ChangedSettings) if each.name != "properties")
"""The settings of a load that a question may change. All other settings are producer properties."""
_TYPES: Final = {name: get_args(get_type_hints(ChangedSettings)[name])[0] for name in LOAD_SETTINGS}


def canonical_setting(name: str, client: Client) -> str:
    """Return the usual spelling of a name: a load setting without dashes, a property in place of its alias."""
    if (load_setting := name.replace("-", "_")) in LOAD_SETTINGS:
        return load_setting
    return client.catalogue.find(name).name if name in client.catalogue else name
