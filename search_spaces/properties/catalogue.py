"""The catalogue of a client's properties: their names, types, ranges and defaults, as the client lists them.

The clients' own lists do not say who may set a property. Each client's folder assigns a `Role`, with a reason.
"""

import difflib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Literal

from search_spaces.errors import MisplacedProperty, UnknownProperty


class Role(StrEnum):
    """Who sets a property.

    `PRODUCER` properties form the config that is measured and tuned. `CONNECTION` properties say how to reach the
    cluster and how to log in. They come from `--command-config` and never enter a fingerprint, MLflow or a
    recommendation. `RESERVED` properties are set by the load generator, or would make measurements incomparable.
    """

    PRODUCER = "producer"
    CONNECTION = "connection"
    RESERVED = "reserved"


CONNECTION_REASON: Final = (
    "it is about the connection to the cluster, not about producing; leave it out, or put it in the file with the "
    "connection settings (--command-config) of a command that connects"
)
PRODUCER_REASON: Final = "it is a knob of the producer; put it in the config that is measured"
TRANSACTIONS_REASON: Final = "the load generator does not use transactions; leave it out"

TRANSACTIONAL_ID: Final = "transactional.id"
TRANSACTION_TIMEOUT: Final = "transaction.timeout.ms"

# This matches more names than the client's own secrets on purpose: messages may also show the properties of other
# clients, and misspelt names.
_SECRET: Final = re.compile(
    r"pass?w|passphrase|pwd|secret|credential|jaas|token(?!\.endpoint)|private[._]?key"
    r"|ssl[._]key(?!\.location|store\.location)|keystore\.key|sasl\.oauthbearer\.config|sasl\.oauthbearer\.extensions|user\.info",
    re.IGNORECASE,
)
_PUBLIC: Final = frozenset({"sasl.oauthbearer.client.credentials.client.id"})


def is_secret(name: str) -> bool:
    """Return whether the value of the property `name` must never be shown, logged or recorded.

    This covers the Java client's properties and plausible misspellings too.
    """
    return name not in _PUBLIC and _SECRET.search(name) is not None


Kind = Literal["bool", "int", "float", "string", "enum", "flags", "patterns", "pointer"]
INT_MAX: Final = 2**31 - 1
"""The largest value of most properties that are whole numbers: both clients store them in 32 bits."""


