"""Pieces of the report page. Everything that comes from outside is escaped here."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Final

from search_spaces.properties_file import format_properties
from tuner.model.spec import Goal
from tuner.model.trial import State, Trial
from tuner.present.changes import changes
from tuner.present.report.front_table import front_metrics, front_notes, front_rows
from tuner.present.wording import KEEP, NO_GAIN, gain, gain_headings, number, one_more_round, shown_metrics, title
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import SizeResults

_COLUMNS: Final = 5
Cell = str | tuple[str, float | None]
"""A text, or a number as it is shown and as it is sorted."""


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, sortable: bool = False) -> str:
    """A table; a column whose first cell is a number is set to the right."""
    right = [isinstance(cell, tuple) for cell in rows[0]] if rows else [False] * len(headings)
    head = "".join(f"<th{_class(n)}>{escape(text)}</th>" for text, n in zip(headings, right, strict=False))
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    opening = '<table class="sortable">' if sortable else "<table>"
    return f"{opening}{f'<thead><tr>{head}</tr></thead>' if headings else ''}<tbody>{body}</tbody></table>"


def recommendation_cards(found: Mapping[Goal, Recommendation], place: int) -> str:
    """A card per goal; goals with the same config share one.

    Args:
        found: By goal.
        place: Of the record size in the page; makes element names unique.
    """
    shared: dict[str, list[Recommendation]] = {}
    for each in found.values():
        shared.setdefault(each.trial.fingerprint, []).append(each)
    cards = [_card(each, f"config-{place}-{number}") for number, each in enumerate(shared.values())]
    return f'<div class="cards">{"".join(cards)}</div>' if cards else "<p>Nothing can be recommended yet.</p>"


def front_section(size: SizeResults) -> str:
    """The table of the front, and how to read it."""
    rows = front_rows(size)
    if not rows:
        return ""
    metrics = front_metrics(size, rows)
    headings = ["trial", *(text for metric in metrics for text in (title(metric), "x baseline"))]
    cells: list[list[Cell]] = []
    for row in rows:
        numbers: list[Cell] = []
        for metric in metrics:
            value = row.metrics.get(metric)
            numbers += [(row.measured(metric), value), (row.versus(metric), row.times.get(metric, 1.0))]
        bound = row.trial.verdict + "".join(f"; {flag}" for flag in row.flags)
        name = "baseline" if row.is_baseline else f"trial {row.trial.number}"
        cells.append([name, *numbers, row.trial.guarantee, bound, row.changed])
    shown = table([*headings, "guarantee", "bound by", "changed properties"], cells, sortable=True)
    notes = " ".join(front_notes(size))
    return f'<div class="scroll">{shown}</div><p class="dim">{escape(notes)}</p>'


def all_trials(size: SizeResults) -> str:
    """Every trial with its numbers and its config."""
    asked = [objective.metric for objective in size.objectives]
    metrics = shown_metrics(*(trial.metrics for trial in size.trials), first=asked)[:_COLUMNS]
    headings = ["trial", "kind", "result", *map(title, metrics), "bound by", "seconds", "changed properties"]
    baseline = size.baseline.values if size.baseline else {}
    rows: list[list[Cell]] = []
    for trial in size.trials:
        numbers = [(number(trial.metrics.get(name)), trial.metrics.get(name)) for name in metrics]
        changed = " ".join(map(str, changes(trial.values, baseline)))
        first: list[Cell] = [(str(trial.number), float(trial.number)), str(trial.kind), _result(trial, size)]
        rows.append([*first, *numbers, trial.verdict, (f"{trial.duration_s:.0f}", trial.duration_s), changed])
    return f'<div class="scroll">{table(headings, rows, sortable=True)}</div>'


def _card(same: Sequence[Recommendation], name: str) -> str:
    found = same[0]
    goals = ", ".join(str(each.goal) for each in same)
    config = format_properties(found.config.values) or "# nothing: the client's own defaults\n"
    if found.is_baseline:
        claim = f'<p class="dim">{escape(KEEP)}</p>'
    elif found.confirmed:
        gains = ((title(metric), ratio) for metric, ratio in found.gains.items())
        claim = "".join(
            f'<p class="{"good" if ratio.low > 1 else "dim"}">{escape(what)}: {escape(gain(ratio))} x baseline</p>'
            for what, ratio in gains
        )
    else:
        claim = f'<p class="warn">{escape(NO_GAIN)}</p>'
    return (
        f'<div class="card"><h3>Best for {escape(goals)}</h3>{claim}'
        f'<pre id="{name}">{escape(config)}</pre><button data-copy="{name}">copy</button>'
        f"{_numbers(found)}<p>Promises <b>{escape(found.trial.guarantee)}</b>{_before(found)}</p>"
        f'<p class="dim">{escape(found.how)}; found by trial {found.trial.number}</p>'
        f"{''.join(f'<p class=warn>{escape(warning)}</p>' for warning in found.warnings)}</div>"
    )


def _numbers(found: Recommendation) -> str:
    rows: list[list[Cell]] = []
    for metric in shown_metrics(found.metrics, found.baseline_metrics, also=list(found.gains)):
        before, now = found.baseline_metrics.get(metric), found.metrics.get(metric)
        ratio = found.gains.get(metric)
        shown = [(number(before), before), *([] if found.is_baseline else [(number(now), now)])]
        told: list[Cell] = [(gain(ratio), None), (one_more_round(ratio), None)] if ratio else ["", ""]
        rows.append([title(metric), *shown, *(told if found.confirmed else [])])
    headings = ["", "baseline", *([] if found.is_baseline else ["recommended"])]
    return table([*headings, *(gain_headings(found.gains) if found.confirmed else [])], rows)


def _before(found: Recommendation) -> str:
    if found.trial.guarantee == found.baseline.guarantee:
        return ", as the baseline does"
    return f', where the baseline promises <b class="warn">{escape(found.baseline.guarantee)}</b>'


def _result(trial: Trial, size: SizeResults) -> str:
    if trial.state is State.FAILED:
        return f"failed: {trial.error}"
    if trial.number in size.front:
        return "front"
    missed = [name for name, violation in trial.violations.items() if violation > 0]
    return f"missed {', '.join(missed)}" if missed else "stopped early" if trial.stopped_early else ""


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    shown, value = cell
    return f'<td class="n"{f" data-value={value:.6g}" if value is not None else ""}>{escape(shown)}</td>'


def _class(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
