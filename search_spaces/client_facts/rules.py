"""Rules between knobs: combinations that a client refuses, and combinations that it accepts but does not obey.

The rules of each client are in its folder. The functions at the top are the conditions of the rules. A condition
returns the values that break a rule, as text, or None if the rule is kept. A rule against values that would have no
effect applies only to values that the config gives: a default never breaks such a rule.
"""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from search_spaces.client_facts.effective_values import EffectiveValues
from search_spaces.errors import RuleBroken
from search_spaces.properties.catalogue import TRANSACTIONAL_ID

Condition = Callable[[EffectiveValues], str | None]

# A broker remembers the last five batches of each producer to recognise repeats.
# Source: RD_KAFKA_IDEMP_MAX_INFLIGHT of librdkafka.
IDEMPOTENT_MAX_IN_FLIGHT: Final = 5


def show(config: EffectiveValues, *names: str) -> str:
    """Return the properties as `name=value`, separated by commas; defaults are marked."""
    return ", ".join(f"{name}={config.text(name)}" + ("" if config.is_given(name) else " (default)") for name in names)


def above(upper: str, lower: str, *, unlimited: int | None = None) -> Condition:
    """Return the condition of a rule that a config breaks if it sets `upper` to more than the value of `lower`.

    Args:
        upper: The property that must not exceed `lower`; its default never breaks the rule.
        lower: The property that limits `upper`, given or by default.
        unlimited: The value of `lower` that means "no limit"; None if there is none.
    """

    def broken(config: EffectiveValues) -> str | None:
        limit = config.number(lower)
        if not config.is_given(upper) or limit == unlimited or config.number(upper) <= limit:
            return None
        return show(config, upper, lower)

    return broken


class RuleOutcome(StrEnum):
    """What happens to a config that breaks a rule."""

    REFUSED = "refused"
    """The client does not start, or can't send."""
    IGNORED = "ignored"
    """The client starts, but a value has no effect, or another effect than its text says."""
    UNMEASURED = "unmeasured"
    """The client does what the config says, but the load generator can't."""


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule between knobs.

    Attributes:
        name: The rule's name in errors and documents.
        knobs: The properties that the rule compares, by the names that users write.
        statement: The rule in one sentence.
        source: How we know that the rule is needed.
        broken: Returns the values that break the rule, as text; None if the rule is kept.
        idle: The property that has no effect if the rule is broken, so that it may be left out; "" if the config then
            does not work at all, or does something else.
        outcome: What happens to a config that breaks the rule.
    """

    name: str
    knobs: tuple[str, ...]
    statement: str
    source: str
    broken: Condition
    idle: str = ""
    outcome: RuleOutcome = RuleOutcome.REFUSED

    def check(self, config: EffectiveValues) -> None:
        """Check that `config` keeps the rule.

        Raises:
            RuleBroken: The config breaks the rule.
        """
        detail = self.broken(config)
        if detail is not None:
            raise RuleBroken(self.name, self.statement, detail)


def when_transactional(holds: Callable[[EffectiveValues], bool], *names: str) -> Condition:
    """Return the condition of a rule that a transactional producer breaks if `holds` returns False for its config.

    Args:
        holds: Returns whether a transactional producer may have this config.
        names: The properties that `holds` checks, for the message.
    """
    return lambda config: show(config, *names) if config.text(TRANSACTIONAL_ID) and not holds(config) else None


def idempotence_rule(name: str, knob: str, needs: str, source: str, holds: Callable[[EffectiveValues], bool]) -> Rule:
    """Return a rule that only idempotent producers must keep.

    Args:
        name: The rule's name.
        knob: The property that `holds` checks.
        needs: The end of the rule's sentence, which begins with "an idempotent producer".
        source: How we know that the rule is needed.
        holds: Returns whether an idempotent producer may have this config.
    """

    def broken(config: EffectiveValues) -> str | None:
        if not config.flag("enable.idempotence") or holds(config):
            return None
        return show(config, "enable.idempotence", knob)

    return Rule(name, ("enable.idempotence", knob), f"an idempotent producer {needs}", source, broken)


def idempotence_needs_acks_all(source: str) -> Rule:
    """Return the rule that both clients have for the acks of idempotent producers."""
    return idempotence_rule(
        "idempotence-needs-acks-all", "acks", "needs acks=all", source, lambda config: config.integer("acks") == -1
    )


def idempotence_needs_retries(source: str) -> Rule:
    """Return the rule that both clients have for the retries of idempotent producers."""
    return idempotence_rule(
        "idempotence-needs-retries",
        "retries",
        "needs retries of at least 1",
        source,
        lambda config: config.integer("retries") >= 1,
    )


def idempotence_limits_in_flight(source: str, knob: str) -> Rule:
    """Return the rule that both clients have for the requests in flight of idempotent producers.

    Args:
        source: How we know that the rule is needed.
        knob: The name of the property, as the client's users write it.
    """
    return idempotence_rule(
        "idempotence-limits-in-flight",
        knob,
        f"may have at most {IDEMPOTENT_MAX_IN_FLIGHT} requests in flight",
        source,
        lambda config: config.integer(knob) <= IDEMPOTENT_MAX_IN_FLIGHT,
    )


def transactional_needs_idempotence(source: str) -> Rule:
    """Return the rule that both clients have for transactional producers."""
    return Rule(
        name="transactional-needs-idempotence",
        knobs=("enable.idempotence", TRANSACTIONAL_ID),
        statement=f"a transactional producer must be idempotent, but {TRANSACTIONAL_ID} is set",
        source=source,
        broken=when_transactional(lambda config: config.flag("enable.idempotence"), "enable.idempotence"),
    )
