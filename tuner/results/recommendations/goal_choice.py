"""Chooses the config to recommend for one record size and one goal: a proven one, the baseline, or an unproven one."""

from collections.abc import Collection
from dataclasses import dataclass, replace
from math import inf, log
from typing import Self

from objectives.bottlenecks import limited_by
from objectives.ratios import ERROR_RATE, Ratio
from runners.workload import RecordSizes
from tuner.confirmation.gains import Confirmation
from tuner.model.errors import NoFeasibleConfig, NothingMeasured
from tuner.model.facts import CONSTRAINTS
from tuner.model.goals import Goal, goal_metrics, goals_of, single_metric
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.recommendations.nominees import best_on_front, deciding_metrics, nominees
from tuner.results.recommendations.reasons import (
    no_config_meets_conditions,
    why_baseline_is_kept,
    why_no_gain_is_claimed,
)
from tuner.results.recommendations.recommendation import Conditions, Recommendation, SideEffect, SideEffectKind
from tuner.results.study_results import SizeResults, StudyResults


@dataclass(frozen=True, slots=True)
class GoalChoice:
    """Chooses the config of a record size for a goal.

    Attributes:
        study: The study's results.
        results: The results of the record size.
        goal: The goal.
        conditions: The user's conditions, with the loss that is allowed.
        warnings: What holds for every recommendation of this record size, in sentences.
    """

    study: StudyResults
    results: SizeResults
    goal: Goal
    conditions: Conditions
    warnings: list[str]

    @classmethod
    def of(cls, study: StudyResults, record_bytes: str, goal: Goal, conditions: Conditions) -> Self:
        """Return the choice that `recommend` describes.

        Raises:
            NothingMeasured: The baseline has not been measured yet.
            NoFeasibleConfig: The study did not measure what the goal needs.
        """
        results, warnings = _nearest(study, record_bytes)
        warnings += study.warnings
        warnings += [str(each) for each in results.carry_overs if each.matters]
        if results.baseline is None:
            raise NothingMeasured(
                f"a recommendation needs a measured baseline, but {study.name} has none yet for {results.record_bytes} "
                "B; continue the study until the baseline is measured"
            )
        metric = single_metric(goal, study.objectives)
        if metric is not None and metric not in results.baseline_metrics:
            raise NoFeasibleConfig(
                f"goal {goal} needs {metric}, which {study.name} did not measure: it optimises "
                f"{', '.join(objective.metric for objective in study.objectives)}; choose another goal"
            )
        if conditions.allow_loss is None:
            conditions = replace(conditions, allow_loss=study.allow_loss)
        return cls(study, results, goal, conditions, warnings)

    def recommendation(self) -> Recommendation:
        """Return the recommendation of a proven config, else of the baseline, else of an unproven config.

        Raises:
            NoFeasibleConfig: No config meets the constraints.
        """
        return self._proven(self.goal) or self._kept_baseline() or self._unproven()

    def _proven(self, goal: Goal) -> Recommendation | None:
        """Return the recommendation of the best config that is proven better for a goal; None if there is none."""
        results, conditions = self.results, self.conditions
        confirmed = [
            each
            for each in results.confirmations
            if _wins(results, each, goal, conditions) and not results.lost_records(each.fingerprint)
        ]
        if not confirmed:
            return None
        # The rounds that prove the gains do not choose among the configs, because they would choose the luckiest.
        winner = max(confirmed, key=lambda each: (goal in each.goals, each.ranks.get(goal, (False, -inf))))
        metric = single_metric(goal, results.objectives)
        side_effects = {
            name: SideEffect.of(each, conditions.allowed_loss)
            for name, each in winner.gains_with_side_effects.items()
            if name not in goal_metrics(goal, results.objectives)
        }
        if metric is None:
            gains = _gains_if_balanced(winner, goal_metrics(goal, results.objectives))
        elif all(each.kind is SideEffectKind.KEEPS for each in side_effects.values()):
            gains = dict(winner.gains)
        else:
            gains = _gains_beside_losses(winner, metric)
        claimed = winner.mean_gain if metric is None else gains[metric]
        how = (
            f"{claimed.rounds} rounds, alternating with the baseline; "
            f"at most {100 * ERROR_RATE:.0f} % chance of a wrong claim per record size"
            f"{'' if winner.in_sessions else '; all rounds ran in one go, so the gain holds only for that time'}"
        )
        found = self._recommendation(goal, results.trial_of(winner.fingerprint), winner, how)
        return replace(found, proven=True, gains=gains, side_effects=side_effects)

    def _kept_baseline(self) -> Recommendation | None:
        """Return the recommendation of the baseline; None if it breaks a constraint or nothing was measured again."""
        study, results = self.study, self.results
        # That the baseline meets the constraints when it is measured again is no reason to recommend an unproven
        # config.
        constrained = bool(study.facts.get(CONSTRAINTS)) or self.conditions.constrained
        decided = (
            results.confirmations
            or results.without_winner
            or _has_nothing_to_confirm(results)
            or (constrained and results.remeasured_baseline is not None)
        )
        if results.baseline is None or not decided or not _baseline_fits(results, self.conditions):
            return None
        others = {each: self._proven(each) for each in goals_of(study.objectives) if each is not self.goal}
        alternatives = {each: found for each, found in others.items() if found is not None}
        how = why_baseline_is_kept(results, self.goal, self.conditions.allowed_loss)
        kept = self._recommendation(self.goal, results.baseline, None, how)
        return replace(kept, alternatives=alternatives)

    def _unproven(self) -> Recommendation:
        """Return the recommendation of the config that seems best, or of the baseline if none was better in the search.

        Raises:
            NoFeasibleConfig: No config meets the constraints.
        """
        study, results, goal = self.study, self.results, self.goal
        chosen = best_on_front(results, goal, self.conditions)
        if _baseline_fits(results, self.conditions):
            gain = None if chosen is None else results.goal_gain(chosen, goal)
            if chosen is None or (gain is not None and gain <= 1.0):
                chosen = results.baseline
        if chosen is None:
            front = [deciding_metrics(results, trial) for trial in results.front_trials]
            raise NoFeasibleConfig(no_config_meets_conditions(study, results, self.conditions, front))
        confirmation = results.confirmation(chosen.fingerprint)
        if confirmation is not None:
            how = (
                f"{confirmation.mean_gain.rounds} rounds, alternating with the baseline, and not proven better; "
                "recommended because the baseline itself breaks a constraint"
            )
        elif results.baseline is not None and chosen.fingerprint == results.baseline.fingerprint:
            how = "nothing measured was better than the baseline"
        else:
            how = why_no_gain_is_claimed(study, results, chosen)
        return self._recommendation(goal, chosen, confirmation, how)

    def _recommendation(self, goal: Goal, chosen: Trial, confirmation: Confirmation | None, how: str) -> Recommendation:
        results, warnings = self.results, self.warnings
        assert results.baseline is not None
        is_baseline = chosen.fingerprint == results.baseline.fingerprint
        again = results.remeasured_baseline if is_baseline and confirmation is None else None
        own, theirs = results.metrics_of(chosen), results.baseline_means
        if confirmation is not None:
            own, theirs = confirmation.values, confirmation.baseline
            size = f"{results.record_bytes} B: " if len(self.study.sizes) > 1 else ""
            warnings = [*warnings, *(f"{size}{each}" for each in confirmation.caveats)]
        elif is_baseline:
            own = theirs = again.metrics if again is not None else results.baseline_means
        if chosen.flagged:
            name = f"{'the baseline, ' if is_baseline else ''}trial {chosen.number}"
            limit = f"{limited_by(chosen.verdict)} limited {name}"
            warnings = [*warnings, f"{limit}: this config may reach a higher throughput"]
        return Recommendation(
            study=self.study.name,
            record_bytes=results.record_bytes,
            goal=goal,
            trial=chosen,
            baseline=results.baseline,
            gains=confirmation.gains if confirmation else {},
            metrics=own,
            baseline_metrics=theirs,
            is_baseline=is_baseline,
            how=how,
            warnings=tuple(warnings),
            measured_again=confirmation is not None or again is not None,
            objectives=tuple(objective.metric for objective in results.objectives),
        )


