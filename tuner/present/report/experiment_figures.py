"""Charts of an experiment: a metric of its rows with confidence intervals, beside the paper's values."""

from collections import defaultdict
from html import escape
from typing import Any

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
    """Return a chart of a metric: lines over a setting with three numbers or more, or else a point for each row.

    Args:
        results: The results of the experiment.
        metric: The metric.
    """
    measured = [row for row in results.rows if row.mean(metric) is not None]
    along, title = _along(results.rows), ROW_METRICS[metric].title
    figure = figure_of(title, height=380 if along else 140 + 30 * len(measured))
    series: dict[str, list[RowResults]] = defaultdict(list)
    for row in measured:
        series[_rest(row, along)].append(row)
    for (name, rows), colour in zip(series.items(), _COLOURS * len(series), strict=False):
        _add(figure, metric, name, rows, along, colour)
    of_setting, of_metric = (
        (figure.update_xaxes, figure.update_yaxes) if along else (figure.update_yaxes, figure.update_xaxes)
    )
    if along:
        of_setting(
            title_text=along, **_scale([float(row.row.varied[along]) for row in measured if along in row.row.varied])
        )
    else:
        of_setting(autorange="reversed", automargin=True)
    shown = [mean.value for row in measured if (mean := row.mean(metric)) is not None]
    shown += [value for row in measured if (value := row.in_paper(metric)) is not None]
    of_metric(title_text=title, **(_scale(shown) or {"rangemode": "tozero"}))
    return figure


def _scale(values: list[float]) -> dict[str, str]:
    """Return the settings of a logarithmic axis if the values are far apart, and else none."""
    return dict(LOG_AXIS) if values and min(values) > 0 and max(values) / min(values) >= _WIDE_RATIO else {}


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
    # An interval that says nothing would hide all others.
    ends = [(mean.value, mean.value) if mean.says_little else (mean.low, mean.high) for _, mean in measured]
    reach = {
        "array": [high - mean.value for (_, high), (_, mean) in zip(ends, measured, strict=True)],
        "arrayminus": [mean.value - low for (low, _), (_, mean) in zip(ends, measured, strict=True)],
        "color": colour,
    }
    mode = "lines+markers" if along else "markers"
    figure.add_trace(
        go.Scatter(
            **_points([_place(row, along) for row, _ in measured], [mean.value for _, mean in measured], along),
            **{"error_y" if along else "error_x": reach},
            mode=mode,
            name=escape(name) or "here",
            marker={"color": colour, "size": 9},
            line={"color": colour},
        )
    )
    paper = [(row, value) for row in rows if (value := row.in_paper(metric)) is not None]
    if paper:
        figure.add_trace(
            go.Scatter(
                **_points([_place(row, along) for row, _ in paper], [value for _, value in paper], along),
                mode=mode,
                name=f"{escape(name)}, paper" if name else "paper",
                marker={"color": colour, "size": 11, "symbol": "diamond-open"},
                line={"color": colour, "dash": "dot"},
            )
        )


def _place(row: RowResults, along: str) -> RowValue:
    return row.row.varied.get(along, "") if along else escape(row.row.name)


def _points(places: list[RowValue], values: list[float], along: str) -> dict[str, list[Any]]:
    """Return coordinates: values over a setting, or if there is none, rows one below another."""
    return {"x": places, "y": values} if along else {"x": values, "y": places}
