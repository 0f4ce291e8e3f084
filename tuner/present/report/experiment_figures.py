"""Charts of an experiment: a metric of its rows with confidence intervals, beside the paper's values."""

from collections import defaultdict
from html import escape

import plotly.graph_objects as go

from objectives.row_metrics import ROW_METRICS
from tuner.model.experiment import RowValue, setting_text
from tuner.present.report.interactive import LOG_AXIS, figure_of
from tuner.present.report.view import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from tuner.results.experiment_results import ExperimentResults, RowResults

_COLOURS = (BLUE, ORANGE, GREEN, PURPLE, BLACK, GREY)
_FEWEST_ON_LINE = 3
_WIDE_RATIO = 20.0


def chart(results: ExperimentResults, metric: str) -> go.Figure:
    """Return a chart of a metric. It has a line over a setting with three numbers or more, or else a point per row.

    Args:
        results: The results of the experiment.
        metric: The metric.
    """
    figure = figure_of(ROW_METRICS[metric].title, height=380)
    along = _along(results.rows)
    series: dict[str, list[RowResults]] = defaultdict(list)
    for row in results.rows:
        series[_rest(row, along)].append(row)
    for (name, rows), colour in zip(series.items(), _COLOURS * len(series), strict=False):
        _add(figure, metric, name, rows, along, colour)
    if along:
        values = [float(row.row.varied[along]) for row in results.rows if along in row.row.varied]
        wide = min(values) > 0 and max(values) / min(values) >= _WIDE_RATIO
        figure.update_xaxes(title_text=along, **(LOG_AXIS if wide else {}))
    shown = [mean.value for row in results.rows if (mean := row.mean(metric)) is not None]
    shown += [value for row in results.rows if (value := row.in_paper(metric)) is not None]
    if shown and min(shown) > 0 and max(shown) / min(shown) >= _WIDE_RATIO:
        figure.update_yaxes(**LOG_AXIS)
    else:
        figure.update_yaxes(rangemode="tozero")
    figure.update_yaxes(title_text=ROW_METRICS[metric].title)
    return figure


def _along(rows: tuple[RowResults, ...]) -> str:
    """Return the setting with the most different numbers, over which a line is drawn; empty if none has enough."""
    numbers: dict[str, set[RowValue]] = defaultdict(set)
    for row in rows:
        for name, value in row.row.varied.items():
            if isinstance(value, int | float) and not isinstance(value, bool):
                numbers[name].add(value)
    found = max(numbers, key=lambda name: len(numbers[name]), default="")
    return found if found and len(numbers[found]) >= _FEWEST_ON_LINE else ""


def _rest(row: RowResults, along: str) -> str:
    """Return the settings of a row besides the one that the line is drawn over; empty if there are none."""
    if not along:
        return ""
    return " ".join(
        setting_text(value) if name == "row" else f"{name}={setting_text(value)}"
        for name, value in row.row.varied.items()
        if name != along
    )


def _add(figure: go.Figure, metric: str, name: str, rows: list[RowResults], along: str, colour: str) -> None:
    measured = [(row, mean) for row in rows if (mean := row.mean(metric)) is not None]
    places = [row.row.varied.get(along, "") if along else escape(row.row.name) for row, _ in measured]
    figure.add_trace(
        go.Scatter(
            x=places,
            y=[mean.value for _, mean in measured],
            error_y={
                "array": [mean.high - mean.value for _, mean in measured],
                "arrayminus": [mean.value - mean.low for _, mean in measured],
                "color": colour,
            },
            mode="lines+markers" if along else "markers",
            name=escape(name) or "here",
            marker={"color": colour, "size": 9},
            line={"color": colour},
        )
    )
    paper = [(row, value) for row in rows if (value := row.in_paper(metric)) is not None]
    if paper:
        figure.add_trace(
            go.Scatter(
                x=[row.row.varied.get(along, "") if along else escape(row.row.name) for row, _ in paper],
                y=[value for _, value in paper],
                mode="lines+markers" if along else "markers",
                name=f"{escape(name)}, paper" if name else "paper",
                marker={"color": colour, "size": 11, "symbol": "diamond-open"},
                line={"color": colour, "dash": "dot"},
            )
        )
