"""A recommendation as plain text, for a terminal."""

from collections.abc import Mapping
from typing import Final

from runners.reporting import in_bytes
from search_spaces.files.properties_file import format_properties
from search_spaces.properties.catalogue import shown_value
from tuner.present.changed_properties import changes
from tuner.present.number_text import aligned
from tuner.present.recommendations.recommendation_words import (
    NO_GAIN,
    advice_to_keep,
    in_short,
    inconclusive_gains,
    not_advice,
    numbers_table,
    proven_for_other_goals,
    scatter_note,
    within_scatter,
)
from tuner.results.recommendations.recommendation import Recommendation

_ONE_MORE_ROUND: Final = (
    "one more round: if you measure both configs once more, the ratio lies in this column's range in 95 of 100 cases"
)


def recommendation_table(recommendation: Recommendation, values: Mapping[str, str]) -> str:
    """Return the recommendation as plain text that can be read in a terminal of any width."""
    head = (
        f"study {recommendation.study}, {in_bytes(recommendation.record_bytes)} records, goal {recommendation.goal}: "
        f"{'the baseline, ' if recommendation.is_baseline else ''}trial {recommendation.trial.number}"
    )
    short = in_short(recommendation)
    parts = [
        head,
        *([short] if short else []),
        *([] if recommendation.is_baseline else proven_for_other_goals(recommendation)),
        "",
        *_to_paste(recommendation, values),
        "",
        *_numbers(recommendation),
        "",
        *_facts(recommendation),
    ]
    changed = _changed(recommendation)
    return "\n".join([*parts, *(["", *changed] if changed else [])]) + "\n"


def _to_paste(recommendation: Recommendation, values: Mapping[str, str]) -> list[str]:
    pasted = format_properties(values).splitlines() or ["(no properties: the client's defaults)"]
    advice = advice_to_keep(recommendation) or not_advice(recommendation)
    heading = advice or f"to paste ({recommendation.config.client.identity} properties):"
    others = proven_for_other_goals(recommendation) if recommendation.is_baseline else []
    return [heading, *others, *(["", "your config:"] if others else []), *(f"  {line}" for line in pasted)]


def _numbers(recommendation: Recommendation) -> list[str]:
    headings, rows = numbers_table(recommendation)
    return aligned([headings, *([cell if isinstance(cell, str) else cell[0] for cell in row] for row in rows)])


def _facts(recommendation: Recommendation) -> list[str]:
    promised, before = recommendation.trial.guarantee, recommendation.baseline.guarantee
    rows = [] if recommendation.confirmed or recommendation.is_baseline else [("gain:", NO_GAIN)]
    rows.append(("guarantee:", f"{promised} (the same as the baseline's)" if promised == before else promised))
    if promised != before:
        rows.append(("", f"the baseline's is different: {before}"))
    rows.append(("measured:", recommendation.how))
    if recommendation.confirmed:
        rows.append(("", _ONE_MORE_ROUND))
    if note := scatter_note(recommendation):
        rows.append(("note:", note))
        if any("p99" in name for name in within_scatter(recommendation)):
            rows.append(("", "a few stalls decide a p99: optimise a p95, or lengthen the paced phase (workload.paced)"))
    if open_question := inconclusive_gains(recommendation):
        rows.append(("inconclusive:", open_question))
    if recommendation.trial.verdict:
        rows.append(("bound by:", f"{recommendation.trial.verdict}: {recommendation.trial.because}"))
    return aligned(rows, right=False)


def _changed(recommendation: Recommendation) -> list[str]:
    changed = changes(recommendation.trial, recommendation.baseline.values)
    if not changed:
        return []
    rows = [("changed property", "recommended", "baseline", "client's default")]
    shown = (
        (c.name, *(shown_value(c.name, each) or "-" for each in (c.value, c.baseline, c.default))) for c in changed
    )
    return aligned([*rows, *shown])
