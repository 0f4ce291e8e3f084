"""Checks the properties of a producer against each other, for what they guarantee, and against the defaults."""

from collections.abc import Iterator
from typing import Final

from search_spaces.client_facts.knobs import IDEMPOTENCE
from search_spaces.client_facts.rules import RuleOutcome
from search_spaces.configs.guarantee import GUARANTEE_NAMES, Guarantee
from search_spaces.configs.producer_config import same_effect
from search_spaces.lint.entries import Entries
from search_spaces.lint.findings import About, LintFinding, LintLevel


def contradictions(entries: Entries) -> tuple[Entries, list[LintFinding]]:
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


_LOSSES: Final = {
    0: "the producer waits for no broker, and does not notice that records are lost",
    1: "records are lost if the leader fails before another replica has them",
}


def guarantees(entries: Entries) -> Iterator[LintFinding]:
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
    given = {name: entries.values[name] for name in GUARANTEE_NAMES if name in entries.values}
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


def defaults(entries: Entries) -> Iterator[LintFinding]:
    """Yield the findings about defaults: those that the file writes out, and those that another version changes."""
    client = entries.client
    changes = {change.name: change.differing_default(client.version) for change in client.default_changes}
    for name in entries.spellings:
        if name not in entries.values or not same_effect(
            entries.effective_values, entries.without(name).effective_values
        ):
            continue
        if (
            name == IDEMPOTENCE
            and not entries.effective_values.flag(name)
            and client.catalogue.find(name).default == "true"
        ):
            sentence = "says what the client does anyway with the other values of the file: it switches idempotence off"
        elif name == IDEMPOTENCE and client.catalogue.find(name).default == "true":
            sentence = (
                "is the default, but while the line is there, the client refuses values that do not allow idempotence, "
                "and does not silently switch it off"
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
