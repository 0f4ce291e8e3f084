"""How to reach a cluster and as whom: the client's properties that are neither measured nor recorded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from search_spaces.catalogue import Catalogue, load_catalogue
from search_spaces.java_connection import from_java
from search_spaces.producer_config import canonical_values
from search_spaces.roles import Role, is_secret
from search_spaces.values import Value


@dataclass(frozen=True, slots=True, repr=False)
class ConnectionConfig:
    """The connection properties of a client, checked by name and value; its repr shows no secret.

    Whether they go together (a mechanism with its credentials) only the client itself can say, when it
    connects.

    Attributes:
        pairs: canonical name and value of each given property, sorted by name. Holds secrets: pass it to a
            client, never to a log or a record.
    """

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, mapping: Mapping[str, Value], *, catalogue: Catalogue | None = None) -> Self:
        """Check the properties of `mapping`, such as those of a `--command-config` file.

        Logins and stores in the words of Kafka's Java clients are put into the client's own.

        Raises:
            UnknownProperty: a name is no property of the client; other Java-only names carry the client's own.
            InvalidValue: a property does not take its value; the value of a secret is not shown.
            ConflictingSpellings: a property stands there under two names with two values.
            MisplacedProperty: a knob of the producer, or a property that the load generator sets.
        """
        values = canonical_values(from_java(mapping), Role.CONNECTION, catalogue or load_catalogue())
        return cls(tuple(sorted(values.items())))

    @property
    def values(self) -> dict[str, str]:
        """The given properties, canonical, secrets included; a new dict each time."""
        return dict(self.pairs)

    @property
    def shown(self) -> dict[str, str]:
        """The given properties with secrets replaced, fit for a log."""
        return {name: "(not shown)" if is_secret(name) else value for name, value in self.pairs}

    def __repr__(self) -> str:
        return f"ConnectionConfig({self.shown})"
