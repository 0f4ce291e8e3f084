"""Sentences that say why the baseline is recommended, why a gain is not claimed, or why no config is recommended."""

from collections.abc import Mapping, Sequence

from objectives.ratios import ERROR_RATE
from objectives.scoring import ALWAYS
from tuner.model.goals import Goal, single_metric
from tuner.model.spec import Executor, StudySpec
from tuner.model.trial import Trial
from tuner.results.recommendations.recommendation import Conditions
from tuner.results.study_results import SizeResults, StudyResults


def why_baseline_is_kept(results: SizeResults, goal: Goal, allow_loss: float) -> str:
    """Return why no config of a record size is recommended instead of the baseline for a goal."""
    if goal in results.without_winner:
        return "the best configs for this goal were measured again, and each of them broke a constraint"
    tried = {each for found in results.confirmations for each in found.goals}
    broken = dict.fromkeys(each for found in results.confirmations if goal in found.goals for each in found.broken)
    if broken:
        return (
            "the best config for this goal was measured again, alternating with the baseline, and broke "
            f"{' and '.join(broken)}"
        )
    ahead = [found for found in results.confirmations if goal in found.proven_in_mean]
    if any(found.proves(goal, results.objectives, allow_loss) for found in ahead):
        return (
            "a config is proven better for this goal, but when it was measured again, it lost records or broke a "
            "constraint"
        )
    if ahead:
        return (
            "a config was measured again, alternating with the baseline, and is proven better in the mean of the "
            f"objectives, but it may lose more than {100 * allow_loss:g} % in one of them"
        )
    metric = single_metric(goal, results.objectives)
    gains = [
        each.mean_gain if metric is None else each.gain_without_stall(metric)
        for each in results.confirmations
        if goal in each.goals
    ]
    if unclear := [gain for gain in gains if gain is not None and gain.inconclusive]:
        return (
            "the best config for this goal was measured again, alternating with the baseline, and the result is "
            f"inconclusive: {unclear[0]} times as good; more rounds (tuner confirm --rounds 20), longer measurements "
            "or a quieter machine would decide it"
        )
    measured = [each.gain_without_stall(metric) for each in results.confirmations if metric is not None]
    better = [gain for gain in measured if gain is not None and gain.low > 1.0]
    if better:
        return (
            f"measured alternating with the baseline, a config was {better[0]} times as good for this goal, but that "
            "is not proven. One more stall in a round would undo the gain, or the gain is too small for the stricter "
            "test that is needed when several goals or confirmations share the "
            f"{100 * ERROR_RATE:g} % risk of a wrong claim"
        )
    if goal in tried:
        return (
            "the best config for this goal was measured again, alternating with the baseline, and was not proven better"
        )
    only = f"; configs were measured again only for {' and '.join(sorted(tried))}" if tried else ""
    return (
        f"no config was measured again, alternating with the baseline, for the goal {goal}: the search found no better "
        f"config for this goal, or the study file does not name the goal in confirm.goals{only}"
    )


def why_no_gain_is_claimed(study: StudyResults, results: SizeResults, trial: Trial) -> str:
    """Return why no gain is claimed for the config of a trial that was measured only in the search."""
    times = results.estimates.repeats_of(trial.fingerprint)
    measured = "one trial, which may have been lucky" if times == 1 else f"the mean of {times} trials"
    return f"{measured}; measure it before you use it, with tuner confirm {study.name}"


def no_config_meets_conditions(
    study: StudyResults, results: SizeResults, conditions: Conditions, front: Sequence[Mapping[str, float]]
) -> str:
    """Return the error message for constraints that no config meets, with the best values on the front.

    `front` has the metrics by which the conditions judge each config on the front.
    """
    conditions_text = {
        advice: words.format(limit)
        for advice, words, limit in (
            ("a longer p99", "p99 <= {:g} ms", conditions.max_p99_ms),
            ("a lower throughput", "throughput >= {:g} MB/s", conditions.min_mb_per_s),
        )
        if limit is not None
    }
    best = [
        f"best {name} {value:.4g} {unit}"
        for name, unit, value in (
            ("p99", "ms", _best(front, "latency_p99_ms", smallest=True)),
            ("throughput", "MB/s", _best(front, "mb_per_s", smallest=False)),
        )
        if value is not None
    ]
    missed = dict.fromkeys(name for trial in results.trials for name, by in trial.violations.items() if by > 0)
    kept = " and ".join([*conditions_text.values()] or missed) or "the study's constraints"
    relaxed = f"allow {' or '.join(conditions_text)}" if conditions_text else "relax the constraints"
    advice = f"{relaxed}, or run a longer study"
    if not conditions_text and set(missed) <= {str(each) for each in ALWAYS}:
        advice = "use a quieter host or cluster, or a lower fixed rate (workload.paced.rate_ratio)"
    return (
        f"a config of {study.name} for {results.record_bytes} B must meet {kept}, but none does"
        f"{' (' + ', '.join(best) + ')' if best else ''}; {advice}"
    )


def _best(front: Sequence[Mapping[str, float]], metric: str, *, smallest: bool) -> float | None:
    values = [metrics[metric] for metrics in front if metric in metrics]
    return (min(values) if smallest else max(values)) if values else None


def no_config_meets_constraints(study: str) -> str:
    """Return the error message for a study in which no config meets every constraint."""
    return f"no config of {study} meets every constraint; `tuner front {study}` shows how near the configs came"


def nothing_measured(spec: StudySpec) -> str:
    """Return why a study has measured nothing, and what to do."""
    advice = "give the same command a higher limit (`tuner plan` shows the least)"
    if spec.executor is Executor.SIMULATED:
        # `tuner plan` refuses no limit of a simulated study.
        advice = (
            "the limits of a simulated study count as those of a real one, although it takes little time; give the "
            "same command higher limits in time and bytes, or none"
        )
    return f"{spec.name} measured nothing: its limits left too little time or too few bytes for a trial; {advice}"
