"""The report of a study: one file with everything in it, fit to be mailed or kept for years."""

from collections.abc import Iterable
from html import escape
from typing import Any

from tuner.model.trial import Kind, State
from tuner.present.report.interactive import (
    drift_figure,
    figure_html,
    front_figure,
    hypervolume_figure,
    importance_figure,
    inlined_plotly,
)
from tuner.present.report.page_parts import all_trials, front_section, recommendation_cards, table
from tuner.present.report.page_style import SCRIPT, STYLE
from tuner.present.report.why_section import why_section
from tuner.present.wording import SIMULATED
from tuner.results.by_goal import labels, recommendations
from tuner.results.explanation import Importance, explain
from tuner.results.importance import knob_importance
from tuner.results.racing_savings import Raced
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
        *([f'<p class="dim">{escape(raced)}</p>'] if (raced := str(Raced.of(size.trials))) else []),
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
