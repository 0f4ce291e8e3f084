"""A recommendation as people read it: what to paste, what it does, and what it promises."""

from collections.abc import Sequence
from typing import Final

from search_spaces.properties_file import format_properties
from tuner.present.changes import changes
from tuner.present.wording import (
    KEEP,
    NO_GAIN,
    gain,
    gain_headings,
    number,
    one_more_round,
    shown_metrics,
    title,
    within_scatter,
)
from tuner.results.recommendation import Recommendation

_GAP: Final = "   "


def recommendation_table(found: Recommendation) -> str:
    """Plain text, readable at any width."""
    head = f"study {found.study}, {found.record_bytes} B records, goal {found.goal}: trial {found.trial.number}"
    parts = [head, "", *_to_paste(found), "", *_numbers(found), "", *_facts(found)]
    changed = _changed(found)
    return "\n".join([*parts, *(["", *changed] if changed else [])]) + "\n"


def _to_paste(found: Recommendation) -> list[str]:
    pasted = format_properties(found.config.values).splitlines() or ["(nothing: the client's own defaults)"]
    heading = KEEP if found.is_baseline else f"to paste ({found.config.client} properties):"
    return [heading, *(f"  {line}" for line in pasted)]


def _numbers(found: Recommendation) -> list[str]:
    metrics = shown_metrics(found.metrics, found.baseline_metrics, also=list(found.gains))
    if found.is_baseline:
        return aligned([("", "baseline"), *((title(name), number(found.metrics.get(name))) for name in metrics)])
    rows = [("", "baseline", "recommended", *(gain_headings(found.gains) if found.confirmed else ()))]
    for name in metrics:
        shown = [number(found.baseline_metrics.get(name)), number(found.metrics.get(name))]
        ratio = found.gains.get(name)
        told = (gain(ratio), one_more_round(ratio)) if ratio else ("", "")
        rows.append((title(name), *shown, *(told if found.confirmed else ())))
    return aligned(rows)


def _facts(found: Recommendation) -> list[str]:
    promised, before = found.trial.guarantee, found.baseline.guarantee
    rows = [] if found.confirmed or found.is_baseline else [("gain:", NO_GAIN)]
    rows.append(("guarantee:", f"{promised} (the baseline's too)" if promised == before else promised))
    if promised != before:
        rows.append(("", f"the baseline's is another: {before}"))
    rows.append(("measured:", found.how))
    if found.confirmed and (unsure := within_scatter(found)):
        rows.append(("beware:", f"rounds scatter by more than the gain in {' and '.join(unsure)}: one may show none"))
        if any("p99" in name for name in unsure):
            rows.append(("", "single stalls decide a p99; a p95, or longer windows (workload.paced), mind them less"))
    if found.trial.verdict:
        rows.append(("bound by:", f"{found.trial.verdict}: {found.trial.because}"))
    return aligned(rows, right=False)


def _changed(found: Recommendation) -> list[str]:
    changed = changes(found.trial.values, found.baseline.values)
    if not changed:
        return []
    rows = [("changed property", "recommended", "baseline", "client's default")]
    return aligned([*rows, *((c.name, c.value, c.baseline or "-", c.default or "-") for c in changed)])


def aligned(rows: Sequence[Sequence[str]], *, right: bool = True) -> list[str]:
    """Lines with every column as wide as its widest text, the first to the left and the others to the right.

    Args:
        rows: As many texts each.
        right: Off puts the others to the left too.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        _GAP.join(
            text.rjust(width) if right and place else text.ljust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
