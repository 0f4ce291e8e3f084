"""The sentences about a recommendation: what a config brings and costs, whether that is proven, and what to do next."""

import shlex
from typing import Final

from objectives.metrics import OUTCOME_METRICS, Direction
from objectives.ratios import ERROR_RATE, Ratio, ratio_text
from objectives.stalls import allowing_for_stall
from runners.reporting import counted, enumerated, percent
from tuner.model.goals import ALLOW_LOSS, Goal
from tuner.present.number_text import (
    Cell,
    gain,
    gain_headings,
    interval,
    level_text,
    levels_differ,
    metric_name,
    number,
    one_more_round,
    shown_metrics,
    title,
)
from tuner.results.recommendations.recommendation import Recommendation, SideEffect, SideEffectKind

NO_GAIN: Final = "not confirmed against the baseline, so no gain is claimed"
KEEP: Final = "keep what you have: no config is proven better than the baseline"

WOULD_DECIDE: Final = (
    "more rounds (tuner confirm --rounds 20), longer measurements (workload.saturate and workload.paced) or a "
    "quieter machine would decide it"
)
_SUGGESTED_ROUNDS: Final = 8


def not_advice(recommendation: Recommendation) -> str:
    """Return why a config can't be advised yet, and the command that measures it again; empty if it can be advised.

    A config that was never measured in turn with the baseline can't be advised, because the best of many trials may
    only have been lucky.
    """
    if recommendation.is_baseline or recommendation.confirmed:
        return ""
    words = [
        "tuner",
        "confirm",
        recommendation.study,
        "--goal",
        str(recommendation.goal),
        "--rounds",
        str(_SUGGESTED_ROUNDS),
    ]
    return f"not proven, so not advice yet; measure it again before you use it: {shlex.join(words)}"


def advice_to_keep(recommendation: Recommendation) -> str:
    """Return the advice to keep the baseline; empty for other advice."""
    if not recommendation.is_baseline:
        return ""
    if not recommendation.alternatives:
        return KEEP
    return f"keep the baseline for the goal {recommendation.goal}: no config is proven better for it"


def proven_for_other_goals(recommendation: Recommendation) -> list[str]:
    """Return what is proven for other goals, with the commands that show it, if the given goal has no proven config.

    If the user gave no goal, and the study's first goal has no proven config, the first line says so.
    """
    sentences = []
    if recommendation.unproven:
        goals = enumerated(recommendation.unproven)
        kept = " that meets the constraints" if recommendation.constrained else ""
        sentences.append(f"{goals}: no config{kept} is proven better")
    for goal, other in recommendation.alternatives.items():
        words = ["tuner", "recommend", other.study, "--record-bytes", other.record_bytes, "--goal", str(goal)]
        words += recommendation.asked
        sentences.append(f"{goal}: trial {other.trial.number}, {in_short(other)}: {shlex.join(words)}")
    return sentences


def in_short(recommendation: Recommendation) -> str:
    """Return what a proven config makes better and what it makes worse, each with the worse end of its interval.

    `at least 5.1 times better latency p95, throughput at most 17 % lower (gain 0.83 to 0.89)`. The result is empty if
    the config is not proven better.
    """
    if not recommendation.proven:
        return ""
    better, worse, others = [], [], []
    for metric, ratio in shown_gains(recommendation).items():
        if metric not in recommendation.side_effects and ratio.low > 1.0:
            better.append(f"at least {ratio_text(ratio.low)} times better {metric_name(metric)}")
        elif ratio.inconclusive:
            worse.append(f"{metric_name(metric)} inconclusive ({ratio_text(ratio.low)} to {ratio_text(ratio.high)})")
        elif (kind := _side_effect(recommendation, metric)) is SideEffectKind.KEEPS:
            kept = "improves" if _is_proven_better(recommendation, metric) else f"is {_kept(ratio)}"
            others.append(f"{metric_name(metric)} {kept} ({ratio_text(ratio.low)} to {ratio_text(ratio.high)})")
        else:
            worse.append(f"{metric_name(metric)} {_loss(metric, ratio, kind)}")
    gains = enumerated(better) or "better in the mean of all objectives"
    return ", ".join([gains, *worse, *others])


def _side_effect(recommendation: Recommendation, metric: str) -> SideEffectKind:
    """Return what a proven config does to a metric; a balanced config loses no more of an objective than is allowed."""
    effect = recommendation.side_effects.get(metric)
    if effect is not None:
        return effect.kind
    if recommendation.goal is Goal.BALANCED:
        return SideEffectKind.KEEPS
    # JSON of an older form has no side effects.
    return SideEffect.of(recommendation.gains[metric], ALLOW_LOSS).kind


def _is_proven_better(recommendation: Recommendation, metric: str) -> bool:
    """Return whether a metric is proven better; a side effect in a tail latency only if one more stall keeps it so."""
    if metric in recommendation.side_effects:
        return allowing_for_stall(recommendation.side_effects[metric].ratio, metric).low > 1.0
    return recommendation.gains[metric].low > 1.0


def _kept(ratio: Ratio) -> str:
    """Return how much worse a metric may be that loses no more than is allowed and is not proven better."""
    return f"at most {_lost_percent(ratio)} % worse" if ratio.high < 1.0 else "not worse"


