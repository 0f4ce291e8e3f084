"""The report of a study: one file with everything in it, fit to be mailed or kept for years.

Everything that comes from outside is escaped here.
"""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from search_spaces.properties_file import format_properties
from tuner.confirmation.gains import Effect
from tuner.model.spec import Goal
from tuner.model.trial import Kind, State, Trial
from tuner.present.report.front_table import front_section
from tuner.present.report.interactive import (
    drift_figure,
    effects_figure,
    figure_html,
    front_figure,
    hypervolume_figure,
    importance_figure,
    inlined_plotly,
)
from tuner.present.report.page_style import SCRIPT, STYLE, table
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
from tuner.present.wording import (
    KEEP,
    NO_GAIN,
    SIMULATED,
    Cell,
    changes,
    gain,
    number,
    numbers_table,
    shown_metrics,
    title,
)
from tuner.results.by_goal import labels, recommendations
from tuner.results.explanation import Explanation, Importance, explain, knob_importance
from tuner.results.racing_savings import RacingSavings
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import SizeResults, StudyResults
from tuner.results.unmet_constraints import NONE_KEEPS_ALL, missed_lines

_FACTS = (
    ("target", "target"),
    ("client_version", "client"),
    ("broker_version", "broker"),
    ("method", "search method"),
    ("seed", "seed"),
    ("started_at", "started"),
    ("finished_at", "finished"),
)


def report_page(study: StudyResults) -> str:
    """The whole page."""
    name = escape(study.name)
    body = [
        f"<h1>{name}</h1>",
        f'<p class="dim">{escape(_subtitle(study))}</p>',
        *([f'<p class="warn">{SIMULATED}</p>'] if study.simulated else []),
        *(_size_section(study, size, place) for place, size in enumerate(study.sizes)),
        *([] if study.sizes else ["<p>The study has no results yet.</p>"]),
        "<h2>What was measured, and where</h2>",
        _facts(study),
        "<h3>Study file</h3>",
        f"<pre>{escape(study.study_file) or 'it was not kept'}</pre>",
    ]
    return (
        f'<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n<title>{name}: kafka-tuner</title>\n'
        f'<meta name="viewport" content="width=device-width">\n<style>{STYLE}</style>\n{inlined_plotly()}\n</head>\n'
        f"<body>\n{chr(10).join(body)}\n<script>{SCRIPT}</script>\n</body>\n</html>\n"
    )


def _subtitle(study: StudyResults) -> str:
    trials = sum(len(size.trials) for size in study.sizes)
    hours = sum(trial.duration_s for size in study.sizes for trial in size.trials) / 3600
    state = "finished" if study.finished else "not finished: what follows may still change"
    return f"kafka-tuner study, {trials} trials in {hours:.1f} h of measuring, {state}"


def _size_section(study: StudyResults, size: SizeResults, place: int) -> str:
    found, importance = recommendations(study, size), knob_importance(size)
    parts = [
        f'<h2 id="size-{place}">{escape(size.record_bytes)} B records</h2>',
        recommendation_cards(found, place),
        _warnings(size),
        why_section([explain(study, each, importance) for each in found.values()], place),
        "<h3>Every trial, and the front</h3>",
        figure_html(front_figure(size, labels(found)), f"front-{place}"),
        front_section(size),
        "<h3>Did the search still find something?</h3>",
        figure_html(hypervolume_figure(size), f"hypervolume-{place}"),
        *([f'<p class="dim">{escape(raced)}</p>'] if (raced := str(RacingSavings.of(size.trials))) else []),
        "<h3>Did the machine hold still? The baseline again and again</h3>",
        f"<p>{escape(_drift(size))}</p>",
        figure_html(drift_figure(size), f"drift-{place}"),
        _importance(importance, place),
        f"<details><summary>All {len(size.trials)} trials</summary>{all_trials(size)}</details>",
    ]
    return "\n".join(parts)


def _warnings(size: SizeResults) -> str:
    failures = [trial for trial in size.trials if trial.state is State.FAILED]
    flagged = [trial for trial in size.trials if trial.flagged]
    sentences = []
    if size.baseline is None:
        sentences.append("There is no measured baseline yet: nothing can be compared, and nothing is recommended.")
    elif not size.confirmations:
        sentences.append("Winners were not measured again in turn with the baseline: no gain is claimed.")
    sentences += [f"{NONE_KEEPS_ALL.capitalize()}. {line}." for line in missed_lines(size)]
    if failures:
        sentences.append(f"{len(failures)} trials ended without a measurement; the last: {failures[-1].error}")
    if flagged:
        sentences.append(
            f"{len(flagged)} trials were bound by our load generator: their throughput is a lower bound, "
            "and says nothing of their configs."
        )
    return (
        '<ul class="warn">' + "".join(f"<li>{escape(each)}</li>" for each in sentences) + "</ul>" if sentences else ""
    )


