"""What the rounds of a confirmation say: whether a winner is really better, and what each of its changes brings.

The rounds of baseline and winners in turn give ratios; the rounds of an ablation, in which a config was measured beside
itself without one change, give the effect of that change. The intervals of effects are 95 % each. They are not
corrected for there being several: of twenty, one is wrong by chance.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from objectives.outcome import COMPARED
from objectives.ratios import Ratio, claim_level, noise_in_turns, ratio_in_turns, ratio_of
from objectives.scoring import Objective
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.ablation import Undoing, undoings
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, looks_are_there, means_of, rounds_of, tells, winners_of
from tuner.model.goals import goal_metrics
from tuner.model.spec import Goal
from tuner.model.trial import Kind, State, Trial


@dataclass(frozen=True, slots=True)
class Confirmation:
    """One config against the baseline, measured in the same rounds.

    Attributes:
        fingerprint: Of the config.
        goals: For which it was claimed to be better; its other gains are told, but were not what was tested.
        gains: By metric, how many times better than the baseline: above 1 is better, whatever the direction.
        values: By metric, the mean over rounds; see `means_of`.
        baseline: By metric, the baseline's mean over the same rounds.
        balance: Geometric mean of the gains of the study's objectives.
        claims: How many claims share one error rate; the level of the intervals follows from it.
        broken: Constraints that the means of these rounds break, by their texts.
    """

    fingerprint: str
    goals: frozenset[Goal]
    gains: Mapping[str, Ratio]
    values: Mapping[str, float]
    baseline: Mapping[str, float]
    balance: Ratio
    claims: int = 1
    broken: tuple[str, ...] = ()

    def better(self, metric: str) -> bool:
        """Whether the gain's whole interval lies above 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.low > 1.0

    def worse(self, metric: str) -> bool:
        """Whether the gain's whole interval lies below 1."""
        gain = self.gains.get(metric)
        return gain is not None and gain.high < 1.0


def confirmations_of(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> tuple[Confirmation, ...]:
    """What the confirming trials among `trials` say; a config needs two rounds to have an interval.

    Only rounds in which both the config and the baseline were measured count. For each goal it is the newest
    confirmation that speaks, once it has the rounds that it is to have in any case: one that was begun and interrupted
    takes nothing away from an earlier one, nor does one for another goal.

    Args:
        trials: Of the record size.
        plans: What was confirmed, the oldest first.
        baseline_metrics: The baseline's numbers from the search.
        objectives: Of the study.

    Returns:
        The newest first; a config that was confirmed several times may be there as often, with the goals of each time.
    """
    found: list[Confirmation] = []
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        oldest = plan is plans[0]
        decided |= _without_winner(plan, winners, trials)
        measured = dict.fromkeys(trial.fingerprint for trial in trials if trial.kind is Kind.CONFIRM)
        told: set[Goal] = set()
        for fingerprint in measured:
            rounds = rounds_of(plan, trials, fingerprint)
            enough = 2 if oldest else max(2, plan.rounds)
            if fingerprint == plan.baseline or len(rounds.ours) < enough:
                continue
            goals = frozenset(goal for goal, winner in winners.items() if winner == fingerprint) - decided
            if goals or all(each.fingerprint != fingerprint for each in found):
                found.append(_confirmation(fingerprint, goals, rounds, len(winners), objectives, plan))
                told |= goals
        decided |= told
    return tuple(found)


def goals_without_winner(
    trials: Sequence[Trial],
    plans: Sequence[ConfirmationPlan],
    baseline_metrics: Mapping[str, float],
    objectives: Sequence[Objective],
) -> frozenset[Goal]:
    """Goals whose nominees all broke what the study asks for when they were looked at again; the newest looks count."""
    refused: set[Goal] = set()
    decided: set[Goal] = set()
    for plan in reversed(plans):
        winners = winners_of(plan, trials, baseline_metrics, objectives)
        without = _without_winner(plan, winners, trials)
        refused |= without - decided
        decided |= without | winners.keys()
    return frozenset(refused)


def _without_winner(plan: ConfirmationPlan, winners: Mapping[Goal, str], trials: Sequence[Trial]) -> frozenset[Goal]:
    if not plan.looks or not looks_are_there(plan, trials):
        return frozenset()
    return frozenset(goal for goal, nominees in plan.nominees.items() if nominees and goal not in winners)


def _confirmation(
    fingerprint: str,
    goals: frozenset[Goal],
    rounds: Rounds,
    claims: int,
    objectives: Sequence[Objective],
    plan: ConfirmationPlan,
) -> Confirmation:
    level, together = claim_level(claims), goal_metrics(Goal.BALANCED, objectives)
    told = {metric: rounds.gain([metric], level) for metric in dict.fromkeys((*COMPARED, *together))}
    ones = [1.0] * len(rounds.ours)
    return Confirmation(
        fingerprint=fingerprint,
        goals=goals,
        gains={metric: gain for metric, gain in told.items() if gain is not None},
        values=means_of(rounds.ours),
        baseline=means_of(rounds.theirs),
        balance=rounds.gain(together, level) or ratio_of(ones, ones, level=level),
        claims=claims,
        broken=rounds.broken(plan.constraints, objectives),
    )


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
