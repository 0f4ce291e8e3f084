"""Which config to use, and what can honestly be said of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf, log

from objectives.ratios import ERROR_RATE, Ratio
from runners.reporting import Say, silent
from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.gains import Confirmation
from tuner.model.errors import NoFeasibleConfig
from tuner.model.goals import TOLERATED_LOSS, asked_metric, goal_metrics, goals_of
from tuner.model.spec import Goal
from tuner.model.trial import Kind, Trial
from tuner.results.study_results import SizeResults, StudyResults, may_lead


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a recommended config must keep, beside the study's own constraints.

    Attributes:
        max_p99_ms: Upper bound of the p99 latency at the study's fixed rate.
        min_mb_per_s: Lower bound of the capacity.
    """

    max_p99_ms: float | None = None
    min_mb_per_s: float | None = None

    def kept_by(self, metrics: Mapping[str, float]) -> bool:
        """Whether numbers keep them; a number that is not there does not."""
        p99 = self.max_p99_ms is None or metrics.get("latency_p99_ms", inf) <= self.max_p99_ms
        return p99 and (self.min_mb_per_s is None or metrics.get("mb_per_s", 0.0) >= self.min_mb_per_s)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """A config to use for a record size, with all that was found about it.

    Attributes:
        study: The study's name.
        record_bytes: The size or mix that was measured.
        goal: What it is best at.
        trial: The trial that found it.
        baseline: The baseline's trial.
        gains: By metric, how many times better than the baseline, from the confirming rounds; empty without these.
        metrics: Its numbers: means over the confirming rounds where there were any, else over all its measurements.
        baseline_metrics: The baseline's, in the same way.
        is_baseline: Whether nothing better than the baseline was found: keep what you have.
        how: How it was measured, in one sentence.
        warnings: What to mind.
        proven: Whether it was better than the baseline with its whole interval.
    """

    study: str
    record_bytes: str
    goal: Goal
    trial: Trial
    baseline: Trial
    gains: Mapping[str, Ratio]
    metrics: Mapping[str, float]
    baseline_metrics: Mapping[str, float]
    is_baseline: bool
    how: str
    warnings: tuple[str, ...] = ()
    proven: bool = False

    @property
    def config(self) -> ProducerConfig:
        """The config to use."""
        return self.trial.config()

    @property
    def confirmed(self) -> bool:
        """Whether the gains come from rounds measured in turn with the baseline."""
        return bool(self.gains)


def recommendations(
    results: StudyResults, goals: Sequence[Goal] | None = None, tell: Say = silent
) -> list[Recommendation]:
    """One per record size and goal; without goals, for the first for which something is better than the baseline.

    Args:
        results: The study.
        goals: Which ones.
        tell: Told why there is none for a record size.
    """
    chosen = []
    for size in results.sizes:
        for goal in goals or (None,):
            try:
                chosen.append(recommend_for(results, size.record_bytes, goal))
            except NoFeasibleConfig as error:
                tell(f"{size.record_bytes} B: {error}")
    return chosen


def pick(results: SizeResults, goal: Goal, conditions: Conditions = Conditions()) -> Trial | None:
    """The front's best trial for a goal, by its own numbers; None if none keeps the conditions.

    A config that was measured again must have kept them in these rounds.

    Balanced is the largest product of gains over the baseline among configs that lose little, if there are any.
    """
    fit = [trial for trial in results.front_trials if _keeps(results, trial, conditions)]
    return max(fit, key=lambda trial: results.goal_rank(trial, goal), default=None)


def nominees(results: SizeResults, goal: Goal, most: int) -> tuple[Trial, ...]:
    """The search's best configs for a goal, the best first: better than the baseline as far as they were measured.

    They need not be on the front: noise decides which of two much alike is.
    """
    found: dict[str, Trial] = {}
    candidates = [trial for trial in results.trials if trial.kind is Kind.SEARCH and may_lead(trial, results.baseline)]
    for trial in sorted(candidates, key=lambda trial: results.goal_rank(trial, goal), reverse=True):
        gain = results.goal_gain(trial, goal)
        better = gain is not None and gain > 1.0 and results.goal_rank(trial, goal)[0]
        if better and results.baseline is not None and trial.fingerprint != results.baseline.fingerprint:
            found.setdefault(trial.fingerprint, trial)
    return tuple(found.values())[:most]


def _keeps(results: SizeResults, trial: Trial, conditions: Conditions) -> bool:
    found = results.confirmation(trial.fingerprint)
    broken = found is not None and bool(found.broken)
    return conditions.kept_by(_judged(results, trial)) and not broken and not results.lost_records(trial.fingerprint)


