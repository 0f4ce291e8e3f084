"""Taking a config apart: the config with one change at a time back at the baseline's value.

Not every change can go back alone. What means nothing without another goes back with it, and so does what a rule
between knobs ties to it.
"""

from dataclasses import dataclass
from typing import Final

from search_spaces.catalogue import load_catalogue
from search_spaces.errors import ConfigError, RuleBroken
from search_spaces.producer_config import ProducerConfig
from search_spaces.rules import RULES

MOST_VARIANTS: Final = 8
"""Measured of one config in each round, at most: a study searches seven or eight knobs unless it is told of others."""

_FOLLOWS: Final = {"compression.level": "compression.type", "message.max.bytes": "batch.size"}
"""A level belongs to its codec; the limit of a message was raised for larger batches."""
_ALONE_FIRST: Final = (
    "linger.ms",
    "batch.size",
    "compression.type",
    "compression.level",
    "acks",
    "batch.num.messages",
    "queue.buffering.max.kbytes",
    "queue.buffering.max.messages",
    "enable.idempotence",
)
"""Whose changes are measured alone where there are too many: what throughput and latency hang on most.

Source: the sources of `search_spaces.knobs`, which name linger, batches, codec, acks and the size of the queue.
"""


@dataclass(frozen=True, slots=True)
class Undoing:
    """One or several changes of a config, and the config without them.

    Attributes:
        knobs: What goes back, led by the knob that it is about.
        variant: The config with these at the baseline's values; None where that is not to be measured.
        because: Why several go back together, or why there is no variant; empty where that needs no reason.
    """

    knobs: tuple[str, ...]
    variant: ProducerConfig | None
    because: str = ""


def variants_of(config: ProducerConfig, baseline: ProducerConfig) -> dict[str, ProducerConfig]:
    """What an ablation measures beside the config: variants by the knob whose change is undone.

    There are `MOST_VARIANTS` at most: of more changes, the less likely ones are undone together.
    """
    return {each.knobs[0]: each.variant for each in undoings(config, baseline) if each.variant is not None}


def undoings(config: ProducerConfig, baseline: ProducerConfig) -> tuple[Undoing, ...]:
    """How each change of a config can be undone; every changed knob is in one of them at least."""
    changed = changed_knobs(config, baseline)
    leaders = [name for name in changed if _FOLLOWS.get(name) not in changed]
    found: dict[frozenset[str], Undoing] = {}
    for name in leaders:
        each = _undoing(config, baseline, (name,), "")
        found.setdefault(frozenset(each.knobs), each)
    measured = [each for each in found.values() if each.variant is not None]
    if len(measured) <= MOST_VARIANTS:
        return tuple(found.values())
    alone = sorted(measured, key=lambda each: ([*_ALONE_FIRST, each.knobs[0]].index(each.knobs[0]), each.knobs))
    rest = dict.fromkeys(knob for each in alone[MOST_VARIANTS - 1 :] for knob in each.knobs)
    many = f"of {len(measured)} changes, {MOST_VARIANTS - 1} are undone alone and the others together"
    kept = [each for each in found.values() if each not in alone[MOST_VARIANTS - 1 :]]
    return (*kept, _undoing(config, baseline, tuple(rest), many))


def changed_knobs(config: ProducerConfig, baseline: ProducerConfig) -> tuple[str, ...]:
    """Properties that either gives and whose value in force differs, by name."""
    given = {*config.values, *baseline.values}
    return tuple(sorted(name for name in given if config.effective(name) != baseline.effective(name)))


def _undoing(config: ProducerConfig, baseline: ProducerConfig, knobs: tuple[str, ...], because: str) -> Undoing:
    catalogue, changed = load_catalogue(), frozenset(changed_knobs(config, baseline))
    while True:
        knobs = (*knobs, *sorted(each for each in changed - {*knobs} if _FOLLOWS.get(each) in knobs))
        values = {name: value for name, value in config.values.items() if name not in knobs}
        values |= {name: baseline.values[name] for name in knobs if name in baseline.values}
        try:
            variant = ProducerConfig.parse(values)
        except RuleBroken as error:
            rule = next(each for each in RULES if each.name == error.rule)
            tied = {catalogue.find(name).name for name in rule.knobs} & (changed - {*knobs})
            if not tied:
                return Undoing(knobs, None, str(error))
            knobs, because = (*knobs, *sorted(tied)), because or rule.statement
        except ConfigError as error:
            return Undoing(knobs, None, str(error))
        else:
            break
    if variant.fingerprint == baseline.fingerprint or not changed_knobs(variant, baseline):
        return Undoing(knobs, None, "without it the config is the baseline")
    return Undoing(knobs, variant, because)