@dataclass(frozen=True, slots=True)
class Property:
    """One property in the client's own list of properties.

    Attributes:
        name: The property's name as the client spells it.
        producer: Whether a producer uses the property.
        kind: The type of the property's value.
        low: The smallest number allowed, in the unit that the name gives; None if the value is not a number.
        high: The largest number allowed, in the same unit; None if the value is not a number.
        choices: The words allowed; None if the property is not an enumeration.
        default: The client's default as the client writes it; None if there is none. Defaults that the client
            derives from other properties are in `search_spaces.client_facts.effective_values`.
        alias_of: The canonical name, if this name is an alias; None otherwise.
        role: Who sets the property: the measured config, the connection, or the load generator.
        reason: Why the property has its role, worded as advice to a user who put it in the wrong place.
        java: Whether it is a property of the Java client, not of librdkafka. The two clients parse text differently.
        any_case: Whether the client ignores the case of the words in `choices`.
        lowers: Whether the client also takes larger numbers than `high`, and lowers them to `high` without an error.

    Source: `scripts/make_librdkafka_catalogue.py` and `scripts/make_java_catalogue.py`, which ask the clients
    themselves.
    """

    name: str
    producer: bool
    kind: Kind
    low: float | None
    high: float | None
    choices: tuple[str, ...] | None
    default: str | None
    alias_of: str | None
    role: Role
    reason: str
    java: bool = False
    any_case: bool = True
    lowers: bool = False

    @property
    def secret(self) -> bool:
        """Whether the property's value must never be shown."""
        return is_secret(self.name)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Catalogue:
    """The properties of one version of one client, by name.

    Iterating yields the canonical properties in the client's order, without aliases; `len` counts them.

    Attributes:
        client: The client as messages name it, such as "librdkafka".
        version: The client version that the catalogue describes, such as "2.16.0".
        hints: For names of other clients' properties, what to use instead.
    """

    client: str
    version: str
    hints: Mapping[str, str]
    _properties: Mapping[str, Property]
    _hidden: Callable[[str], str | None] = lambda _: None

    def __iter__(self) -> Iterator[Property]:
        return (entry for entry in self._properties.values() if entry.alias_of is None)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return name in self._properties

    def find(self, name: str) -> Property:
        """Return the property called `name`; if `name` is an alias, return the property that the alias stands for.

        Raises:
            UnknownProperty: The client has no such property. The error carries the most similar names.
            MisplacedProperty: The client has the property but does not list it, and users must not set it.
        """
        entry = self._properties.get(name)
        if entry is None:
            reason = self._hidden(name)
            if reason is not None:
                raise MisplacedProperty(name, Role.RESERVED, reason)
            raise UnknownProperty(name, self.client, self.nearest(name), self.hints.get(name, ""))
        return entry if entry.alias_of is None else self._properties[entry.alias_of]

    def nearest(self, name: str) -> tuple[str, ...]:
        """Return up to two names similar to `name` that a user may set, the most similar first."""
        settable = [entry.name for entry in self._properties.values() if entry.role is not Role.RESERVED]
        return tuple(difflib.get_close_matches(name.lower().replace("_", "."), settable, n=2, cutoff=0.75))

    def may_show(self, name: str) -> bool:
        """Return whether a message may show a text that stands in a file in place of a property's name.

        The text may be a secret: a line of a private key, or a password whose `=` was forgotten. So the text is shown
        only if it is a known name or nearly one, or if it has the form of a name. If such a form looks like the name of
        a secret, its words must be known words too.
        """
        near = (each for each in self.nearest(name) if abs(len(each) - len(name)) <= _LONGEST_TYPO)
        if name in self or name in self.hints or any(near):
            return True
        has_form = len(name) <= _LONGEST_NAME and _NAME.fullmatch(name) is not None
        return has_form and (not is_secret(name) or self._words().issuperset(_WORDS.findall(name.lower())))

    def _words(self) -> frozenset[str]:
        """Return all words of the names of properties."""
        names = [*self._properties, *self.hints]
        return frozenset(word for name in names for word in _WORDS.findall(name))


# By how many characters the length of a misspelt name may differ.
_LONGEST_TYPO: Final = 3
_LONGEST_NAME: Final = 100
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9]*([._-][A-Za-z0-9_]+)+")
_WORDS: Final = re.compile(r"[^._-]+")


@dataclass(frozen=True, slots=True)
class DefaultChange:
    """A property whose default differs between versions of a client.

    Attributes:
        name: The property's canonical name.
        since: The first version with the new default, such as "4.0".
        before: The canonical default of earlier versions.
        after: The canonical default from `since` on.
    """

    name: str
    since: str
    before: str
    after: str

    def differing_default(self, version: str) -> str:
        """Return in words which default the versions on the other side of `since` have, for a user of this version."""
        if major_and_minor(version) < major_and_minor(self.since):
            return f"it is {shown_value(self.name, self.after)} from {self.since} on"
        return f"it was {shown_value(self.name, self.before)} before {self.since}"


def major_and_minor(version: str) -> tuple[int, int]:
    """Return the first two numbers of a version: (3, 9) for "3.9.1" and for "3.9"."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def shown_value(name: str, value: str) -> str:
    """Return a property's canonical value as people write it: `acks=-1` is written as `acks=all`."""
    return "all" if name == "acks" and value == "-1" else value


def shown_values(values: Mapping[str, str]) -> str:
    """Return properties in one line, as people write them: `linger.ms=5 acks=all`; empty if there are none."""
    return " ".join(f"{name}={shown_value(name, value)}" for name, value in values.items())


# The value of a property as a user may write it: text from a file, or a plain YAML value.
Value = str | int | float | bool
