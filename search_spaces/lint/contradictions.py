"""Finds values in a producer's properties file that contradict each other or have no effect beside other values."""

from search_spaces.client_facts.rules import RuleOutcome
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
