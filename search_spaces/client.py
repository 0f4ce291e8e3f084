"""The type `Client`: all facts about one version of a Kafka producer client, as one value.

The facts of each client are in its folder, `search_spaces/librdkafka` and `search_spaces/java_client`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Final

from search_spaces.client_facts.bounds import Bounds
from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.client_facts.formats import PropertiesFormat
from search_spaces.client_facts.knobs import Knob, StartingPoint
from search_spaces.client_facts.limits import ClientLimits
from search_spaces.client_facts.rules import Rule
from search_spaces.errors import ConfigError, RuleBroken, UnknownClient
from search_spaces.java_client import bounds as java_bounds
from search_spaces.java_client import derived as java_derived
from search_spaces.java_client import formats as java_formats
from search_spaces.java_client import knobs as java_knobs
from search_spaces.java_client import levels as java_levels
from search_spaces.java_client import limits as java_limits
from search_spaces.java_client import properties as java_properties
from search_spaces.java_client import rules as java_rules
from search_spaces.java_client.versions import minor_of
from search_spaces.librdkafka import bounds as librdkafka_bounds
from search_spaces.librdkafka import derived as librdkafka_derived
from search_spaces.librdkafka import formats as librdkafka_formats
from search_spaces.librdkafka import knobs as librdkafka_knobs
from search_spaces.librdkafka import levels as librdkafka_levels
from search_spaces.librdkafka import limits as librdkafka_limits
from search_spaces.librdkafka import properties as librdkafka_properties
from search_spaces.librdkafka import rules as librdkafka_rules
from search_spaces.properties.catalogue import TRANSACTION_TIMEOUT, Catalogue, DefaultChange, Role, major_and_minor


class ClientKind(StrEnum):
    """The kinds of clients that can be searched and measured."""

    LIBRDKAFKA = "librdkafka"
    JAVA = "java"


FORMATS: Final[Mapping[ClientKind, tuple[PropertiesFormat, ...]]] = MappingProxyType(
    {ClientKind.LIBRDKAFKA: librdkafka_formats.FORMATS, ClientKind.JAVA: java_formats.FORMATS}
)
"""The formats in which the users of each client write its properties."""


@dataclass(frozen=True, eq=False, repr=False)
class Client:
    """The facts about one version of one client: properties, rules, knobs and limits.

    Two clients are equal if kind and version are equal. A client is pickled as its kind and version.

    Attributes:
        kind: Which client it is.
        name: The client's name in sentences.
        version: The client's version, such as "2.16.0" or "4.3.1".
        shares_configs: Whether all versions of the client are treated as one. If not, each version has configs of its
            own, because its defaults may be others.
        refuses_unknown: Whether the client does not start with a property that it does not know. If not, it passes the
            property to its plug-ins.
        catalogue: The client's properties, with types, ranges, defaults, roles and aliases.
        derived: Returns the default that the client derives for a property from other values; None if it does not.
        rules: The rules that every config of the client keeps.
        transaction_rules: The rules that a transactional producer keeps, too. No measured config is transactional.
        knobs: The properties that are worth searching, in the order in which they are drawn.
        bounds: How the values of knobs depend on each other.
        limits: The limits on the sizes of records, batches and the queue.
        starting_points: The changes to the baseline that a search tries first.
        spelt_out: Returns a property's effective value, as text; a value that means a codec's default level is replaced
            by that level.
        influential: The properties that influence throughput and latency most, the most influential first.
        default_changes: The properties whose defaults differ between versions of the client.
    """

    kind: ClientKind
    name: str
    version: str
    shares_configs: bool
    refuses_unknown: bool
    catalogue: Catalogue
    derived: Callable[[EffectiveValues, str], str | None]
    rules: tuple[Rule, ...]
    transaction_rules: tuple[Rule, ...]
    knobs: tuple[Knob, ...]
    bounds: Bounds
    limits: ClientLimits
    starting_points: tuple[StartingPoint, ...]
    spelt_out: Callable[[EffectiveValues, str], str]
    influential: tuple[str, ...]
    default_changes: tuple[DefaultChange, ...]

    @property
    def label(self) -> str:
        """The client in words, with its version."""
        return f"{self.name} {self.version}"

    @property
    def identity(self) -> str:
        """The text that distinguishes the configs of this client from those of others, such as "java 3.9.1"."""
        return str(self.kind) if self.shares_configs else f"{self.kind} {self.version}"

    @cached_property
    def level_knobs(self) -> Mapping[str, Knob]:
        """The knobs that set a compression level, by codec."""
        return {knob.codec: knob for knob in self.knobs if knob.codec}

    @cached_property
    def producer_names(self) -> tuple[str, ...]:
        """The names of all properties that form the measured config."""
        return tuple(entry.name for entry in self.catalogue if entry.role is Role.PRODUCER)

    @cached_property
    def statements(self) -> Mapping[str, str]:
        """What the rules and orderings require, one sentence each, by name."""
        return {**{rule.name: rule.statement for rule in self.rules}, **self.bounds.statements}

    def broken_rules(self, values: Mapping[str, str]) -> list[ConfigError]:
        """Return the rules that values break, without those about properties that have no effect.

        Args:
            values: The values that are set; they may have the properties of transactions, too.
        """
        broken: list[ConfigError] = []
        for rule in (*self.rules, *self.transaction_rules):
            if rule.idle:
                continue
            try:
                rule.check(self.effective_values(values))
            except RuleBroken as error:
                broken.append(error)
        return broken

    def effective_values(self, given: Mapping[str, str]) -> "ClientValues":
        """Return the effective values if a config sets `given`, canonical values by canonical name."""
        return ClientValues(given, self)

    def knob(self, name: str) -> Knob | None:
        """Return the knob of this name; None if the property is not worth searching by default."""
        return next((knob for knob in self.knobs if knob.name == name), None)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Client) and (self.kind, self.version) == (other.kind, other.version)

    def __hash__(self) -> int:
        return hash((self.kind, self.version))

    def __reduce__(self) -> tuple[object, ...]:
        return _client_named, (str(self.kind), self.version)

    def __repr__(self) -> str:
        return f"Client({self.kind} {self.version})"


class ClientValues(EffectiveValues):
    """The effective values of a config, and the client that they belong to.

    Attributes:
        client: The client that the properties belong to.
    """

    __slots__ = ("client",)

    def __init__(self, given: Mapping[str, str], client: Client) -> None:
        super().__init__(given, client.catalogue, client.derived)
        self.client = client

    def spelt_out(self, name: str) -> str:
        """Return a property's effective value, as text; if it means a codec's default level, return that level."""
        return self.client.spelt_out(self, name)


@lru_cache
def librdkafka() -> Client:
    """Return librdkafka; every call returns the same object."""
    catalogue = librdkafka_properties.load_catalogue()
    return Client(
        kind=ClientKind.LIBRDKAFKA,
        name="librdkafka",
        version=catalogue.version,
        shares_configs=True,
        refuses_unknown=True,
        catalogue=catalogue,
        derived=librdkafka_derived.derived,
        rules=librdkafka_rules.RULES,
        transaction_rules=librdkafka_rules.TRANSACTION_RULES,
        knobs=librdkafka_knobs.KNOBS,
        bounds=librdkafka_bounds.BOUNDS,
        limits=librdkafka_limits.LIMITS,
        starting_points=librdkafka_knobs.STARTING_POINTS,
        spelt_out=librdkafka_levels.spelt_out,
        influential=librdkafka_knobs.INFLUENTIAL,
        default_changes=librdkafka_properties.DEFAULT_CHANGES,
    )


def java(version: str | None = None) -> Client:
    """Return the Java client; every call with the same version returns the same object.

    Args:
        version: A release of kafka-clients, such as "3.9.1"; None for the newest that is known. A patch release has the
            properties of its minor version.

    Raises:
        UnknownClient: The version is no release, or is older or newer than the known ones.
    """
    return _java(version or java_properties.newest_release())


@lru_cache
def _java(version: str) -> Client:
    release = minor_of(version, major_and_minor(java_properties.newest_release()))
    return Client(
        kind=ClientKind.JAVA,
        name="the Java client",
        version=version,
        shares_configs=False,
        refuses_unknown=False,
        catalogue=java_properties.load_catalogue(version, release),
        derived=java_derived.derived,
        rules=java_rules.rules_of(release),
        transaction_rules=java_rules.TRANSACTION_RULES,
        knobs=java_knobs.knobs_of(release),
        bounds=java_bounds.BOUNDS,
        limits=java_limits.LIMITS,
        starting_points=java_knobs.STARTING_POINTS,
        spelt_out=java_levels.spelt_out,
        influential=java_knobs.INFLUENTIAL,
        default_changes=java_properties.default_changes(),
    )


def _client_named(kind: str, version: str | None = None) -> Client:
    """Return the client of a kind and version.

    Args:
        kind: "librdkafka" or "java".
        version: The client's version; None for the newest known one. librdkafka has only the version of the installed
            library here. Stored records of another version are read with this version.

    Raises:
        UnknownClient: There is no such client, or the version is not known.
    """
    if kind not in list(ClientKind):
        raise UnknownClient(f"the client must be {' or '.join(ClientKind)}, not {kind!r}")
    match ClientKind(kind):
        case ClientKind.LIBRDKAFKA:
            return librdkafka()
        case ClientKind.JAVA:
            return java(version)


def _kind_and_version(said: str) -> tuple[str, str | None]:
    """Return the client and the version in a text such as "java:3.9.1"; None for a missing version."""
    kind, _, version = said.replace(":", " ").partition(" ")
    return kind, version.strip() or None


def client_in_version(named: str, version: str | None) -> Client:
    """Return the client that a file is written for, in a release or a minor version. Nothing is fetched.

    Args:
        named: "librdkafka", "java", or one of them with its version, such as "java:3.9.1" or "java:3.9".
        version: The version, such as "3.9.1", or "3.9" for the newest known release of this minor version; None for the
            newest known one, unless `named` has a version.

    Raises:
        UnknownClient: There is no such client, its version is not known, or two versions are given.
    """
    kind, of = _kind_and_version(named)
    if version is not None and of is not None:
        raise UnknownClient(f"a client has one version, but {of!r} and {version!r} are given; leave one of them out")
    version, client = of or version, _client_named(kind)
    if version is None:
        return client
    match client.kind:
        case ClientKind.LIBRDKAFKA:
            known = client.version
            if version not in (known, known.rpartition(".")[0]):
                raise UnknownClient(f"the version of librdkafka must be {known}, the only known one, not {version!r}")
            return client
        case ClientKind.JAVA:
            return java(java_properties.release_of(version))


def is_known(name: str) -> bool:
    """Return whether a client has a property of this name."""
    return name in librdkafka().catalogue or name in java().catalogue


def tunes_producer(name: str) -> bool:
    """Return whether a property of a client tunes the producer, or is the timeout of its transactions."""
    catalogues = (each.catalogue for each in (librdkafka(), java()))
    roles = {each.find(name).role for each in catalogues if name in each}
    return Role.PRODUCER in roles or name == TRANSACTION_TIMEOUT


def may_show(name: str) -> bool:
    """Return whether a message may show a text that stands in a file in place of a property's name, for any client."""
    return librdkafka().catalogue.may_show(name) or java().catalogue.may_show(name)


def client_of(named: object) -> Client:
    """Return the client that a study file, a record or an option names.

    Args:
        named: "librdkafka", "java", "java 3.9.1" (a client's `identity`; a colon may stand for the blank), or a mapping
            such as `{"kind": "java", "version": "3.9.1"}`.

    Raises:
        UnknownClient: There is no such client, or the version is not known.
    """
    if isinstance(named, str):
        return _client_named(*_kind_and_version(named))
    if not isinstance(named, Mapping) or "kind" not in named:
        raise UnknownClient(f'the client must be librdkafka, java, or {{kind: java, version: "3.9.1"}}, not {named!r}')
    unknown = [str(key) for key in named if key not in ("kind", "version")]
    if unknown:
        raise UnknownClient(f"a client has only kind and version, not {', '.join(unknown)}")
    version = named.get("version")
    if version is not None and not isinstance(version, str):
        raise UnknownClient(f'a version must be text, such as version: "3.9.1", not {version!r}')
    return _client_named(str(named["kind"]), version)
