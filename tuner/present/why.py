"""Why a config is recommended, in words with numbers."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Final

from objectives.ratios import Ratio
from tuner.confirmation.gains import Effect, is_clear
from tuner.present.wording import Change, changes, gain, gain_sentences, title
from tuner.results.explanation import FRONT, Closest, Explanation
from tuner.results.recommendation import Recommendation

_ALIKE: Final = 0.1
"""An interval that reaches no further from 1 says that there is no difference to speak of."""
_SHOWN_KNOBS: Final = 3
_SHOWN_SHARE: Final = 0.05
_UNITS: Final = (", ms", ", MB/s")


@dataclass(frozen=True, slots=True)
class Section:
    """One part of an explanation.

    Attributes:
        heading: What it is about.
        lines: A sentence each.
    """

    heading: str
    lines: tuple[str, ...]


def why_sections(why: Explanation) -> tuple[Section, ...]:
    """The whole explanation; sections that have nothing to say are left out."""
    heading = "what each change brings"
    if why.effects.rounds:
        heading += (
            f": the config against itself with that change undone, in turn, {rounds_of(why)}; 95 % intervals, each for "
            "itself"
        )
    sections = (
        Section("what it brings", tuple(gain_sentences(why.found))),
        Section(heading, (*(effect_line(why, each) for each in why.telling), *change_notes(why))),
        Section("what came closest", closest_lines(why)),
        Section("what bound the throughput", bound_lines(why.found)),
        Section(f"what mattered most over the {why.searched} trials of the search", importance_lines(why)),
    )
    return tuple(section for section in sections if section.lines)


def why_heading(why: Explanation) -> str:
    """What is explained, in one line."""
    found = why.found
    what = "the baseline" if found.is_baseline else f"trial {found.trial.number}"
    return f"study {found.study}, {found.record_bytes} B records, goal {found.goal}: why {what}"


def why_markdown(explanations: Iterable[Explanation]) -> str:
    """Several explanations as one Markdown text; goals with the same config share one."""
    parts = []
    for same in shared(explanations):
        what = "the baseline" if same[0].found.is_baseline else f"trial {same[0].found.trial.number}"
        parts.append(f"## {', '.join(str(each.found.goal) for each in same)}: why {what}")
        for section in why_sections(same[0]):
            parts.append(f"**{section.heading[:1].upper()}{section.heading[1:]}**")
            parts.append("\n".join(f"- {line}" for line in section.lines))
    return "\n\n".join(parts) + "\n" if parts else ""


def shared(explanations: Iterable[Explanation]) -> list[list[Explanation]]:
    """Explanations of the same config together, in the order in which each config comes first."""
    found: dict[str, list[Explanation]] = {}
    for each in explanations:
        found.setdefault(each.found.trial.fingerprint, []).append(each)
    return list(found.values())


def rounds_of(why: Explanation) -> str:
    """`2 rounds`."""
    return f"{why.effects.rounds} round{'s' if why.effects.rounds > 1 else ''}"


def effect_name(why: Explanation, effect: Effect) -> str:
    """`linger.ms=0.5 instead of 5`, with what went back together with it."""
    found = why.found
    known = {change.name: change for change in changes(found.trial.values, found.baseline.values)}
    leader, *others = (_change(known[knob]) for knob in effect.knobs)
    return f"{leader}, together with {', '.join(others)}" if others else leader


def effect_line(why: Explanation, effect: Effect) -> str:
    """`linger.ms=0.5 instead of 5: latency p99 1.42 (1.31 to 1.54) times better; throughput the same within 3 %`."""
    parts = [f"{metric_name(metric)} {effect_words(effect.gains[metric])}" for metric in _told(why, effect)]
    if effect.misses:
        parts.append(f"without it, {' and '.join(effect.misses)} is missed")
    reason = f" ({effect.undoing.because})" if effect.undoing.because else ""
    return f"{effect_name(why, effect)}{reason}: {'; '.join(parts)}"


def effect_words(ratio: Ratio) -> str:
    """`1.42 (1.31 to 1.54) times better`, or that no difference shows, and how far that can be relied on."""
    if ratio.low > 1.0:
        return f"{ratio} times better"
    if ratio.high < 1.0:
        return f"{1 / ratio.value:.2f} ({1 / ratio.high:.2f} to {1 / ratio.low:.2f}) times worse"
    return f"the same within {_percent(ratio)} %" if _reach(ratio) <= _ALIKE else f"no difference shown: {ratio}"


def change_notes(why: Explanation) -> tuple[str, ...]:
    """What is to be said of changes besides what each brings: those that bring nothing, and all together."""
    return (*_silent(why), *_together(why), *_unmeasured(why))


def closest_lines(why: Explanation) -> tuple[str, ...]:
    """What came closest to being recommended in place of the baseline."""
    closest = why.closest
    if not why.found.is_baseline:
        return ()
    if closest is None:
        return ("nothing else was measured that keeps every constraint",)
    differs = " ".join(map(str, changes(closest.trial.values, why.found.baseline.values))) or "nothing changed"
    return (f"trial {closest.trial.number} ({differs}): {_falls_short(closest)}",)


def bound_lines(found: Recommendation) -> tuple[str, ...]:
    """What kept the throughput of the baseline and of the config from being higher."""
    told = [("the baseline", found.baseline)]
    if not found.is_baseline:
        told.append((f"trial {found.trial.number}", found.trial))
    return tuple(f"{name}: {trial.verdict}: {trial.because}" for name, trial in told if trial.verdict)


def importance_lines(why: Explanation) -> tuple[str, ...]:
    """`linger.ms mattered most for latency p99 (62 %), then batch.size (20 %)`, for what the goal is about."""
    lines = []
    for name in (*why.goal_metrics, FRONT):
        most = [f"{knob} ({100 * share:.0f} %)" for knob, share in _largest(why.importance.get(name, {}))]
        if most:
            what = "reaching the front" if name == FRONT else metric_name(name)
            lines.append(f"for {what}: {', then '.join(most)}")
    return tuple(lines)


def metric_name(metric: str) -> str:
    """A metric without the unit, which ratios have none of."""
    name = title(metric)
    return next((name.removesuffix(unit) for unit in _UNITS if name.endswith(unit)), name)


def _silent(why: Explanation) -> Iterable[str]:
    """Changes that make no difference."""
    if not why.silent:
        return
    ratios = [ratio for effect in why.silent for ratio in effect.gains.values()]
    below = f"any difference is below {max(map(_percent, ratios))} %"
    names = "; ".join(effect_name(why, each) for each in why.silent)
    if len(why.silent) == 1:
        yield (
            f"this change brings nothing that could be measured ({below}): {names}; left out, the config is simpler, "
            "and was measured so"
        )
    else:
        yield (
            f"these changes bring nothing that could be measured, one at a time ({below}): {names}; leaving them all "
            "out gives a simpler config, which was not measured"
        )


def _together(why: Explanation) -> Iterable[str]:
    """Whether all changes together bring what they bring one by one."""
    for metric in why.goal_metrics:
        whole, product = why.found.gains.get(metric), why.effects.product.get(metric)
        if whole is None or product is None:
            continue
        told = f"{metric_name(metric)}: all changes together bring {whole} times, one by one they multiply to {product}"
        if product.low > whole.high:
            yield f"{told}: they need each other, so that single figures do not multiply"
        elif product.high < whole.low:
            yield f"{told}: they stand in for each other, so that with one undone others make up for it"
        else:
            yield f"{told}: that fits"


def _unmeasured(why: Explanation) -> Iterable[str]:
    """Changes of which nothing is known alone, and why."""
    left = why.unmeasured
    if not left:
        return
    found = why.found
    if len(why.effects.each) == 1:
        whole = "the whole gain is its doing" if found.confirmed else "all that it brings is its doing"
        yield f"{effect_name(why, left[0])}: the one change, so that {whole}"
    elif len(left) == len(why.effects.each):
        names = "; ".join(effect_name(why, each) for each in left)
        yield f"{names}: not measured one by one, {_why_not(found)}"
    else:
        for each in left:
            reason = each.undoing.because if each.undoing.variant is None else "there was no time for it"
            yield f"{effect_name(why, each)}: not measured alone ({reason})"


def _why_not(found: Recommendation) -> str:
    if not found.confirmed:
        return "as only what is proven better is taken apart"
    return "as the study asked for no ablation (confirm.ablation_rounds) or had no time left for it"


def _falls_short(closest: Closest) -> str:
    if closest.gain is None:
        return f"{closest.times:.2f} times the baseline in its one trial"
    told = "; ".join(f"{metric_name(metric)} {gain(ratio)}" for metric, ratio in closest.gains.items())
    but = f"; but {closest.but}" if closest.but else ""
    return f"times better than the baseline in {closest.gain.rounds} rounds in turn: {told}{but}"


def _told(why: Explanation, effect: Effect) -> Sequence[str]:
    """Metrics to tell of, those that show a difference first."""
    known = [metric for metric in why.metrics if metric in effect.gains]
    return sorted(known, key=lambda metric: not is_clear(effect.gains[metric]))


def _change(change: Change) -> str:
    return f"{change} instead of {change.baseline or 'nothing'}"


def _largest(shares: Mapping[str, float]) -> list[tuple[str, float]]:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    return [ordered[0], *(each for each in ordered[1:_SHOWN_KNOBS] if each[1] >= _SHOWN_SHARE)] if ordered else []


def _reach(ratio: Ratio) -> float:
    """How far from 1 the interval reaches."""
    return max(ratio.high, 1 / ratio.low) - 1


def _percent(ratio: Ratio) -> int:
    return max(1, ceil(100 * _reach(ratio) - 1e-6))