def _drift(size: SizeResults) -> str:
    repeats = [t for t in size.trials if t.kind is Kind.BASELINE and "mb_per_s" in t.metrics]
    if len(repeats) < 2:
        return "The baseline was not measured twice, so nothing can be said."
    values = [trial.metrics["mb_per_s"] for trial in repeats]
    spread = (max(values) - min(values)) / size.baseline_metrics["mb_per_s"]
    known = {metric: noise for metric, noise in size.estimates.noise.items() if not noise.is_assumed}
    scatter = ", ".join(f"{noise.sd_log:.1%} in {metric}" for metric, noise in known.items())
    return (
        f"{len(values)} baselines between {min(values):.1f} and {max(values):.1f} MB/s: {spread:.0%} of their median "
        "apart. Differences between trials that are smaller than this mean little. "
        f"{_wandering(size)}{f'Repeats of one config scatter by {scatter}.' if scatter else ''}"
    )


def _wandering(size: SizeResults) -> str:
    moved = size.estimates.wandered.get("mb_per_s")
    return "" if moved is None else f"The baseline itself wandered by {moved:.0%}, which numbers are corrected for. "


def _importance(importance: Importance, place: int) -> str:
    if not importance:
        return ""
    picture = figure_html(importance_figure(importance), f"importance-{place}")
    return f"<h3>How much each knob matters</h3>{picture}"


def _facts(study: StudyResults) -> str:
    rows: list[tuple[str, str]] = [(label, str(study.facts[name])) for name, label in _FACTS if study.facts.get(name)]
    rows += [("record sizes", ", ".join(size.record_bytes for size in study.sizes))]
    rows += [
        (f"fixed rate for {size.record_bytes} B", f"{size.rate_records_per_s:,.0f} records/s")
        for size in study.sizes
        if size.rate_records_per_s
    ]
    rows += [("objectives", ", ".join(objective.metric for objective in study.objectives))]
    question = study.facts.get("question") or {}
    rows += [(name, str(question[name])) for name in ("constraints", "durability", "baseline") if question.get(name)]
    rows += _prefixed("workload", question.get("workload") or {})
    for name in ("host", "cluster"):
        rows += _prefixed(name, study.facts.get(name) or {})
    return table([], rows)


def _prefixed(prefix: str, facts: dict[str, Any]) -> Iterable[tuple[str, str]]:
    return ((f"{prefix}: {name}", str(value)) for name, value in sorted(facts.items()))


_COLUMNS: Final = 5


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
        f"{table(*numbers_table(found))}<p>Promises <b>{escape(found.trial.guarantee)}</b>{_before(found)}</p>"
        f'<p class="dim">{escape(found.how)}; found by trial {found.trial.number}</p>'
        f"{''.join(f'<p class=warn>{escape(warning)}</p>' for warning in found.warnings)}</div>"
    )


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


def why_section(explanations: Sequence[Explanation], place: int) -> str:
    """Why each config is recommended; goals with the same config share one part.

    Args:
        explanations: One per goal; empty where nothing is recommended.
        place: Of the record size in the page; makes element names unique.
    """
    parts = [_why_part(same, f"effects-{place}-{number}") for number, same in enumerate(shared(explanations))]
    return "\n".join(["<h3>Why these configs</h3>", *parts]) if parts else ""


def _why_part(same: Sequence[Explanation], name: str) -> str:
    why = same[0]
    goals = ", ".join(str(each.found.goal) for each in same)
    what = "The baseline" if why.found.is_baseline else f"Trial {why.found.trial.number}"
    parts = [f"<h4>{what}, recommended for {escape(goals)}</h4>"]
    if any(each.gains for each in why.effects.each):
        parts += [_effects_table(why), figure_html(effects_figure(why), name)]
    closest = [f"closest for {each.found.goal}: {line}" for each in same for line in closest_lines(each)]
    notes = [*change_notes(why), *closest, *(f"what bound {line}" for line in bound_lines(why.found))]
    return "\n".join([*parts, "<ul>", *(f"<li>{escape(note)}</li>" for note in notes), "</ul>"])


def _effects_table(why: Explanation) -> str:
    """What each change brings, as a table."""
    measured = [each for each in why.effects.each if each.measured]
    metrics = [metric for metric in why.metrics if any(metric in each.gains for each in measured)]
    rows: list[list[Cell]] = [
        [effect_name(why, each), *(_effect_cell(each, metric) for metric in metrics), _effect_note(each)]
        for each in measured
    ]
    headings = ["change", *map(metric_name, metrics), ""]
    return (
        f'<div class="scroll">{table(headings, rows)}</div><p class="dim">The config against itself with that change '
        f"undone, measured in turn, {rounds_of(why)}. 95 % intervals, each for itself: of twenty, one is wrong by "
        "chance.</p>"
    )


def _effect_cell(effect: Effect, metric: str) -> str:
    return effect_words(effect.gains[metric]) if metric in effect.gains else "-"


def _effect_note(effect: Effect) -> str:
    missed = f"without it, {' and '.join(effect.misses)} is missed" if effect.misses else ""
    return "; ".join(text for text in (effect.undoing.because, missed) if text)
