"""Pictures of an experiment, as files: its metrics beside the paper's values, and loads over time."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from objectives.row_metrics import ROW_METRICS
from tuner.present.report.canvas import canvas, log_scale, plain_ticks, save, style
from tuner.present.report.chart_style import FROM_ZERO_RATIO, GREY, is_wide
from tuner.present.report.experiment_series import (
    COLOURS,
    OVER_TIME,
    SINCE_LOSS,
    Series,
    groups,
    series_of,
)
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.row_results import RowResults

_LINES_HEIGHT: Final = 3.6
_MOST_IN_LEGEND: Final = 12
_MOST_TICKS: Final = 8
_LONG_NAME: Final = 30


def draw_experiment(results: ExperimentResults, path: Path, *, most: int | None = None) -> None:
    """Draw the metrics of an experiment's rows one below another, each beside the paper's values.

    If rows kill a broker, throughput and latency over time come first.

    Args:
        results: The results of the experiment.
        path: The file to write; its suffix decides the format.
        most: The number of metrics to draw; None draws all that the experiment's tables show.
    """
    metrics = [name for name in results.spec.metrics if any(row.mean(name) for row in results.rows)][:most]
    lost = [row for row in results.rows if row.around_loss]
    parts = [(name, along, rows) for name in metrics for along, rows in groups(results.rows)]
    parts = [(name, along, rows) for name, along, rows in parts if any(row.mean(name) for row in rows)]
    heights = [_LINES_HEIGHT] * (len(OVER_TIME) if lost else 0)
    heights += [
        _LINES_HEIGHT if along else 1.0 + 0.3 * sum(row.mean(name) is not None for row in rows)
        for name, along, rows in parts
    ]
    figure = canvas(height=sum(heights) or _LINES_HEIGHT)
    places = iter(figure.subplots(len(heights) or 1, 1, squeeze=False, height_ratios=heights or None)[:, 0])
    for title, read, log in OVER_TIME if lost else ():
        axes = next(places)
        style(axes, title)
        for row, colour in zip(lost, COLOURS * len(lost), strict=False):
            for number, moments in enumerate(row.around_loss):
                at, values = [each.at_s for each in moments], [read(each) for each in moments]
                axes.plot(at, values, color=colour, lw=1.4, label=row.row.name if number == 0 else None)
        axes.axvline(0, color=GREY, ls="--", lw=1)
        axes.set_xlabel(SINCE_LOSS)
        _scale(axes, "y", far_apart=log)
        _legend(figure, axes)
    for metric, along, rows in parts:
        axes = next(places)
        style(axes, ROW_METRICS[metric].title)
        series = series_of(rows, metric, along)
        for line, colour in zip(series, COLOURS * len(series), strict=False):
            _draw(axes, line, along, colour)
        shown = [mean.value for line in series for _, mean in line.measured]
        shown += [value for line in series for _, value in line.papers]
        _scale(axes, "y" if along else "x", far_apart=is_wide(shown, FROM_ZERO_RATIO))
        if along:
            values = sorted({row.row.number(along) or 0.0 for row in rows})
            _scale(axes, "x", far_apart=is_wide(values, FROM_ZERO_RATIO))
            if len(values) <= _MOST_TICKS:
                axes.set_xticks(values)
            axes.set_xlabel(along)
        else:
            axes.invert_yaxis()
        if any(line.name or line.papers for line in series) and len(series) <= _MOST_IN_LEGEND:
            _legend(figure, axes)
    save(figure, path)


def _legend(figure: Figure, axes: Axes) -> None:
    """Put the legend below the axis, where it hides no data."""
    height = figure.get_size_inches()[1] * axes.get_position().height  # approximate, because the layout comes later
    names = axes.get_legend_handles_labels()[1]
    columns = 1 if max(map(len, names)) > _LONG_NAME else 2
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.55 / height), ncols=columns, frameon=False, fontsize=8)


def _draw(axes: Axes, series: Series, along: str, colour: str) -> None:
    values = [mean.value for _, mean in series.measured]
    reach = [
        [value - low for value, (low, _) in zip(values, series.intervals, strict=True)],
        [high - value for value, (_, high) in zip(values, series.intervals, strict=True)],
    ]
    look: dict[str, Any] = {"color": colour, "capsize": 3, "ms": 5, "label": series.name or "here"}
    paper: dict[str, Any] = {"mfc": "none", "color": colour, "label": f"{series.name} paper".strip()}
    paper_values = [value for _, value in series.papers]
    if along:
        axes.errorbar(_positions(series.measured, along), values, yerr=reach, fmt="o-", **look)
        if paper_values:
            axes.plot(_positions(series.papers, along), paper_values, "D:", **paper)
    else:
        axes.errorbar(values, [row.row.name for row, _ in series.measured], xerr=reach, fmt="o", **look)
        if paper_values:
            axes.plot(paper_values, [row.row.name for row, _ in series.papers], "D", **paper)


def _positions(rows: Sequence[tuple[RowResults, object]], along: str) -> list[float]:
    """Return the positions of rows on the axis of a setting that all of them have."""
    return [row.row.number(along) or 0.0 for row, _ in rows]


def _scale(axes: Axes, way: str, *, far_apart: bool) -> None:
    """Show values that are far apart on a logarithmic axis, and others on an axis that begins at 0."""
    if far_apart:
        log_scale(axes, way)
    elif way == "x":
        axes.set_xlim(left=min(0, axes.get_xlim()[0]))
        plain_ticks(axes.xaxis)
    else:
        axes.set_ylim(bottom=0)
        plain_ticks(axes.yaxis)