def _loss(metric: str, ratio: Ratio, kind: SideEffectKind) -> str:
    """Return how much worse a metric is or may be, by the worse end of its interval."""
    most = "at most" if kind is SideEffectKind.WORSE else "may be up to"
    gained = f"(gain {ratio_text(ratio.low)} to {ratio_text(ratio.high)})"
    if OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE:
        return f"{most} {_lost_percent(ratio)} % lower {gained}"
    # If less is better, the ratio is inverted: 0.5 is twice the latency.
    return f"{most} {ratio_text(1 / ratio.low)} times as high {gained}"


def _lost_percent(ratio: Ratio) -> int:
    """Return the loss at the worse end of the interval in percent, from the two digits that the interval shows."""
    return max(1, round(100 * (1 - float(f"{ratio.low:.2f}"))))


def inconclusive_gains(recommendation: Recommendation) -> str:
    """Return which gains are inconclusive and what would decide them; empty if there are none."""
    names = [metric_name(metric) for metric, ratio in shown_gains(recommendation).items() if ratio.inconclusive]
    if not names:
        return ""
    metrics = enumerated(dict.fromkeys(names))
    return f"{metrics}: the interval is wider than a factor of 2 and says nothing; {WOULD_DECIDE}"


def shown_gains(recommendation: Recommendation) -> dict[str, Ratio]:
    """Return the ratio to the baseline in each metric: the gain for the goal, or the side effect."""
    side_effects = {metric: effect.ratio for metric, effect in recommendation.side_effects.items()}
    return {**recommendation.gains, **side_effects}


def ratio_with_remark(recommendation: Recommendation, metric: str, *, with_level: bool = False) -> str:
    """Return a config's ratio to the baseline in a metric, with a remark if it is no gain: `0.9 (0.8 to 1): worse`."""
    ratio = shown_gains(recommendation)[metric]
    if not recommendation.proven or ratio.inconclusive or ratio.low > 1.0:
        return gain(ratio, with_level=with_level)
    kind = _side_effect(recommendation, metric)
    return f"{interval(ratio, with_level=with_level)}: {_kept(ratio) if kind is SideEffectKind.KEEPS else kind}"


def chance_of_wrong_claim(record_sizes: int) -> str:
    """Return how probable a false claim is in a study of several record sizes; empty for one size."""
    if record_sizes < 2:
        return ""
    return (
        f"the chance of a wrong claim is at most {percent(ERROR_RATE)} for each record size, "
        f"and {min(100.0, 100 * ERROR_RATE * record_sizes):.0f} % for at least one of {record_sizes} sizes"
    )


def gain_sentences(recommendation: Recommendation) -> list[str]:
    """Return one sentence about the gain in each metric, or a single sentence that says why there is no gain."""
    if recommendation.is_baseline:
        return [advice_to_keep(recommendation), *proven_for_other_goals(recommendation)]
    if not recommendation.confirmed:
        return [NO_GAIN]
    sentences = [
        f"{title(metric)}: {ratio_with_remark(recommendation, metric)} "
        f"({level_text(ratio.level)} interval from {counted(ratio.rounds, 'round')}, alternating with the baseline)"
        for metric, ratio in shown_gains(recommendation).items()
    ]
    lines = [
        in_short(recommendation),
        *sentences,
        inconclusive_gains(recommendation),
        *proven_for_other_goals(recommendation),
    ]
    return [line for line in lines if line]


def within_scatter(recommendation: Recommendation) -> list[str]:
    """Return the metrics whose gain is proven on average, but may not show in a single new round.

    For example, `latency p99` is returned if the interval of its gain lies above 1, but the prediction interval for one
    more round reaches below 1.
    """
    unsure = [
        name
        for name, ratio in shown_gains(recommendation).items()
        if ratio.repeat_low <= 1.0 and _is_proven_better(recommendation, name)
    ]
    # Throughput in MB/s and in records/s are named only once.
    return list(dict.fromkeys(metric_name(name) for name in unsure))


def scatter_note(recommendation: Recommendation) -> str:
    """Return the sentence about the gains that a single round may not show; empty if there are none."""
    unsure = within_scatter(recommendation) if recommendation.confirmed else []
    return f"the gain in {enumerated(unsure)} is proven, but a single round may show none" if unsure else ""


def numbers_table(recommendation: Recommendation) -> tuple[list[str], list[list[Cell]]]:
    """Return headings and rows of the table that shows a recommended config's numbers beside the baseline's.

    All numbers are means over the same rounds. If there were no rounds, they are numbers of the search, and the
    headings say so.
    """
    rows: list[list[Cell]] = []
    gains = shown_gains(recommendation)
    with_level = levels_differ(gains.values())
    also = (*gains, *recommendation.objectives)
    for metric in shown_metrics(recommendation.metrics, recommendation.baseline_metrics, also=also):
        before, now = recommendation.baseline_metrics.get(metric), recommendation.metrics.get(metric)
        ratio = gains.get(metric)
        shown = [(number(before), before), *([] if recommendation.is_baseline else [(number(now), now)])]
        again: list[Cell] = ["", ""]
        if ratio:
            again = [
                (ratio_with_remark(recommendation, metric, with_level=with_level), None),
                (one_more_round(ratio), None),
            ]
        rows.append([title(metric), *shown, *(again if recommendation.confirmed else [])])
    where = "" if recommendation.measured_again else " (search)"
    names = ["baseline", *([] if recommendation.is_baseline else ["config" if where else "recommended"])]
    headings = ["", *(f"{name}{where}" for name in names)]
    return [*headings, *(gain_headings(gains.values()) if recommendation.confirmed else [])], rows