def _gains_if_balanced(winner: Confirmation, objectives: Collection[str]) -> dict[str, Ratio]:
    """Return the gains to show for a config that is proven better in these objectives together (the goal balanced).

    A gain is shown as measured, without one more stall, as when the config was found to be not worse. If one more stall
    would undo the gain, the shown interval must not prove it.
    """
    unproven = {
        name: replace(each, low=min(each.low, 1.0))
        for name, each in winner.gains_without_stall.items()
        if name in objectives and not winner.better(name)
    }
    return {**winner.gains, **unproven}


def _gains_beside_losses(winner: Confirmation, metric: str) -> dict[str, Ratio]:
    """Return the gains to show for a config that is proven better in a metric, and may be worse in another one.

    The gain in the metric gets a wider interval, so that it holds together with the interval of the loss with 95 %. If
    the gain would then no longer be proven, it keeps the interval of its test.
    """
    wider = winner.gains_with_side_effects[metric]
    kept = wider if wider.low > 1.0 and wider.level > winner.gains[metric].level else winner.gains[metric]
    return {**winner.gains, metric: kept}


def _has_nothing_to_confirm(results: SizeResults) -> bool:
    """Return whether the newest confirmation had no config to measure, and a new one would also have none."""
    goals = results.nothing_to_confirm
    return bool(goals) and not any(nominees(results, each, 1) for each in goals)


