"""Finds what the producer of a properties file guarantees, and which lines weaken the guarantee."""

from collections.abc import Iterator
from typing import Final

from search_spaces.client_facts.knobs import IDEMPOTENCE
from search_spaces.configs.guarantee import GUARANTEE_NAMES, Guarantee
from search_spaces.lint.entries import Entries
from search_spaces.lint.findings import About, LintFinding, LintLevel

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