def _judged(results: SizeResults, trial: Trial) -> Mapping[str, float]:
    """The numbers that a config is judged by: of the confirming rounds, where it had some."""
    found = results.confirmation(trial.fingerprint)
    return found.values if found else results.metrics_of(trial)


def recommend(
    study: StudyResults,
    record_bytes: str,
    goal: Goal = Goal.BALANCED,
    conditions: Conditions = Conditions(),
) -> Recommendation:
    """The config to use for a record size.

    Where winners were measured again, only one that was better than the baseline with its whole interval is named; else
    the baseline is, and said to be so.

    Args:
        study: A study's results.
        record_bytes: The size or mix; one that was not measured is answered from the nearest, with a warning.
        goal: What it should be best at.
        conditions: What it must keep.

    Raises:
        NoFeasibleConfig: Nothing was measured yet, or nothing keeps the conditions.
    """
    results, warnings = _nearest(study, record_bytes)
    if study.simulated:
        warnings.append("simulated: nothing of this study was measured on Kafka")
    if results.baseline is None:
        raise NoFeasibleConfig(
            f"a recommendation needs a measured baseline, but {study.name} has none yet for {results.record_bytes} B"
        )
    asked = asked_metric(goal, study.objectives)
    if asked is not None and asked not in results.baseline_metrics:
        raise NoFeasibleConfig(
            f"goal {goal} needs {asked}, which {study.name} did not measure: it optimises "
            f"{', '.join(objective.metric for objective in study.objectives)}"
        )
    confirmed = [
        found
        for found in results.confirmations
        if _wins(results, found, goal, conditions) and not results.lost_records(found.fingerprint)
    ]
    if confirmed:
        found = max(confirmed, key=lambda found: found.balance.value if asked is None else found.gains[asked].value)
        chosen = results.trial_of(found.fingerprint)
        rounds = next(iter(found.gains.values())).rounds
        how = (
            f"measured again in turn with the baseline, {rounds} rounds; {100 * found.balance.level:.3g} % intervals, "
            f"so that at most 1 in {1 / ERROR_RATE:.0f} record sizes is told of a gain that is none"
        )
        return replace(_recommendation(study, results, goal, chosen, found, how, warnings), proven=True)
    chosen_by_trial = pick(results, goal, conditions)
    baseline_fits = results.baseline.feasible and conditions.kept_by(results.baseline_metrics)
    if baseline_fits and (results.confirmations or goal in results.without_winner):
        how = _none_is_proven(results, goal)
        return _recommendation(study, results, goal, results.baseline, None, how, warnings)
    if baseline_fits and chosen_by_trial is not None:
        seen_gain = results.goal_gain(chosen_by_trial, goal)
        if seen_gain is not None and seen_gain <= 1.0:
            chosen_by_trial = results.baseline
    if chosen_by_trial is None:
        raise NoFeasibleConfig(_nothing_fits(study, results, conditions))
    again = results.confirmation(chosen_by_trial.fingerprint)
    if again is not None:
        how = (
            f"measured again in turn with the baseline, {again.balance.rounds} rounds, and not better with its whole "
            "interval; but the baseline does not keep what is asked"
        )
        return _recommendation(study, results, goal, chosen_by_trial, again, how, warnings)
    how = (
        "nothing measured was better than the baseline"
        if chosen_by_trial.fingerprint == results.baseline.fingerprint
        else f"{_measured(results, chosen_by_trial)}; not in turn with the baseline, so no gain is claimed"
    )
    return _recommendation(study, results, goal, chosen_by_trial, None, how, warnings)


def recommend_for(
    study: StudyResults, record_bytes: str, goal: Goal | None, conditions: Conditions = Conditions()
) -> Recommendation:
    """The config to use, where it may be left open what for: then that of the first goal with a gain over the baseline.

    Balanced goes before throughput and latency; a study with one objective has the goal of that. What is proven goes
    before what only seems better. Where nothing is better for any goal, the first one's answer says so.

    Raises:
        NoFeasibleConfig: As `recommend`; where no goal is asked for, if it does for every one.
    """
    if goal is not None:
        return recommend(study, record_bytes, goal, conditions)
    found: list[Recommendation] = []
    missing: list[NoFeasibleConfig] = []
    for each in goals_of(study.objectives):
        try:
            found.append(recommend(study, record_bytes, each, conditions))
        except NoFeasibleConfig as error:
            missing.append(error)
    if not found:
        raise missing[0]
    changes = [each for each in found if not each.is_baseline]
    return next((each for each in changes if each.proven), next(iter(changes), found[0]))


