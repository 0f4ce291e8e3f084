"""The part of the report page that says why each config is recommended."""

from collections.abc import Sequence
from html import escape

from tuner.confirmation.effects import Effect
from tuner.present.report.interactive import effects_figure, figure_html
from tuner.present.report.page_parts import Cell, table
from tuner.present.why import (
    bound_lines,
    change_notes,
    closest_lines,
    effect_name,
    effect_words,
    metric_name,
    rounds_of,
    shared,
)
from tuner.results.explanation import Explanation


def why_section(explanations: Sequence[Explanation], place: int) -> str:
    """Why each config is recommended; goals with the same config share one part.

    Args:
        explanations: One per goal; empty where nothing is recommended.
        place: Of the record size in the page; makes element names unique.
    """
    parts = [_part(same, f"effects-{place}-{number}") for number, same in enumerate(shared(explanations))]
    return "\n".join(["<h3>Why these configs</h3>", *parts]) if parts else ""


def _part(same: Sequence[Explanation], name: str) -> str:
    why = same[0]
    goals = ", ".join(str(each.found.goal) for each in same)
    what = "The baseline" if why.found.is_baseline else f"Trial {why.found.trial.number}"
    parts = [f"<h4>{what}, recommended for {escape(goals)}</h4>"]
    if any(each.gains for each in why.effects.each):
        parts += [_effects(why), figure_html(effects_figure(why), name)]
    closest = [f"closest for {each.found.goal}: {line}" for each in same for line in closest_lines(each)]
    notes = [*change_notes(why), *closest, *(f"what bound {line}" for line in bound_lines(why.found))]
    return "\n".join([*parts, "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"])


def _effects(why: Explanation) -> str:
    """What each change brings, as a table."""
    measured = [each for each in why.effects.each if each.measured]
    metrics = [metric for metric in why.metrics if any(metric in each.gains for each in measured)]
    rows: list[list[Cell]] = [
        [effect_name(why, each), *(_cell(each, metric) for metric in metrics), _note(each)] for each in measured
    ]
    headings = ["change", *map(metric_name, metrics), ""]
    return (
        f'<div class="scroll">{table(headings, rows)}</div><p class="dim">The config against itself with that change '
        f"undone, measured in turn, {rounds_of(why)}. 95 % intervals, each for itself: of twenty, one is wrong by "
        "chance.</p>"
    )


def _cell(effect: Effect, metric: str) -> str:
    return effect_words(effect.gains[metric]) if metric in effect.gains else "-"


def _note(effect: Effect) -> str:
    missed = f"without it, {' and '.join(effect.misses)} is missed" if effect.misses else ""
    return "; ".join(text for text in (effect.undoing.because, missed) if text)
