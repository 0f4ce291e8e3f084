"""The sentences that explain a recommendation; `tuner.results.recommendations.explanation` computes their numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from objectives.ratios import Ratio
from runners.reporting import counted, enumerated, in_bytes, percent
from tuner.confirmation.effects import Effect, is_clear
from tuner.present.changed_properties import changes
from tuner.present.console import Unwrapped
from tuner.present.number_text import gain, metric_name
from tuner.present.recommendations.recommendation_words import gain_sentences
from tuner.results.recommendations.explanation import FRONT, ClosestConfig, Explanation
from tuner.results.recommendations.recommendation import Recommendation

REACHING_FRONT: Final = "reaching the front"
_ALIKE: Final = 0.1
"""An effect is reported as "the same" if its whole interval is at most this far from 1."""
_SHOWN_KNOBS: Final = 3
_SHOWN_SHARE: Final = 0.05


@dataclass(frozen=True, slots=True)
class ExplanationSection:
    """One part of an explanation.

    Attributes:
        heading: The heading.
        lines: One sentence per line.
    """

    heading: str
    lines: tuple[str, ...]


def explanation_sections(why: Explanation) -> tuple[ExplanationSection, ...]:
    """Return the explanation in sections; empty sections are left out."""
    heading = "what each change brings"
    if why.effects.rounds:
        heading += (
            ": the config was measured alternating with copies that each have one change undone, in "
            f"{rounds_text(why)}; of these 95 % intervals, about 1 in 20 misses the true value"
        )
    sections = (
        ExplanationSection("gain over the baseline", tuple(gain_sentences(why.recommendation))),
        ExplanationSection(heading, (*(_effect_line(why, each) for each in why.clear_effects), *change_notes(why))),
        ExplanationSection("what came closest", closest_lines(why)),
        ExplanationSection("what limited the throughput", bound_lines(why.recommendation)),
        ExplanationSection(
            f"which knobs mattered most in the {why.searched} trials of the search (in brackets: the knob's share in "
            "what a random forest learned about the metric; a metric is missing if the trials show no pattern)",
            _importance_lines(why),
        ),
    )
    return tuple(section for section in sections if section.lines)


def _what(found: Recommendation) -> str:
    """Return which config is recommended: `the baseline`, or `trial 7`."""
    return "the baseline" if found.is_baseline else f"trial {found.trial.number}"


def print_explanations(explanations: Iterable[Explanation], out: Unwrapped) -> None:
    """Print explanations, each with a heading and its sections."""
    for each in explanations:
        found = each.recommendation
        of = f"study {found.study}, {in_bytes(found.record_bytes)} records, goal {found.goal}"
        out.show(f"{of}: why {_what(found)} is recommended", style="bold")
        for section in explanation_sections(each):
            lines = [f"  {line}" for line in section.lines]
            out.show("", f"{section.heading}:", *lines)
        out.print()


def explanation_markdown(explanations: Iterable[Explanation]) -> str:
    """Return several explanations as Markdown; goals with the same config share one explanation."""
    parts = []
    for same in by_config(explanations):
        goals = ", ".join(str(each.recommendation.goal) for each in same)
        parts.append(f"## {goals}: why {_what(same[0].recommendation)} is recommended")
        for section in explanation_sections(same[0]):
            parts.append(f"**{section.heading[:1].upper()}{section.heading[1:]}**")
            parts.append("\n".join(f"- {line}" for line in section.lines))
    return "\n\n".join(parts) + "\n" if parts else ""


def by_config(explanations: Iterable[Explanation]) -> list[list[Explanation]]:
    """Group explanations by config, in the order in which each config first occurs."""
    found: dict[str, list[Explanation]] = {}
    for each in explanations:
        found.setdefault(each.recommendation.trial.fingerprint, []).append(each)
    return list(found.values())


def rounds_text(why: Explanation) -> str:
    """Return the number of rounds that measured the changes as text: `2 rounds`."""
    return counted(why.effects.rounds, "round")


def effect_name(why: Explanation, effect: Effect) -> str:
    """Return a change in words, such as `linger.ms=0.5 instead of 5`.

    Changes that were undone together with it are named after it.
    """
    recommendation = why.recommendation
    changed = {change.name: change for change in changes(recommendation.trial, recommendation.baseline.values)}
    leader, *others = (f"{changed[knob]} instead of {changed[knob].baseline or 'nothing'}" for knob in effect.knobs)
    return f"{leader}, together with {', '.join(others)}" if others else leader


def _effect_line(why: Explanation, effect: Effect) -> str:
    """Return the effect of a change in words.

    `linger.ms=0.5 instead of 5: latency p99 1.42 (1.31 to 1.54) times better; throughput the same within 3 %`
    """
    parts = [f"{metric_name(metric)} {effect_words(effect.gains[metric])}" for metric in _metrics_to_show(why, effect)]
    if effect.misses:
        parts.append(f"without it, the config breaks {enumerated(effect.misses)}")
    reason = f" ({effect.undone.because})" if effect.undone.because else ""
    return f"{effect_name(why, effect)}{reason}: {'; '.join(parts)}"


def effect_words(ratio: Ratio) -> str:
    """Return an effect in words, such as `1.42 (1.31 to 1.54) times better` or `the same within 3 %`."""
    if ratio.low > 1.0:
        return f"{ratio} times better"
    if ratio.high < 1.0:
        return f"{1 / ratio.value:.2f} ({1 / ratio.high:.2f} to {1 / ratio.low:.2f}) times worse"
    if ratio.inconclusive:
        return f"inconclusive: {ratio}"
    return (
        f"the same within {_farthest_from_1_percent(ratio)} %"
        if _farthest_from_1(ratio) <= _ALIKE
        else f"no difference shown: {ratio}"
    )


def in_one_line(why: Explanation) -> str:
    """Return the main reason for a recommendation: the strongest change, or the next best config; empty if unknown."""
    if why.recommendation.is_baseline:
        return next(iter(closest_lines(why)), "")
    if why.clear_effects:
        return _effect_line(why, why.clear_effects[0])
    if len(why.unclear_effects) > 1:
        return "no single change makes a measurable difference, only all changes together do"
    return next(iter((*change_notes(why), *bound_lines(why.recommendation))), "")


def change_notes(why: Explanation) -> tuple[str, ...]:
    """Return sentences about changes without an effect, about all changes together, and about unmeasured changes."""
    return (*_changes_without_effect(why), *_together(why), *_unmeasured(why))


def closest_lines(why: Explanation) -> tuple[str, ...]:
    """Return a sentence about the config that came closest to being recommended, if the baseline is recommended.

    If another config is recommended, the result is empty.
    """
    closest = why.closest
    if not why.recommendation.is_baseline:
        return ()
    if closest is None:
        return ("no other measured config meets every constraint",)
    differs = " ".join(map(str, changes(closest.trial, why.recommendation.baseline.values))) or "nothing changed"
    return (f"trial {closest.trial.number} ({differs}): {_falls_short(closest)}",)


def bound_lines(recommendation: Recommendation) -> tuple[str, ...]:
    """Return sentences about what limited the throughput of the baseline and of the recommended config."""
    sides = [("the baseline", recommendation.baseline)]
    if not recommendation.is_baseline:
        sides.append((_what(recommendation), recommendation.trial))
    return tuple(f"{name}: {trial.verdict}: {trial.because}" for name, trial in sides if trial.verdict)


def _importance_lines(why: Explanation) -> tuple[str, ...]:
    """Return lines with the most important knobs for each metric of the goal, and for reaching the Pareto front.

    `for latency p99: linger.ms (62 %), then batch.size (20 %)`
    """
    lines = []
    for name in (*why.goal_metrics, FRONT):
        most = [f"{knob} ({percent(share)})" for knob, share in _largest(why.importance.get(name, {}))]
        if most:
            what = REACHING_FRONT if name == FRONT else metric_name(name)
            lines.append(f"for {what}: {', then '.join(most)}")
    return tuple(lines)


def _changes_without_effect(why: Explanation) -> Iterable[str]:
    """Yield a sentence about the changes that make no measurable difference."""
    if not why.unclear_effects:
        return
    ratios = [ratio for effect in why.unclear_effects for ratio in effect.gains.values()]
    up_to = f"up to {max(map(_farthest_from_1_percent, ratios))} %"
    names = "; ".join(effect_name(why, each) for each in why.unclear_effects)
    if len(why.unclear_effects) == 1:
        yield (
            f"{names}: no effect shown in {rounds_text(why)}; it may still be {up_to}. You may leave the change out: "
            "the config without it was measured, too"
        )
    else:
        yield (
            f"{names}: no effect of any of them alone shown in {rounds_text(why)}; each may still be {up_to}. The "
            "config without all of them was not measured: try it with tuner verify before you leave them out"
        )


def _together(why: Explanation) -> Iterable[str]:
    """Yield one sentence per metric of the goal that compares the whole gain with the product of the single effects."""
    for metric in why.goal_metrics:
        whole, product = why.recommendation.gains.get(metric), why.effects.product.get(metric)
        if whole is None or product is None:
            continue
        both = (
            f"{metric_name(metric)}: all changes together gain {whole}, and their single effects multiply to {product}"
        )
        if product.low > whole.high:
            yield f"{both}: the changes need each other; undo one, and the others bring less"
        elif product.high < whole.low:
            yield f"{both}: the changes replace each other; undo one, and the others make up for it"
        else:
            yield f"{both}: the intervals overlap, so nothing shows that the changes depend on each other"


def _unmeasured(why: Explanation) -> Iterable[str]:
    """Yield sentences about changes that were not measured one by one, with the reason."""
    unmeasured = why.unmeasured
    if not unmeasured:
        return
    recommendation = why.recommendation
    if len(why.effects.each) == 1:
        whole = "the whole gain comes from it" if recommendation.confirmed else "any difference comes from it"
        yield f"{effect_name(why, unmeasured[0])}: the only change, so {whole}"
    elif len(unmeasured) == len(why.effects.each):
        names = "; ".join(effect_name(why, each) for each in unmeasured)
        yield f"{names}: not measured one by one, {_why_not(recommendation)}"
    else:
        for each in unmeasured:
            reason = each.undone.because if each.undone.variant is None else "there was no time for it"
            yield f"{effect_name(why, each)}: not measured alone ({reason})"


def _why_not(recommendation: Recommendation) -> str:
    if not recommendation.confirmed:
        return "because changes are measured one by one only for a config with a proven gain"
    return "because the study has no rounds for it (confirm.undo_rounds: 0) or had no time left for them"


def _falls_short(closest: ClosestConfig) -> str:
    if closest.gain is None:
        measured = "its one trial" if closest.trials == 1 else f"the mean of its {closest.trials} trials"
        return f"{closest.times:.2f} times as good as the baseline in {measured}"
    gains = "; ".join(f"{metric_name(metric)} {gain(ratio)}" for metric, ratio in closest.gains.items())
    but = f"; but {closest.why_not}" if closest.why_not else ""
    return (
        f"gain over the baseline, from {closest.gain.rounds} rounds in which this config and the baseline were "
        f"measured alternately: {gains}{but}"
    )


def _metrics_to_show(why: Explanation, effect: Effect) -> Sequence[str]:
    """Return the metrics in which an effect is reported; metrics with a clear difference come first."""
    known = [metric for metric in why.metrics if metric in effect.gains]
    return sorted(known, key=lambda metric: not is_clear(effect.gains[metric]))


def _largest(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return [ordered[0], *(each for each in ordered[1:_SHOWN_KNOBS] if each[1] >= _SHOWN_SHARE)] if ordered else []


def _farthest_from_1(ratio: Ratio) -> float:
    """Return how far the interval of an effect reaches from 1: 0.05 for the interval 0.97 to 1.05."""
    return max(ratio.high, 1 / ratio.low) - 1


def _farthest_from_1_percent(ratio: Ratio) -> int:
    """Return how far the interval of an effect reaches from 1, in whole percent, rounded up."""
    return max(1, ceil(100 * _farthest_from_1(ratio) - 1e-6))
