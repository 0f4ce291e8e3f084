"""Interactive charts of a study for pages; pointing at a trial shows its config and numbers."""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from math import sqrt
from typing import Final

import plotly.graph_objects as go

from objectives.metrics import COMPARED_WITH_BASELINE
from runners.reporting import in_bytes
from tuner.model.trial import State, TrialKind
from tuner.present.changed_properties import changes
from tuner.present.number_text import metric_name, number, shown_metrics, title
from tuner.present.report.chart_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE, is_wide
from tuner.present.report.interactive import LOG_AXIS, figure_of
from tuner.present.report.study_points import (
    BASELINE_ALONE,
    MISSED,
    RECOMMENDED_FOR,
    SHARE_TITLE,
    TRIAL_AXIS,
    VOLUME_TITLE,
    FrontChart,
    Point,
    coordinates,
    front_chart,
    hypervolume_steps,
    importance_name,
)
from tuner.results.recommendations.explanation import Explanation
from tuner.results.study_results import SizeResults

_MOST_METRICS: Final = 6


def front_figure(size: SizeResults, recommended: Mapping[int, str]) -> go.Figure:
    """Return a chart of all trials and the front. Pointing at a trial shows its config, numbers and guarantee.

    The front, the recommended configs and the baseline have bars: the 95 % intervals of their means.

    Args:
        size: The results of one record size.
        recommended: By trial number, the goals that the trial is recommended for.
    """
    view = front_chart(size)
    figure = figure_of(f"{in_bytes(size.record_bytes)} records", height=480)
    members = {point.trial.number for point in view.front}
    others = [point for point in view.feasible if point.trial.number not in members]
    figure.add_trace(_points(size, others, "trial", {"color": GREY, "size": 7}))
    missed = {"color": PURPLE, "size": 9, "symbol": "x-thin", "line": {"width": 2, "color": PURPLE}}
    figure.add_trace(_points(size, view.infeasible, MISSED, missed))
    figure.add_trace(_line(view, BLUE))
    figure.add_trace(_points(size, view.front, view.front_name, {"color": BLUE, "size": 10}, reach=True))
    picked = [point for point in view.feasible if point.trial.number in recommended]
    ring = {"color": "rgba(0,0,0,0)", "size": 18, "line": {"width": 3, "color": ORANGE}}
    names = [escape(recommended[point.trial.number]) for point in picked]
    # On the front, the config's interval is drawn already.
    reach = any(point.trial.number not in members for point in picked)
    figure.add_trace(_points(size, picked, RECOMMENDED_FOR, ring, names, reach=reach))
    baseline = [view.baseline] if view.baseline else []
    diamond = {"color": BLACK, "size": 13, "symbol": "diamond"}
    figure.add_trace(_points(size, baseline, "baseline", diamond, ["baseline"] * len(baseline), reach=True))
    right = _right_half(view)
    places = [f"bottom {'left' if right(point) else 'right'}" for point in baseline]  # away from the other labels
    figure.update_traces(textposition=places, selector={"name": "baseline"})
    figure.update_traces(textposition=_label_positions(picked, right), selector={"name": RECOMMENDED_FOR})
    _axes(figure, view)
    return figure


def _right_half(view: FrontChart) -> Callable[[Point], bool]:
    """Return whether a point is in the right half of the chart, where its label must stand on the left."""
    ends = [point.x for point in (*view.feasible, *view.infeasible)] or [0.0]
    middle = sqrt(min(ends) * max(ends)) if view.x_log else (min(ends) + max(ends)) / 2
    return lambda point: point.x > middle


def _label_positions(points: Sequence[Point], right: Callable[[Point], bool]) -> list[str]:
    """Return where the label of each point stands, so that labels seldom overlap or are cut off.

    From the highest point to the lowest, labels stand above and below their points in turn.

    Args:
        points: The points that have labels.
        right: Whether a point is in the right half of the chart.
    """
    ranks = {id(point): rank for rank, point in enumerate(sorted(points, key=lambda point: -point.y))}
    return [f"{('top', 'bottom')[ranks[id(each)] % 2]} {'left' if right(each) else 'right'}" for each in points]


