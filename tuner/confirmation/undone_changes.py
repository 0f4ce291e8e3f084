"""Variants of a config in which one change at a time is undone.

To undo a change means to set the knob back to the baseline's value. Not every change can be undone alone. If a knob has
no meaning without another knob, both are undone together. The same holds for knobs between which there is a rule.
"""

from dataclasses import dataclass
from typing import Final

from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError, RuleBroken

MOST_VARIANTS: Final = 8
"""How many variants of one config a round measures at most.

In a variant, one change of the config is undone. By default, a study searches seven or eight knobs, so that each change
usually has its own variant.
"""


@dataclass(frozen=True, slots=True)
class UndoneChange:
    """How one change of a config is undone: which knobs get the baseline's values back, and the resulting config.

    Attributes:
        knobs: The knobs that are set back to the baseline's values. The effect of the first knob is to be measured. The
            other knobs must be set back together with the first one.
        variant: The config with these knobs at the baseline's values. None if this config is not measured.
        because: Why several knobs are set back together, or why there is no variant. Empty if there is nothing to
            explain.
    """

    knobs: tuple[str, ...]
    variant: ProducerConfig | None
    because: str = ""


def variants_of(config: ProducerConfig, baseline: ProducerConfig) -> dict[str, ProducerConfig]:
    """Return the variants of a config that are measured: in each variant, one change is undone.

    There are at most `MOST_VARIANTS` variants. If a config has more changes, the changes that are likely to matter
    least are undone together in one variant.

    Returns:
        The variants, by the name of the knob whose change is undone.
    """
    return {each.knobs[0]: each.variant for each in undone_changes(config, baseline) if each.variant is not None}


def undone_changes(config: ProducerConfig, baseline: ProducerConfig) -> tuple[UndoneChange, ...]:
    """Return how the changes of a config can be undone, usually one change at a time.

    Every changed knob is in at least one of the results.
    """
    changed = changed_knobs(config, baseline)
    leaders = [name for name in changed if config.client.bounds.undone_with.get(name) not in changed]
    undone: dict[frozenset[str], UndoneChange] = {}
    for name in leaders:
        change = _undoing(config, baseline, (name,), "")
        undone.setdefault(frozenset(change.knobs), change)
    measured = [change for change in undone.values() if change.variant is not None]
    if len(measured) <= MOST_VARIANTS:
        return tuple(undone.values())
    by_influence = sorted(
        measured,
        key=lambda change: ([*config.client.influential, change.knobs[0]].index(change.knobs[0]), change.knobs),
    )
    rest = dict.fromkeys(knob for change in by_influence[MOST_VARIANTS - 1 :] for knob in change.knobs)
    many = f"the config has {len(measured)} changes: {MOST_VARIANTS - 1} are undone alone, the others together"
    undone_alone = [change for change in undone.values() if change not in by_influence[MOST_VARIANTS - 1 :]]
    return (*undone_alone, _undoing(config, baseline, tuple(rest), many))


def changed_knobs(config: ProducerConfig, baseline: ProducerConfig) -> tuple[str, ...]:
    """Return the properties whose effective value differs from the baseline's, in alphabetical order."""
    given = {*config.values, *baseline.values}
    return tuple(sorted(name for name in given if config.effective(name) != baseline.effective(name)))


def _undoing(config: ProducerConfig, baseline: ProducerConfig, knobs: tuple[str, ...], because: str) -> UndoneChange:
    """Return how the changes of some knobs are undone, together with the further knobs that this requires."""
    client, changed = config.client, frozenset(changed_knobs(config, baseline))
    while True:
        knobs = (*knobs, *sorted(each for each in changed - {*knobs} if client.bounds.undone_with.get(each) in knobs))
        values = {name: value for name, value in config.values.items() if name not in knobs}
        values |= {name: baseline.values[name] for name in knobs if name in baseline.values}
        try:
            variant = ProducerConfig.parse(values, client)
        except RuleBroken as error:
            rule = next(each for each in client.rules if each.name == error.rule)
            tied = {client.catalogue.find(name).name for name in rule.knobs} & (changed - {*knobs})
            if not tied:
                return UndoneChange(knobs, None, str(error))
            knobs, because = (*knobs, *sorted(tied)), because or rule.statement
        except ConfigError as error:
            return UndoneChange(knobs, None, str(error))
        else:
            break
    if variant.fingerprint == baseline.fingerprint or not changed_knobs(variant, baseline):
        return UndoneChange(knobs, None, "without this change, the config is the baseline")
    return UndoneChange(knobs, variant, because)
