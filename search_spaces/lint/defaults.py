"""Finds lines of a producer's properties file that state a default, and defaults that differ between versions."""

from collections.abc import Iterator

from search_spaces.client_facts.knobs import IDEMPOTENCE
from search_spaces.configs.producer_config import same_effect
from search_spaces.lint.entries import Entries
from search_spaces.lint.findings import About, LintFinding, LintLevel


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