def _measured(results: SizeResults, trial: Trial) -> str:
    estimates = results.estimates.by_config.get(trial.fingerprint, {})
    times = max((each.repeats for each in estimates.values()), default=1)
    return "one trial, which luck may have helped" if times == 1 else f"the mean of {times} trials"


def _none_is_proven(results: SizeResults, goal: Goal) -> str:
    if goal in results.without_winner:
        return "the best configs were measured again, and none of them kept what the study asks for"
    tried = {each for found in results.confirmations for each in found.goals}
    broken = dict.fromkeys(each for found in results.confirmations if goal in found.goals for each in found.broken)
    if broken:
        return f"the best config for it was measured again in turn with the baseline, and broke {' and '.join(broken)}"
    if goal in tried:
        return "winners were measured again in turn with the baseline, and none was better with its whole interval"
    return (
        f"none was measured again in turn with the baseline for the goal {goal}, as the search found nothing "
        f"better for it or confirm.goals leaves it out; for {' and '.join(sorted(tried)) or 'other goals'} some were"
    )


def _recommendation(
    study: StudyResults,
    results: SizeResults,
    goal: Goal,
    chosen: Trial,
    found: Confirmation | None,
    how: str,
    warnings: list[str],
) -> Recommendation:
    assert results.baseline is not None
    is_baseline = chosen.fingerprint == results.baseline.fingerprint
    own = results.baseline_metrics if is_baseline else results.metrics_of(chosen)
    if chosen.flagged:
        warnings = [
            *warnings,
            f"trial {chosen.number} was bound by our load generator: its throughput is a lower bound",
        ]
    return Recommendation(
        study=study.name,
        record_bytes=results.record_bytes,
        goal=goal,
        trial=chosen,
        baseline=results.baseline,
        gains=found.gains if found else {},
        metrics={**own, **found.values} if found else own,
        baseline_metrics={**results.baseline_metrics, **found.baseline} if found else results.baseline_metrics,
        is_baseline=is_baseline,
        how=how,
        warnings=tuple(warnings),
    )


def _wins(results: SizeResults, found: Confirmation, goal: Goal, conditions: Conditions) -> bool:
    # Only what was claimed beforehand can be proven: one of many numbers is always lucky.
    if goal not in found.goals or not found.gains or found.broken or not conditions.kept_by(found.values):
        return False
    asked, together = asked_metric(goal, results.objectives), goal_metrics(goal, results.objectives)
    if asked is not None:
        return found.better(asked)
    # A number that the study does not optimise has no veto: the p99 that stalls decide, in a study of the p95.
    return found.balance.low > 1.0 and all(found.gains[metric].value >= TOLERATED_LOSS for metric in together)


def _nearest(study: StudyResults, record_bytes: str) -> tuple[SizeResults, list[str]]:
    """The results for a size, or for the nearest one by ratio."""
    if not study.sizes:
        raise NoFeasibleConfig(f"{study.name} has no results yet: its first trial has not ended")
    exact = study.size(record_bytes)
    if exact is not None:
        return exact, []
    wanted = RecordSizes.parse(record_bytes).mean_bytes
    by_distance = sorted(
        study.sizes, key=lambda size: abs(log(RecordSizes.parse(size.record_bytes).mean_bytes / wanted))
    )
    names = " and ".join(size.record_bytes for size in by_distance[:2])
    return by_distance[0], [
        f"records of {record_bytes} B were not measured; the nearest that were are {names} B, and this is for "
        f"{by_distance[0].record_bytes} B"
    ]


def _nothing_fits(study: StudyResults, results: SizeResults, conditions: Conditions) -> str:
    asked = [
        *([f"p99 <= {conditions.max_p99_ms:g} ms"] if conditions.max_p99_ms is not None else []),
        *([f"capacity >= {conditions.min_mb_per_s:g} MB/s"] if conditions.min_mb_per_s is not None else []),
    ]
    best = [
        f"best {name} {value:.4g}"
        for name, value in (
            ("latency_p99_ms", _best(results, "latency_p99_ms", smallest=True)),
            ("mb_per_s", _best(results, "mb_per_s", smallest=False)),
        )
        if value is not None
    ]
    kept = " and ".join(asked) or "the study's constraints"
    return (
        f"a config of {study.name} for {results.record_bytes} B must keep {kept}, but none does"
        f"{' (' + ', '.join(best) + ')' if best else ''}; ask for less, or run a longer study"
    )


def _best(results: SizeResults, metric: str, *, smallest: bool) -> float | None:
    judged = [_judged(results, trial) for trial in results.front_trials]
    values = [metrics[metric] for metrics in judged if metric in metrics]
    return (min(values) if smallest else max(values)) if values else None
