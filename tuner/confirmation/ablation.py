"""The ablation of a config: variants of it in which one change at a time is undone.

To undo a change means to set the knob back to the baseline's value. Not every change can be undone alone: a knob that
has no meaning without another one is undone together with it, and so are knobs that a rule ties together.
"""

from dataclasses import dataclass
from typing import Final

from search_spaces.catalogue import load_catalogue
from search_spaces.errors import ConfigError, RuleBroken
from search_spaces.producer_config import ProducerConfig
from search_spaces.rules import RULES

MOST_VARIANTS: Final = 8
"""The most variants of one config that a round measures. By default, a study searches seven or eight knobs."""

_FOLLOWS: Final = {"compression.level": "compression.type", "message.max.bytes": "batch.size"}
"""Knobs that are undone together with another knob, by name.

A compression level belongs to its codec. The limit of a message is only raised to allow larger batches.
"""
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
"""The knobs that influence throughput and latency most. If there are too many changes, these are undone alone.

Source: the sources of `search_spaces.knobs`, which name linger, batches, codec, acks and the size of the queue.
"""


@dataclass(frozen=True, slots=True)
class Undoing:
    """One change of a config, or several that are undone together, and the config without them.

    Attributes:
        knobs: The knobs that are undone. The first one is the knob in question; the others have to be undone with it.
        variant: The config with these knobs at the baseline's values. None if it is not to be measured.
        because: Why several knobs are undone together, or why there is no variant. Empty if neither needs a reason.
    """

    knobs: tuple[str, ...]
    variant: ProducerConfig | None
    because: str = ""


def variants_of(config: ProducerConfig, baseline: ProducerConfig) -> dict[str, ProducerConfig]:
    """Return the variants that an ablation measures beside the config, by the knob whose change is undone.

    There are at most `MOST_VARIANTS`. If a config has more changes, those that are likely to matter least are undone
    together.
    """
    return {each.knobs[0]: each.variant for each in undoings(config, baseline) if each.variant is not None}


def undoings(config: ProducerConfig, baseline: ProducerConfig) -> tuple[Undoing, ...]:
    """Return how the changes of a config can be undone. Every changed knob is in at least one of the results."""
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
    many = f"the config has {len(measured)} changes: {MOST_VARIANTS - 1} are undone alone, the others together"
    kept = [each for each in found.values() if each not in alone[MOST_VARIANTS - 1 :]]
    return (*kept, _undoing(config, baseline, tuple(rest), many))


def changed_knobs(config: ProducerConfig, baseline: ProducerConfig) -> tuple[str, ...]:
    """Return the properties whose effective value differs from the baseline's, in alphabetical order."""
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
        return Undoing(knobs, None, "without this change, the config is the baseline")
    return Undoing(knobs, variant, because)
