"""What each change of a config brings, from the rounds in which it was measured beside the config without that change.

The intervals are 95 % each. They are not corrected for there being several: of twenty, one is wrong by chance.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from objectives.ratios import Ratio, noise_in_turns, ratio_in_turns
from objectives.scoring import Objective
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.ablation import Undoing, undoings
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import rounds_of, tells
from tuner.model.trial import Kind, State, Trial


@dataclass(frozen=True, slots=True)
class Effect:
    """What one change brings, or several that went back together.

    Attributes:
        undoing: What was undone.
        gains: By metric, how many times better the config is than without the change: above 1 is better, whatever the
            direction; empty where that was not measured.
        misses: Constraints that the config without the change missed in one of the rounds.
    """

    undoing: Undoing
    gains: Mapping[str, Ratio] = field(default_factory=dict)
    misses: tuple[str, ...] = ()

    @property
    def knobs(self) -> tuple[str, ...]:
        """What was undone, led by the knob that it is about."""
        return self.undoing.knobs

    @property
    def measured(self) -> bool:
        """Whether there is anything to say of it."""
        return bool(self.gains or self.misses)

    @property
    def shows(self) -> bool:
        """Whether the change makes a difference that is clear of the noise, for better or worse."""
        return bool(self.misses) or any(is_clear(gain) for gain in self.gains.values())


@dataclass(frozen=True, slots=True)
class Effects:
    """A config taken apart.

    Attributes:
        each: One per change; every changed knob is in one of them at least.
        product: By metric, all single gains multiplied; empty unless each change was measured, and once.
        rounds: In how many the config was measured beside its variants.
    """

    each: tuple[Effect, ...]
    product: Mapping[str, Ratio]
    rounds: int


def is_clear(gain: Ratio) -> bool:
    """Whether the whole interval lies on one side of 1."""
    return gain.low > 1.0 or gain.high < 1.0


def effects_of(
    trials: Sequence[Trial],
    config: ProducerConfig,
    baseline: ProducerConfig,
    metrics: Iterable[str],
    plan: ConfirmationPlan | None = None,
) -> Effects:
    """Take a config apart, as far as that was measured.

    The noise of a single measurement is taken from all its ablation's rounds at once (`objectives.ratios`), and from
    those rounds with the baseline whose number was fixed beforehand: how many more there were depended on their
    scatter, so that they would make it look too small.

    Args:
        trials: Of the record size.
        config: To be taken apart.
        baseline: What its changes are changes to.
        metrics: For which gains are told.
        plan: Of the confirmation; without it, the ablation's own rounds are all that noise is taken from.
    """
    planned = undoings(config, baseline)
    done = [trial for trial in trials if trial.kind is Kind.ABLATION and trial.state is State.COMPLETE]
    own = {config.fingerprint, *(each.variant.fingerprint for each in planned if each.variant is not None)}
    seen = [trial for trial in done if trial.fingerprint in own]
    again = _fixed_rounds(trials, plan, config.fingerprint)
    gains: dict[int, dict[str, Ratio]] = {index: {} for index in range(len(planned))}
    product = {}
    for metric in dict.fromkeys(metrics):
        things = _turns(seen, metric)
        noise = noise_in_turns(_turns([*seen, *again], metric))
        ours = things.pop(config.fingerprint, {})
        if noise is None:
            continue
        found = [things.get(each.variant.fingerprint, {}) if each.variant is not None else {} for each in planned]
        for index, theirs in enumerate(found):
            if ours.keys() & theirs.keys():
                gains[index][metric] = ratio_in_turns(ours, theirs, noise=noise)
        if all(ours.keys() & theirs.keys() for theirs in found) and _once_each(planned):
            product[metric] = ratio_in_turns(ours, *found, noise=noise)
    each_effect = tuple(Effect(each, gains[index], _misses(each, seen)) for index, each in enumerate(planned))
    rounds = len({trial.round for trial in seen if trial.fingerprint == config.fingerprint})
    return Effects(each_effect, product, rounds if any(each.measured for each in each_effect) else 0)


def _fixed_rounds(trials: Sequence[Trial], plan: ConfirmationPlan | None, fingerprint: str) -> list[Trial]:
    """The rounds with the baseline whose number was fixed beforehand."""
    if plan is None:
        return []
    rounds = rounds_of(plan, trials, fingerprint)
    return [*rounds.ours[: rounds.first], *rounds.theirs[: rounds.first]]


def _turns(trials: Iterable[Trial], metric: str) -> dict[str, dict[Hashable, float]]:
    """Values that are to be large, by config and round; the latency of what can't hold the rate says nothing."""
    found: dict[str, dict[Hashable, float]] = {}
    for trial in trials:
        if tells(trial, metric):
            by_round = found.setdefault(trial.fingerprint, {})
            by_round[trial.kind, trial.round] = Objective(metric).gain(trial.metrics[metric], 1.0)
    return found


def _once_each(planned: Sequence[Undoing]) -> bool:
    """Whether there are several, and no knob goes back twice."""
    knobs = [knob for each in planned for knob in each.knobs]
    return len(planned) > 1 and len(knobs) == len(set(knobs))


def _misses(undoing: Undoing, trials: Iterable[Trial]) -> tuple[str, ...]:
    if undoing.variant is None:
        return ()
    ours = [trial for trial in trials if trial.fingerprint == undoing.variant.fingerprint]
    return tuple(dict.fromkeys(name for trial in ours for name, by in trial.violations.items() if by > 0))
