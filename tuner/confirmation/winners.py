"""The winner of each goal, and which configs the rounds prove better than the baseline."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from objectives.claims import LARGEST_SHARE, Decision, claims_about_configs
from objectives.scoring import Objective
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import Rounds, broken, means_of, rounds_of
from tuner.model.goals import Goal, goal_metrics, goal_rank
from tuner.model.trial import State, Trial, TrialKind


@dataclass(frozen=True)
class MeasuredPlan:
    """The plan of a confirmation, and what was measured for it so far.

    Attributes:
        plan: The plan.
        trials: The trials of the record size. They must not change, because results from them are cached.
        baseline_metrics: The baseline's metrics from the search, for metrics that its repeats do not have.
        objectives: The objectives of the study.
    """

    plan: ConfirmationPlan
    trials: Sequence[Trial]
    baseline_metrics: Mapping[str, float]
    objectives: Sequence[Objective]

    @cached_property
    def winners(self) -> Mapping[Goal, str]:
        """The fingerprint of each goal's winner.

        For each goal, the plan has nominees: the configs that the search found best for the goal. The nominees are
        measured again, and the winner is the nominee that is best in these repeats. A single nominee is the winner
        without repeats. There are no winners until all repeats are measured. A goal has no winner if each of its
        nominees broke a constraint in its repeats.
        """
        if not self.has_all_repeats:
            return {}
        by_goal = {}
        for goal, nominees in self.plan.nominees.items():
            if nominees and not (len(nominees) > 1 and self.plan.nominee_repeats):
                by_goal[goal] = nominees[0]
            elif kept := [each for each in nominees if self._means.get(each) and each not in self.refused]:
                by_goal[goal] = max(kept, key=lambda each: self.ranks_of(each)[goal])
        return by_goal

    @cached_property
    def refused(self) -> frozenset[str]:
        """The fingerprints of the nominees whose means over their repeats break a constraint of the study."""
        return frozenset(
            each
            for nominees in self.plan.nominees.values()
            for each in nominees
            if (means := self._means.get(each))
            and broken(means, self._reference, self.plan.constraints, self.objectives)
        )

    @property
    def without_winner(self) -> frozenset[Goal]:
        """The goals that have no winner, because each of their nominees broke a constraint in its repeats."""
        if not self.plan.nominee_repeats or not self.has_all_repeats:
            return frozenset()
        found = (goal for goal, each in self.plan.nominees.items() if each and self.refused.issuperset(each))
        return frozenset(found).difference(self.winners)

    @cached_property
    def has_all_repeats(self) -> bool:
        """Whether each nominee that needs repeats was measured again as often as the plan says."""
        plan = self.plan
        nominees = to_be_repeated(plan) - {plan.baseline}
        done = {(trial.round, trial.fingerprint) for trial in plan.trials_of(TrialKind.REPEAT, self.trials)}
        return done >= {
            (plan.first_round + number, nominee) for number in range(plan.nominee_repeats) for nominee in nominees
        }

    def ranks_of(self, fingerprint: str) -> dict[Goal, tuple[bool, float]]:
        """Return a config's sort key for each goal before the rounds: from its repeats, or else from the search."""
        means = self._means.get(fingerprint)
        if means is None:
            searched = [each for each in self.trials if each.kind is TrialKind.SEARCH and each.state is State.COMPLETE]
            means = means_of([each for each in searched if each.fingerprint == fingerprint])
        return {goal: goal_rank(goal, means, self._reference, self.objectives, self.plan.allow_loss) for goal in Goal}

    def rounds_of(self, fingerprint: str) -> Rounds:
        """Return the rounds in which both a config and the baseline have a measurement."""
        return rounds_of(self.plan, self.trials, fingerprint)

    @cached_property
    def _means(self) -> dict[str, dict[str, float]]:
        """The means of each config over its repeats, by fingerprint."""
        by_config: dict[str, list[Trial]] = {}
        for trial in self.plan.trials_of(TrialKind.REPEAT, self.trials):
            if trial.state is State.COMPLETE:
                by_config.setdefault(trial.fingerprint, []).append(trial)
        return {fingerprint: means_of(trials) for fingerprint, trials in by_config.items()}

    @cached_property
    def _reference(self) -> dict[str, float]:
        """The baseline's metrics that the nominees are compared with.

        They are the means over the baseline's repeats, because the cluster may have slowed down since the search.
        Metrics that the repeats lack have the values of the search.
        """
        return {**self.baseline_metrics, **self._means.get(self.plan.baseline, {})}


def to_be_repeated(plan: ConfirmationPlan) -> set[str]:
    """Return the fingerprints of the configs that are measured again to choose the winners.

    They are the nominees of all goals with more than one nominee, and the baseline. The result is empty if no goal has
    more than one nominee, because a single nominee is its goal's winner without repeats.
    """
    found = {fingerprint for each in plan.nominees.values() if len(each) > 1 for fingerprint in each}
    return found | {plan.baseline} if found else found


def decisions(
    measured: MeasuredPlan, rounds: Mapping[str, Rounds], known: Collection[tuple[str, Goal]] = ()
) -> dict[tuple[str, Goal], Decision]:
    """Decide for which goals the rounds prove each config better than the baseline.

    For the goal balanced, the geometric mean of the gains is tested. A loss in one of the objectives is not tested
    here; `Confirmation.proves` checks it.

    Args:
        measured: The confirmation.
        rounds: The rounds of each config, by fingerprint.
        known: The pairs of config and goal that an earlier confirmation has proven. They are tested again at 95 %, and
            do not use up the error probability of this confirmation, because a false claim was already counted in the
            earlier confirmation.

    Returns:
        The decision for each pair of config (by fingerprint) and goal that was tested, or that has a gain to report.
    """
    goals = {goal: goal_metrics(goal, measured.objectives) for goal in Goal}
    # In a study with one objective, two goals may be about the same metric. Then they are one claim.
    nominated = {(fingerprint, goals[goal]) for goal, fingerprint in measured.winners.items()}
    again = {(fingerprint, goals[goal]) for fingerprint, goal in known}
    p_values = {
        (fingerprint, metrics): each.p_value(metrics)
        for fingerprint, each in rounds.items()
        for metrics in dict.fromkeys(goals.values())
        if (fingerprint, metrics) in nominated or each.values(metrics) is not None
    }
    new = {claim: p for claim, p in p_values.items() if claim not in again}
    decided = claims_about_configs(new, nominated - again, measured.plan.error_rate)
    decided |= {claim: Decision(p <= LARGEST_SHARE, LARGEST_SHARE) for claim, p in p_values.items() if claim in again}
    return {
        (fingerprint, goal): decided[fingerprint, metrics]
        for fingerprint in rounds
        for goal, metrics in goals.items()
        if (fingerprint, metrics) in decided
    }
