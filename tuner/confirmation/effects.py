"""Computes how much each change of a winner contributes to its gain.

The undo rounds measure a config in turn with variants of it. In each variant, one change is undone, so the comparison
gives the effect of this change. The intervals of effects are 95 % intervals. They are not corrected for the number of
effects, so about one in twenty misses the true effect.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from objectives.ratios import Ratio, variant_ratio
from objectives.repeats import Noise
from objectives.scoring import Objective
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, is_comparable, rounds_of
from tuner.confirmation.undone_changes import UndoneChange, undone_changes
from tuner.model.trial import State, Trial, TrialKind


@dataclass(frozen=True, slots=True)
class Effect:
    """The effect of one change of a config, or of several changes that were undone together.

    Attributes:
        undone: The change or changes that were undone.
        gains: How many times better the config is than without the change, by metric. Above 1 is better, also for
            metrics where low values are good. Empty if the effect was not measured.
        misses: The constraints that the config without the change broke in at least one round.
    """

    undone: UndoneChange
    gains: Mapping[str, Ratio]
    misses: tuple[str, ...]

    @property
    def knobs(self) -> tuple[str, ...]:
        """The knobs that were set back to the baseline's values; the first one is the knob whose effect is measured."""
        return self.undone.knobs

    @property
    def measured(self) -> bool:
        """Whether the rounds gave a result for this change: a gain, or a constraint that breaks without the change."""
        return bool(self.gains or self.misses)

    @property
    def is_clear(self) -> bool:
        """Whether the change clearly makes a difference, for better or worse.

        The difference is clear if the interval of a gain does not contain 1, or if the config breaks a constraint
        without the change.
        """
        return bool(self.misses) or any(is_clear(gain) for gain in self.gains.values())


@dataclass(frozen=True, slots=True)
class Effects:
    """The effects of all changes of a config.

    Attributes:
        each: The effects, usually one for each change. Every changed knob is in at least one of them.
        product: The product of the gains of all changes, by metric. Metrics are left out if the gain of some change was
            not measured. Empty for a single change, and if a knob was undone more than once.
        rounds: The number of rounds in which the config was measured beside its variants.
    """

    each: tuple[Effect, ...]
    product: Mapping[str, Ratio]
    rounds: int


def is_clear(gain: Ratio) -> bool:
    """Return whether a gain clearly differs from 1: its whole interval is above 1 or below 1."""
    return gain.low > 1.0 or gain.high < 1.0


def effects_of(
    trials: Sequence[Trial],
    config: ProducerConfig,
    baseline: ProducerConfig,
    metrics: Iterable[str],
    plan: ConfirmationPlan | None = None,
) -> Effects:
    """Return the effects of a config's changes, as far as they were measured.

    How much an effect scatters is estimated from its own rounds and from the fixed first rounds of the config with the
    baseline (`objectives.ratios`). Later rounds with the baseline are not used. Their number depends on the scatter of
    the first rounds, so using them would make the scatter look too small.

    Args:
        trials: The trials of the record size.
        config: The config whose changes are examined.
        baseline: The baseline, from which the config differs by these changes.
        metrics: The metrics to compute gains for.
        plan: The plan of the confirmation. Without it, the scatter is estimated from the undo rounds only.
    """
    planned = undone_changes(config, baseline)
    left_out = plan.left_out if plan else ()
    undone = [trial for trial in trials if trial.kind is TrialKind.UNDO and trial.number not in left_out]
    done = [trial for trial in undone if trial.state is State.COMPLETE]
    own = {config.fingerprint, *(each.variant.fingerprint for each in planned if each.variant is not None)}
    own_trials = [trial for trial in done if trial.fingerprint in own]
    again = rounds_of(plan, trials, config.fingerprint) if plan else None
    gains: dict[int, dict[str, Ratio]] = {index: {} for index in range(len(planned))}
    product = {}
    for metric in dict.fromkeys(metrics):
        by_config = _values_by_round(own_trials, metric)
        noise = _scatter(again, metric) if again else None
        ours = by_config.pop(config.fingerprint, {})
        variants = [by_config.get(each.variant.fingerprint, {}) if each.variant is not None else {} for each in planned]
        for index, theirs in enumerate(variants):
            if gain := variant_ratio(ours, theirs, noise=noise):
                gains[index][metric] = gain
        if _once_each(planned) and (all_undone := variant_ratio(ours, *variants, noise=noise)):
            product[metric] = all_undone
    each_effect = tuple(Effect(each, gains[index], _misses(each, own_trials)) for index, each in enumerate(planned))
    rounds = len({trial.round for trial in own_trials if trial.fingerprint == config.fingerprint})
    return Effects(each_effect, product, rounds if any(each.measured for each in each_effect) else 0)


def _scatter(rounds: Rounds, metric: str) -> Noise | None:
    """Return how much the logarithm of a gain over the baseline scatters in the first rounds of a confirmation."""
    values, first = rounds.values([metric]), rounds.comparable_by([metric]).first
    if values is None or first < 2:
        return None
    ratios = [ours / theirs for ours, theirs in zip(*values, strict=True)][:first]
    return Noise.of([ratios], assumed_weight=0)


def _values_by_round(trials: Iterable[Trial], metric: str) -> dict[str, dict[Hashable, float]]:
    """Return the values of a metric by config and round, converted so that larger is better.

    Latencies of trials that could not hold the fixed rate are left out, because they can't be compared.
    """
    found: dict[str, dict[Hashable, float]] = {}
    for trial in trials:
        if is_comparable(trial, metric):
            by_round = found.setdefault(trial.fingerprint, {})
            by_round[trial.kind, trial.round] = Objective(metric).gain(trial.metrics[metric], 1.0)
    return found


def _once_each(planned: Sequence[UndoneChange]) -> bool:
    """Return whether there are at least two changes to undo, and every knob is undone only once."""
    knobs = [knob for each in planned for knob in each.knobs]
    return len(planned) > 1 and len(knobs) == len(set(knobs))


def _misses(undone: UndoneChange, trials: Iterable[Trial]) -> tuple[str, ...]:
    """Return the constraints that the config without the change broke in at least one of the trials."""
    if undone.variant is None:
        return ()
    ours = [trial for trial in trials if trial.fingerprint == undone.variant.fingerprint]
    return tuple(dict.fromkeys(name for trial in ours for name, by in trial.violations.items() if by > 0))
