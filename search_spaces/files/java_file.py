"""Reads the properties of a Java producer as the Java client does."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from search_spaces.client import Client, java
from search_spaces.client_facts.knobs import IDEMPOTENCE
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.configs.transactions import transaction_timeout_ms, transactions
from search_spaces.errors import ConfigError, ConfigProblems, UnknownProperty
from search_spaces.properties.catalogue import Role
from search_spaces.properties.values import canonical_value, lowered

LIKENESS: Final = 0.9
"""How similar two names must be, from 0 to 1, so that one is taken for a misspelling of the other."""
_BEFORE_4: Final = "3.9.1"
"""The last release whose producer gives up its default idempotence if more than five requests may be in flight."""


@dataclass(frozen=True, slots=True)
class JavaFile:
    """What the properties of a Java producer mean to the Java client.

    Attributes:
        values: The properties that the client obeys: canonical names and values.
        client: The Java client that they are read for.
        set_aside: Names of properties that do not tune the producer.
        notes: Why properties were left out or lowered, as the client does it, one sentence each.
        transaction_timeout_ms: The timeout of transactions; None if the producer is not transactional.
    """

    values: Mapping[str, str]
    client: Client
    set_aside: tuple[str, ...]
    notes: tuple[str, ...]
    transaction_timeout_ms: int | None

    @property
    def config(self) -> ProducerConfig:
        """The config of the file.

        Raises:
            RuleBroken: Values that are valid alone break a rule together; `read_java` has checked this, unless it was
                asked not to.
        """
        return ProducerConfig.parse(self.values, self.client)


def read_java(entries: Mapping[str, str], client: Client | None = None, *, complete: bool = True) -> JavaFile:
    """Check the properties of a Java producer.

    Args:
        entries: Property names and values, as a properties file holds them. The Java producer passes properties that it
            does not know to serializers and other plug-ins. They are ignored, unless such a name resembles the name
            of a property that tunes the producer.
        client: The Java client that the file is for. None: the newest one, or the newest one that accepts more than
            five requests in flight, if the file needs one.
        complete: Whether the file is the whole config. If other properties will be added to it, the rules between
            properties are not checked.

    Raises:
        ConfigProblems: A value is wrong, a name is misspelt, or values contradict each other; the message lists
            all problems.
    """
    newest = client is None
    client = client or java()
    problems: list[ConfigError] = []
    values: dict[str, str] = {}
    aside: list[str] = []
    notes: list[str] = []
    for name, value in entries.items():
        try:
            if not _tunes(client, name):
                aside.append(name)
                continue
            entry = client.catalogue.find(name)
            used = lowered(entry, value)
            values[name] = canonical_value(entry, used)
            if used != value:
                notes.append(f"lowered {name}={value} to {used}, as the client does")
        except ConfigError as error:
            problems.append(error)
    within: dict[str, str] = {}
    try:
        within = transactions(client, entries)
    except ConfigError as error:
        problems.append(error)
    if within:
        # A transactional producer must be idempotent, and does not start if it is not.
        values.setdefault(IDEMPOTENCE, "true")
    if problems:
        raise ConfigProblems(problems)
    broken = client.broken_rules({**values, **within}) if complete else []
    if broken and newest and not java(_BEFORE_4).broken_rules({**values, **within}):
        return read_java(entries, java(_BEFORE_4))
    if broken:
        raise ConfigProblems(broken)
    notes += _drop_idle(client, values)
    return JavaFile(values, client, tuple(aside), tuple(notes), transaction_timeout_ms(client, within))


def _tunes(client: Client, name: str) -> bool:
    """Return whether a property tunes the producer.

    Raises:
        UnknownProperty: The name is a misspelt name of a property that does.
    """
    if name in client.catalogue:
        return client.catalogue.find(name).role is Role.PRODUCER
    near = difflib.get_close_matches(name.lower().replace("_", "."), client.producer_names, n=1, cutoff=LIKENESS)
    if near:
        raise UnknownProperty(name, client.label, near)
    return False


def _drop_idle(client: Client, values: dict[str, str]) -> list[str]:
    """Remove properties that have no effect, and return why, one sentence each."""
    sentences = []
    for rule in client.rules:
        if rule.idle in values and rule.broken(client.effective_values(values)) is not None:
            sentences.append(f"left out {rule.idle}={values.pop(rule.idle)}: {rule.statement}")
    return sentences