def fronts_figure(views: Mapping[str, FrontChart], heading: str) -> go.Figure:
    """Return a picture of the fronts of several studies on the same axes."""
    figure = figure_of(heading, height=480)
    for (name, view), colour in zip(views.items(), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        named = escape(name)
        around = [point for point in view.feasible if point not in view.front]
        figure.add_trace(_plain(around, f"{named}: trial", {"color": colour, "size": 6, "symbol": "circle-open"}))
        figure.add_trace(_line(view, colour))
        figure.add_trace(_plain(view.front, f"{named}: front", {"color": colour, "size": 10}))
        diamond = {"color": colour, "size": 13, "symbol": "diamond", "line": {"width": 1, "color": BLACK}}
        figure.add_trace(_plain([view.baseline] if view.baseline else [], f"{named}: baseline", diamond))
    for view in views.values():
        _axes(figure, view)
    return figure


def hypervolume_figure(size: SizeResults) -> go.Figure:
    """Return a picture of how the hypervolume of the front grew with each trial."""
    figure = figure_of("", height=320)
    numbers, volumes = hypervolume_steps(size)
    if numbers:
        line = {"shape": "hv", "color": BLUE}
        figure.add_trace(go.Scatter(x=numbers, y=volumes, mode="lines+markers", line=line, showlegend=False))
    figure.add_hline(1.0, line={"color": GREY, "dash": "dash", "width": 1}, annotation_text=BASELINE_ALONE)
    figure.update_xaxes(title=TRIAL_AXIS)
    figure.update_yaxes(title=VOLUME_TITLE, rangemode="tozero")
    return figure


def drift_figure(size: SizeResults) -> go.Figure:
    """Return a picture of the baseline's repeats relative to their median, which shows whether results drifted."""
    figure = figure_of("", height=320)
    repeats = [t for t in size.trials if t.kind is TrialKind.BASELINE and t.state is State.COMPLETE]
    for metric, colour in zip(COMPARED_WITH_BASELINE, (BLUE, ORANGE), strict=True):
        middle = size.baseline_metrics.get(metric)
        measured = [trial for trial in repeats if metric in trial.metrics] if middle else []
        if middle and measured:
            at = {"x": [t.number for t in measured], "y": [t.metrics[metric] / middle for t in measured]}
            figure.add_trace(go.Scatter(**at, mode="lines+markers", name=title(metric), line={"color": colour}))
    figure.add_hline(1.0, line={"color": GREY, "dash": "dash", "width": 1})
    figure.update_xaxes(title=TRIAL_AXIS)
    figure.update_yaxes(title="ratio to the median of all repeats")
    return figure


def importance_figure(importance: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Return a picture with one bar per knob and objective.

    Args:
        importance: By objective and knob, how much the knob mattered, as `knob_importance` returns it; not empty.
    """
    knobs = list(dict.fromkeys(knob for shares in importance.values() for knob in shares))
    figure = figure_of("", height=140 + 24 * len(knobs) * len(importance))
    for (name, shares), colour in zip(importance.items(), (BLUE, GREEN, PURPLE, ORANGE), strict=False):
        at = {"x": [shares.get(knob, 0.0) for knob in knobs], "y": [escape(knob) for knob in knobs]}
        figure.add_trace(go.Bar(**at, name=importance_name(name), orientation="h", marker={"color": colour}))
    figure.update_xaxes(title=SHARE_TITLE)
    figure.update_layout(margin_l=10, showlegend=True)  # a single objective is named, too
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def effects_figure(why: Explanation) -> go.Figure:
    """Return a picture of the effect of each measured change, with its interval."""
    shown = [each for each in why.effects.each if each.gains]
    figure = figure_of("", height=150 + 22 * len(shown) * len(why.metrics))
    for metric, colour in zip(why.metrics, (BLUE, ORANGE, GREEN, PURPLE), strict=False):
        measured = [(each, each.gains[metric]) for each in shown if metric in each.gains]
        values = [gain.value for _, gain in measured]
        reach = _bars([(gain.value - gain.low, gain.high - gain.value) for _, gain in measured], colour)
        names = [escape(" ".join(each.knobs)) for each, _ in measured]
        marker = {"color": colour, "size": 9}
        style = {"name": metric_name(metric), "mode": "markers", "marker": marker, "orientation": "h"}
        figure.add_trace(go.Scatter(x=values, y=names, error_x=reach, **style))
    figure.add_vline(1.0, line={"color": GREY, "dash": "dash", "width": 1})
    figure.update_layout(margin_l=10, scattermode="group")
    log = is_wide(gain.value for each in shown for gain in each.gains.values())
    figure.update_xaxes(title="times better than<br>without the change", **(LOG_AXIS if log else {}))
    figure.update_yaxes(autorange="reversed", automargin=True)
    return figure


def _axes(figure: go.Figure, view: FrontChart) -> None:
    for update, log, text in (
        (figure.update_xaxes, view.x_log, view.x_title),
        (figure.update_yaxes, view.y_log, view.y_title),
    ):
        update(title=text, **(LOG_AXIS if log else {}))


def _line(view: FrontChart, colour: str) -> go.Scatter:
    at = {"x": [x for x, _ in view.line], "y": [y for _, y in view.line]}
    return go.Scatter(**at, mode="lines", line={"color": colour, "width": 2}, hoverinfo="skip", showlegend=False)


def _plain(points: Sequence[Point], name: str, marker: Mapping[str, object]) -> go.Scatter:
    x, y = coordinates(points)
    return go.Scatter(x=x, y=y, mode="markers", name=name, marker=dict(marker))


def _points(
    size: SizeResults,
    points: Sequence[Point],
    name: str,
    marker: Mapping[str, object],
    texts: Sequence[str] | None = None,
    *,
    reach: bool = False,
) -> go.Scatter:
    trace = _plain(points, name, marker)
    if reach:
        colour = str(marker["color"]) if "line" not in marker else ORANGE
        trace.update(error_x=_bars([each.x_reach for each in points], colour))
        trace.update(error_y=_bars([each.y_reach for each in points], colour))
    hovers = [_hover(size, point) for point in points]
    trace.update(hovertext=hovers, hovertemplate="%{hovertext}<extra></extra>")
    if texts:
        trace.update(mode="markers+text", text=list(texts), textposition="top right", textfont={"color": BLACK})
    return trace


def _bars(reaches: Sequence[tuple[float, float]], colour: str) -> dict[str, object]:
    """Return plotly's error bars that reach down and up from each point."""
    return {
        "type": "data",
        "symmetric": False,
        "array": [up for _, up in reaches],
        "arrayminus": [down for down, _ in reaches],
        "color": colour,
        "thickness": 1,
        "width": 3,
    }


def _hover(size: SizeResults, point: Point) -> str:
    trial, baseline = point.trial, size.baseline
    is_baseline = baseline is not None and trial.number == baseline.number
    metrics = size.shown_metrics(trial)
    objectives = tuple(objective.metric for objective in size.objectives)
    lines = [f"<b>{'baseline' if is_baseline else f'trial {trial.number}'}</b>"]
    lines += [
        f"{title(name)}: {number(metrics.get(name))}"
        for name in shown_metrics(metrics, first=objectives)[:_MOST_METRICS]
    ]
    raw = {} if is_baseline else size.raw_metrics(trial)
    measured = {name: number(raw[f"raw_{name}"]) for name in objectives if f"raw_{name}" in raw}
    lines += [f"raw_{name}: {text}" for name, text in measured.items() if text != number(metrics.get(name))]
    lines.append(escape(trial.guarantee))
    if trial.verdict:
        lines.append(f"bound by: {escape(trial.verdict)}")
    lines += [f"missed: {escape(name)}" for name, violation in trial.violations.items() if violation > 0]
    changed = changes(trial, baseline.values if baseline else {})
    lines += [escape(str(change)) for change in changed] or ["no property changed"]
    return "<br>".join(lines)
