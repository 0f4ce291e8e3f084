"""Interactive charts of an experiment: a metric of its rows beside the paper's values, and a load over time."""

from html import escape
from typing import Any

import plotly.graph_objects as go

from objectives.row_metrics import ROW_METRICS
from tuner.present.report.chart_style import FROM_ZERO_RATIO, GREY, is_wide
from tuner.present.report.experiment_series import (
    COLOURS,
    OVER_TIME,
    SINCE_LOSS,
    Series,
    groups,
    series_of,
)
from tuner.present.report.interactive import LOG_AXIS, figure_of
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.row_results import RowResults


def charts(results: ExperimentResults, metric: str) -> list[go.Figure]:
    """Return the charts of a metric: lines over a setting with three numbers or more, and points for other rows."""
    parts = groups(results.rows)
    return [_chart(rows, metric, along) for along, rows in parts if any(row.mean(metric) for row in rows)]


def _chart(rows: tuple[RowResults, ...], metric: str, along: str) -> go.Figure:
    title, series = ROW_METRICS[metric].title, series_of(rows, metric, along)
    count = sum(len(each.measured) for each in series)
    figure = figure_of(title, height=380 if along else 140 + 30 * count)
    for each, colour in zip(series, COLOURS * len(series), strict=False):
        _add(figure, each, along, colour)
    of_setting, of_metric = (
        (figure.update_xaxes, figure.update_yaxes) if along else (figure.update_yaxes, figure.update_xaxes)
    )
    if along:
        numbers = [at for each in series for row, _ in each.measured if (at := row.row.number(along)) is not None]
        of_setting(title_text=along, **(LOG_AXIS if is_wide(numbers, FROM_ZERO_RATIO) else {}))
    else:
        of_setting(autorange="reversed", automargin=True)
    shown = [mean.value for each in series for _, mean in each.measured]
    shown += [value for each in series for _, value in each.papers]
    of_metric(title_text=title, **(LOG_AXIS if is_wide(shown, FROM_ZERO_RATIO) else {"rangemode": "tozero"}))
    return figure


def over_time(results: ExperimentResults) -> list[go.Figure]:
    """Return charts of throughput and latency before and after a broker was killed; none if no row kills one.

    Each measurement is a line, and those of a row have the same colour.
    """
    rows = [row for row in results.rows if row.around_loss]
    figures = []
    for title, read, log in OVER_TIME if rows else ():
        figure = figure_of(title, height=380)
        for row, colour in zip(rows, COLOURS * len(rows), strict=False):
            for number, moments in enumerate(row.around_loss):
                figure.add_trace(
                    go.Scatter(
                        x=[each.at_s for each in moments],
                        y=[read(each) for each in moments],
                        mode="lines",
                        line={"color": colour},
                        name=escape(row.row.name),
                        legendgroup=row.row.name,
                        showlegend=number == 0,
                    )
                )
        figure.update_xaxes(title_text=SINCE_LOSS)
        figure.update_yaxes(title_text=title, **(LOG_AXIS if log else {"rangemode": "tozero"}))
        figure.add_vline(x=0, line={"color": GREY, "dash": "dash"})
        figures.append(figure)
    return figures


def _add(figure: go.Figure, series: Series, along: str, colour: str) -> None:
    reach = {
        "array": [high - mean.value for (_, high), (_, mean) in zip(series.intervals, series.measured, strict=True)],
        "arrayminus": [mean.value - low for (low, _), (_, mean) in zip(series.intervals, series.measured, strict=True)],
        "color": colour,
    }
    mode, name = "lines+markers" if along else "markers", escape(series.name)
    figure.add_trace(
        go.Scatter(
            **_points([row for row, _ in series.measured], [mean.value for _, mean in series.measured], along),
            **{"error_y" if along else "error_x": reach},
            mode=mode,
            name=name or "here",
            marker={"color": colour, "size": 9},
            line={"color": colour},
        )
    )
    if series.papers:
        figure.add_trace(
            go.Scatter(
                **_points([row for row, _ in series.papers], [value for _, value in series.papers], along),
                mode=mode,
                name=f"{name}, paper" if name else "paper",
                marker={"color": colour, "size": 11, "symbol": "diamond-open"},
                line={"color": colour, "dash": "dot"},
            )
        )


def _points(rows: list[RowResults], values: list[float], along: str) -> dict[str, list[Any]]:
    """Return coordinates: values over a setting, or if there is none, rows one below another."""
    if along:
        return {"x": [row.row.number(along) for row in rows], "y": values}
    return {"x": values, "y": [escape(row.row.name) for row in rows]}
