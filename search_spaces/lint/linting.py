"""Checks a producer's properties file for a client: its rules, guarantee and defaults. Contacts no cluster."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Final

from search_spaces.client import Client, ClientKind, client_in_version, tunes_producer
from search_spaces.client_facts.knobs import IDEMPOTENCE
from search_spaces.client_facts.rules import RuleOutcome
from search_spaces.configs.guarantee import GUARANTEE_PROPERTIES, Guarantee
from search_spaces.configs.producer_config import same_effect
from search_spaces.files.producer_file import client_shown_by
from search_spaces.files.properties_file import read_properties
from search_spaces.lint.entries import Entries, read_entries
from search_spaces.lint.findings import About, LintFinding, LintLevel, LintReport
from search_spaces.lint.load_findings import LintLoad, meanings

_ORDER: Final = list(LintLevel)
_LOSSES: Final = {
    0: "the producer waits for no broker, and does not notice that records are lost",
    1: "records are lost if the leader fails before another replica has them",
}


def lint_file(
    path: Path, client: str | None = None, version: str | None = None, load: LintLoad | None = None
) -> LintReport:
    """Check a producer's properties file.

    Args:
        path: Path of the properties file.
        client: The client that the file is for, as `client_in_version` takes it. None: the client that its properties
            show, or librdkafka if they show none.
        version: The client's version, such as "3.6.2" or "3.6"; None for the newest one that is known.
        load: The records that the producer sends; None if that is not known.

    Raises:
        PropertiesFileError: The file or one of its lines can't be read, or an environment variable that gives the value
            of a producer property is not set.
        UnknownClient: There is no such client, or its version is not known.
    """
    entries = read_properties(path, os.environ, is_filled=tunes_producer)
    shown = client_shown_by(entries)
    report = lint(entries, client_in_version(client or shown or ClientKind.LIBRDKAFKA, version), load)
    return replace(report, assumed=client is None and shown is None)


def lint(entries: Mapping[str, str], client: Client, load: LintLoad | None = None) -> LintReport:
    """Check the properties of a producer.

    Args:
        entries: Property names and values, as `read_properties` returns them.
        client: The client that they are for.
        load: The records that the producer sends; None if that is not known.
    """
    file_entries = read_entries(entries, client)
    file_entries, contradicting = _contradictions(file_entries)
    findings = [*file_entries.findings, *contradicting]
    wrong = file_entries.invalid | {each.key for each in findings if each.level is LintLevel.ERROR}
    spelt = {file_entries.spellings.get(name, name) for name in GUARANTEE_PROPERTIES}
    if not wrong & (spelt | set(GUARANTEE_PROPERTIES)):
        findings += _guarantees(file_entries)
    findings += _defaults(file_entries)
    if not any(each.level is LintLevel.ERROR and each.about is not About.NAME for each in findings):
        findings.append(_memory(file_entries, load))
        findings += meanings(file_entries, load) if load else ()
    ordered = sorted(findings, key=lambda finding: _ORDER.index(finding.level))
    refused = any(each.level is LintLevel.ERROR for each in findings)
    guarantee = None if refused else Guarantee.read(file_entries.effective_values)
    return LintReport(client, False, guarantee, tuple(ordered), tuple(file_entries.set_aside))


def _memory(entries: Entries, load: LintLoad | None) -> LintFinding:
    limits = entries.client.limits
    sentence = limits.memory(entries.effective_values, load.record_bytes if load else None)
    return entries.finding(LintLevel.HINT, About.MEMORY, limits.queue, sentence)


def _contradictions(entries: Entries) -> tuple[Entries, list[LintFinding]]:
    """Apply the client's rules to the entries, including the rules of transactional producers.

    Rules about values that the client does not take, and rules of the load generator, are left out.

    Returns:
        The entries without those that have no effect, and the findings.
    """
    findings = []
    for rule in (*entries.client.rules, *entries.client.transaction_rules):
        names = [entries.client.catalogue.find(knob).name for knob in rule.knobs]
        detail = rule.broken(entries.effective_values)
        if detail is None or rule.outcome is RuleOutcome.UNMEASURED or entries.invalid.intersection(names):
            continue
        name = rule.idle or next((each for each in names if each in entries.spellings), names[0])
        if rule.outcome is RuleOutcome.IGNORED:
            findings.append(entries.finding(LintLevel.WARNING, About.IDLE, name, f"{rule.statement}: {detail}"))
        else:
            sentence = f"{rule.statement}: {detail}; {rule.source}"
            findings.append(entries.finding(LintLevel.ERROR, About.CONFLICT, name, sentence))
        if rule.idle:
            entries = entries.without(rule.idle)
    return entries, findings


def _guarantees(entries: Entries) -> Iterator[LintFinding]:
    """Yield the findings about the guarantee, for entries whose guarantee is known.

    A client that is idempotent by default silently stops being idempotent if other values of the file do not
    allow it and the file does not set `enable.idempotence`.
    """
    effective = entries.effective_values
    promised = Guarantee.read(effective)
    if IDEMPOTENCE not in entries.values and effective.stated(IDEMPOTENCE) == "true" and not promised.idempotent:
        yield from _switched_off(entries, promised)
    if promised.acks in _LOSSES:
        yield entries.finding(LintLevel.HINT, About.GUARANTEE, "acks", _LOSSES[promised.acks])
    elif not promised.idempotent and effective.integer("retries"):
        harm = "a retry may write records twice" + ("" if promised.ordered else " and change their order")
        sentence = f"{harm}; {IDEMPOTENCE}=true prevents that"
        yield entries.finding(LintLevel.HINT, About.GUARANTEE, IDEMPOTENCE, sentence)


def _switched_off(entries: Entries, promised: Guarantee) -> Iterator[LintFinding]:
    client = entries.client
    given = {name: entries.values[name] for name in GUARANTEE_PROPERTIES if name in entries.values}
    causes = [name for name, value in given.items() if not client.effective_values({name: value}).flag(IDEMPOTENCE)]
    for name in causes:
        sentence = (
            f"switches idempotence off silently, because {IDEMPOTENCE} is not set; guarantee: {promised}. Set "
            f"{IDEMPOTENCE}=false if that is meant"
        )
        yield entries.finding(LintLevel.WARNING, About.GUARANTEE, name, sentence)
    if not causes:
        sentence = f"the default true has no effect in {client.label} (KAFKA-13598); set it to true, or upgrade"
        yield entries.finding(LintLevel.WARNING, About.VERSION, IDEMPOTENCE, sentence)


def _defaults(entries: Entries) -> Iterator[LintFinding]:
    """Yield the findings about defaults: those that the file writes out, and those that another version changes."""
    client = entries.client
    changes = {change.name: change.differing_default(client.version) for change in client.default_changes}
    for name in entries.spellings:
        if name not in entries.values or not same_effect(
            entries.effective_values, entries.without(name).effective_values
        ):
            continue
        if name == IDEMPOTENCE and client.catalogue.find(name).default == "true":
            sentence = (
                "is the default, but while the line is there, the client refuses values that do not allow idempotence, "
                "and does not silently switch it off"
                if entries.effective_values.flag(name)
                else "says what the client does anyway with the other values of the file: it switches idempotence off"
            )
        elif name in changes:
            sentence = f"is the default, but {changes[name]}; the line keeps the value in every version"
        else:
            sentence = "is the default, so the line does nothing"
        yield entries.finding(LintLevel.HINT, About.DEFAULT, name, sentence)
    for name, seen in changes.items():
        if name not in client.catalogue or name in entries.invalid or name in entries.values:
            continue
        # If the client derives another default from the file's values, the differences between versions do not matter.
        if entries.effective_values.text(name) == entries.effective_values.stated(name):
            sentence = f"the default differs between versions: {seen}; set it if an upgrade must not change it"
            yield entries.finding(LintLevel.HINT, About.VERSION, name, sentence)
