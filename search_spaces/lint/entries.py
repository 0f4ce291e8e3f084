"""Reads the entries of a producer's properties file as a client reads them, and collects their errors."""

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from search_spaces.client import Client, ClientValues
from search_spaces.configs.transactions import transactions
from search_spaces.errors import ConflictingSpellings, InvalidValue, MisplacedProperty, UnknownProperty
from search_spaces.files.java_file import LIKENESS
from search_spaces.librdkafka.roles import UNUSED
from search_spaces.lint.findings import About, LintFinding, LintLevel
from search_spaces.properties.catalogue import TRANSACTIONAL_ID, Property, Role, shown_value
from search_spaces.properties.values import canonical_value, lowered

_CHECKED_KINDS: Final = ("bool", "int", "enum")


@dataclass(frozen=True, slots=True)
class Entries:
    """The entries of a file, as a client reads them.

    Attributes:
        client: The client that the properties belong to.
        values: The values of the properties that tune the producer: canonical values by canonical name.
        spellings: The names that the file uses for these properties, by canonical name.
        invalid: The canonical names of properties whose values the client does not take.
        set_aside: The names of properties that do not tune the producer.
        transactions: The properties of transactions, with canonical values; empty if the producer is not transactional.
        findings: The findings about single entries.
    """

    client: Client
    values: dict[str, str] = field(default_factory=dict)
    spellings: dict[str, str] = field(default_factory=dict)
    invalid: set[str] = field(default_factory=set)
    set_aside: list[str] = field(default_factory=list)
    transactions: dict[str, str] = field(default_factory=dict)
    findings: list[LintFinding] = field(default_factory=list)

    @property
    def effective_values(self) -> ClientValues:
        """The effective values: those of the file, and the client's defaults for all others."""
        return self.client.effective_values({**self.transactions, **self.values})

    def finding(self, level: LintLevel, about: About, name: str, sentence: str) -> LintFinding:
        """Return a finding about a producer property; `name` is its canonical name."""
        value = shown_value(name, self.effective_values.text(name))
        return LintFinding(level, about, self.spellings.get(name, name), value, sentence, given=name in self.spellings)

    def without(self, name: str) -> "Entries":
        """Return a copy in which the producer has its default for a property, because the file's value does nothing."""
        values = {other: value for other, value in self.values.items() if other != name}
        return replace(self, values=values)


def read_entries(entries: Mapping[str, str], client: Client) -> Entries:
    """Return the entries of a file, as a client reads them.

    Args:
        entries: Property names and values, as `read_properties` returns them.
        client: The client that the file is for.
    """
    checked_entries = Entries(client)
    for name, value in entries.items():
        entry = _readable_property(checked_entries, name)
        if entry is None:
            continue
        if entry.role is Role.PRODUCER:
            _keep(checked_entries, entry, name, value)
            continue
        checked_entries.set_aside.append(name)
        checked = entry.kind in _CHECKED_KINDS or entry.name == TRANSACTIONAL_ID
        if entry.role is Role.RESERVED and checked and not entry.secret:
            _canonical(checked_entries, entry, name, value)
    valid = {name: value for name, value in entries.items() if name not in checked_entries.invalid}
    checked_entries.transactions.update(transactions(client, valid))
    return checked_entries


def _readable_property(entries: Entries, name: str) -> Property | None:
    """Return a property that the producer reads; None after keeping a finding about all others."""
    client = entries.client
    if name in client.catalogue:
        entry = client.catalogue.find(name)
        if entry.kind == "pointer":
            entries.findings.append(LintFinding(LintLevel.ERROR, About.NAME, name, None, entry.reason))
        elif not entry.producer:
            sentence = "does nothing: it is a property of consumers"
            entries.findings.append(LintFinding(LintLevel.WARNING, About.IDLE, name, None, sentence))
        elif entry.reason == UNUSED:
            entries.findings.append(LintFinding(LintLevel.WARNING, About.IDLE, name, None, f"does nothing: {UNUSED}"))
        else:
            return entry
        return None
    entries.findings.append(_unknown(client, name))
    return None


def _unknown(client: Client, name: str) -> LintFinding:
    """Return the finding about a name that the client does not know. Its value may be a secret, so it is not shown."""
    hint, near = client.catalogue.hints.get(name, ""), client.catalogue.nearest(name)
    what = f"{client.label} has no such property"
    advice = hint or (f"did you mean {' or '.join(near)}?" if near else "")
    if client.refuses_unknown:
        try:
            client.catalogue.find(name)
        except MisplacedProperty as error:
            return LintFinding(LintLevel.WARNING, About.NAME, name, None, error.reason)
        except UnknownProperty:
            pass
        refused = f"{what}, and does not start"
        return LintFinding(LintLevel.ERROR, About.NAME, name, None, f"{refused}: {advice}" if advice else refused)
    if hint:
        return LintFinding(LintLevel.WARNING, About.NAME, name, None, f"does nothing: {what}: {hint}")
    if difflib.get_close_matches(name.lower().replace("_", "."), near, n=1, cutoff=LIKENESS):
        return LintFinding(LintLevel.ERROR, About.NAME, name, None, f"{what}: {advice}")
    passed = f"{what}, and passes it to serializers and other plug-ins"
    return LintFinding(LintLevel.HINT, About.NAME, name, None, f"{passed}; {advice}" if advice else passed)


def _keep(entries: Entries, entry: Property, name: str, value: str) -> None:
    """Keep the value of a property that tunes the producer."""
    used = lowered(entry, value)
    canonical = _canonical(entries, entry, name, used)
    if canonical is None:
        return
    if used != value:
        sentence = f"the client lowers it to {used} without a word"
        entries.findings.append(LintFinding(LintLevel.WARNING, About.IDLE, name, value, sentence))
    before = entries.values.setdefault(entry.name, canonical)
    other = entries.spellings.setdefault(entry.name, name)
    if before != canonical:
        error = ConflictingSpellings(entry.name, (other, name), (before, canonical), secret=entry.secret)
        entries.findings.append(LintFinding(LintLevel.ERROR, About.CONFLICT, name, value, str(error)))
        entries.invalid.add(entry.name)


def _canonical(entries: Entries, entry: Property, name: str, value: str) -> str | None:
    """Return the canonical text of a value; None after keeping a finding that the property does not take it."""
    try:
        return canonical_value(entry, value)
    except InvalidValue as error:
        shown = None if entry.secret else value
        entries.findings.append(
            LintFinding(LintLevel.ERROR, About.VALUE, name, shown, f"{entry.name} takes {error.rule}")
        )
        entries.invalid.add(entry.name)
        return None
