"""The sentences that only a study's page has, and the columns of its tables."""

from collections.abc import Sequence
from typing import Final

from runners.reporting import percent
from tuner.model.trial import TrialKind
from tuner.present import number_text
from tuner.present.recommendations import recommendation_words
from tuner.present.trial_tables import front_table
from tuner.results.recommendations.explanation import Explanation
from tuner.results.study_results import SizeResults

_COLUMNS: Final = 5


def drift_text(size: SizeResults) -> str:
    """Return sentences about how much the baseline's repeats differ."""
    values = [t.metrics["mb_per_s"] for t in size.trials if t.kind is TrialKind.BASELINE and "mb_per_s" in t.metrics]
    if len(values) < 2:
        return "The search measured the baseline at most once, so its drift is unknown."
    spread = (max(values) - min(values)) / size.baseline_metrics["mb_per_s"]
    moved = size.estimates.drift_ratio.get("mb_per_s")
    drifted = f"The baseline drifted by {percent(moved)}; {front_table.CORRECTED}. " if moved else ""
    noises = size.estimates.noise.items()
    scatter = ", ".join(
        f"{percent(noise.sd_log, decimals=1)} in {number_text.metric_name(metric)}"
        for metric, noise in noises
        if not noise.is_assumed
    )
    return (
        f"{len(values)} measurements of the baseline differ by up to {percent(spread)} "
        f"({min(values):.1f} to {max(values):.1f} MB/s). Smaller differences between trials mean little. "
        f"{drifted}{f'Repeats of a config scatter by {scatter}.' if scatter else ''}"
    )


def kept_lines(same: Sequence[Explanation]) -> list[str]:
    """Return the advice to keep the baseline and the proven results for other goals, without repeated sentences."""
    return list(
        dict.fromkeys(line for each in same for line in recommendation_words.gain_sentences(each.recommendation))
    )


def trial_metrics(size: SizeResults) -> list[str]:
    """Return the metrics that have a column in the table of all trials."""
    asked = [objective.metric for objective in size.objectives]
    return number_text.shown_metrics(*(trial.metrics for trial in size.trials), first=asked)[:_COLUMNS]


def raw_metrics(size: SizeResults, metrics: Sequence[str]) -> list[str]:
    """Return those metrics that may be corrected for drift, so that the table of all trials shows them as measured."""
    return [metric for metric in metrics if metric in size.estimates.drift]


def compared_metrics(explanation: Explanation) -> list[str]:
    """Return the metrics that have a column in the table of the effects of a config's changes."""
    gains = [each.gains for each in explanation.effects.each if each.measured]
    return [metric for metric in explanation.metrics if any(metric in known for known in gains)]