def _baseline_fits(results: SizeResults, conditions: Conditions) -> bool:
    """Return whether the baseline meets the constraints of the study and the conditions of the user.

    The rounds of the newest confirmation decide; if there are none yet, the repeats; if there are none either, the
    search. The brokers of the rounds may have been colder than those of the search. Such rounds can show that the
    baseline meets a limit, but not that it breaks a limit. If it breaks a limit in such rounds, the repeats or the
    search decide, because their brokers were warm. In the search, the baseline meets the constraints if at least half
    of its measurements do, because the cluster may have been cold during the first ones.
    """
    again = results.remeasured_baseline
    measured = [each for each in (again, again.warm if again is not None else None) if each is not None]
    if any(not each.broken and conditions.met_by(each.metrics) for each in measured):
        return True
    if again is not None and not again.colder:
        return False
    searched = [
        each.feasible for each in results.trials if each.kind is TrialKind.BASELINE and each.state is State.COMPLETE
    ]
    return 2 * sum(searched) >= len(searched) and conditions.met_by(results.baseline_metrics)


def _wins(results: SizeResults, confirmation: Confirmation, goal: Goal, conditions: Conditions) -> bool:
    """Return whether a confirmed config is proven better for a goal, and meets all constraints."""
    # Only metrics that the study optimises can reject a config. In a study that optimises the p95, a p99 that a few
    # stalls made worse rejects no config.
    return (
        confirmation.proves(goal, results.objectives, conditions.allowed_loss)
        and not confirmation.broken
        and conditions.met_by(confirmation.values)
    )


def _nearest(study: StudyResults, record_bytes: str) -> tuple[SizeResults, list[str]]:
    """Return the results of a record size, or else the results of the nearest measured size, with a warning.

    The nearest size is the size whose ratio to the requested size is closest to 1.
    """
    if not study.sizes:
        raise NothingMeasured(f"{study.name} has no results yet: its first trial has not ended")
    exact = study.size(record_bytes)
    if exact is not None:
        return exact, []
    wanted = RecordSizes.parse(record_bytes).mean_bytes
    by_distance = sorted(
        study.sizes, key=lambda size: abs(log(RecordSizes.parse(size.record_bytes).mean_bytes / wanted))
    )
    nearest = [size.record_bytes for size in by_distance[:2]]
    near = f"sizes are {' and '.join(nearest)}" if nearest[1:] else f"size is {nearest[0]}"
    return by_distance[0], [
        f"records of {record_bytes} B were not measured; the nearest measured {near} B, and this "
        f"recommendation is for {by_distance[0].record_bytes} B"
    ]
