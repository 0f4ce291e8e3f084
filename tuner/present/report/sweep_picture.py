"""Draws the values that `tuner predict --sweep` computed into a file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import numpy as np
from matplotlib.axes import Axes

from tuner.prediction.intervals import Interval
from tuner.prediction.predicted_metrics import LATENCIES
from tuner.prediction.predicting import Prediction
from tuner.present.number_text import title
from tuner.present.report.canvas import canvas, log_scale, plain_ticks, save, style
from tuner.present.report.chart_style import BLUE, FROM_ZERO_RATIO, ORANGE

_MOST_MARKS: Final = 12
"""How many values of a sweep are marked, each at its place."""
_LETTER: Final = 0.014
"""The width of a digit with some space, as a share of the width of the axis."""


def draw_sweep(setting: str, predictions: Mapping[str, Prediction | str], path: Path, *, heading: str = "") -> None:
    """Draw the predictions for several values of a setting: the throughput, and below it the latencies at the rate.

    Values without a prediction are left out.
    """
    predicted = {value: each for value, each in predictions.items() if isinstance(each, Prediction)}
    charts = [("mb_per_s",)] + [LATENCIES] * any(LATENCIES[0] in each.values for each in predicted.values())
    figure = canvas(height=3.0 * len(charts))
    for index, metrics in enumerate(charts):
        axes = figure.add_subplot(len(charts), 1, index + 1)
        style(axes, heading if index == 0 else "")
        for metric, colour in zip(metrics, (BLUE, ORANGE), strict=False):
            intervals = {value: each.values[metric] for value, each in predicted.items() if metric in each.values}
            _draw_intervals(axes, intervals, colour, title(metric))
        if len(metrics) > 1:
            log_scale(axes, "y")
        else:
            axes.set_ylim(bottom=0)
        _sweep_axis(axes, list(predicted))
        axes.set_xlabel("rate, records/s" if setting == "rate" else setting)
        axes.legend(loc="best", frameon=False)
    save(figure, path)


def _draw_intervals(axes: Axes, intervals: Mapping[str, Interval], colour: str, label: str) -> None:
    """Draw values with their intervals: over numbers a line in a band, and over words points with bars."""
    numbers = all(map(_is_number, intervals))
    swept = sorted(intervals, key=float) if numbers else list(intervals)
    values = [intervals[each].value for each in swept]
    lows, highs = [intervals[each].low for each in swept], [intervals[each].high for each in swept]
    if not numbers:
        bars = [np.subtract(values, lows), np.subtract(highs, values)]
        axes.errorbar(swept, values, yerr=bars, fmt="o", color=colour, capsize=4, label=label)
        return
    at = [float(each) for each in swept]
    axes.plot(at, values, "o-" if len(intervals) <= _MOST_MARKS else "-", color=colour, ms=3, label=label)
    axes.fill_between(at, lows, highs, color=colour, alpha=0.15, lw=0)


def _sweep_axis(axes: Axes, swept: Sequence[str]) -> None:
    """Put the values of a sweep on the axis. If they are far apart, the axis is logarithmic, and linear from 0 to 1."""
    if not swept or not all(map(_is_number, swept)):
        return
    at = [float(value) for value in swept]
    if max(at) > FROM_ZERO_RATIO * max(1.0, min(at)):
        axes.set_xscale("symlog", linthresh=1.0)
        plain_ticks(axes.xaxis)
        axes.set_xlim(min(at), max(at))
    if len(at) <= _MOST_MARKS:
        axes.set_xticks(at, _without_overlaps(axes, dict(zip(at, swept, strict=True))))
        axes.set_xticks([], minor=True)


def _without_overlaps(axes: Axes, labels: Mapping[float, str]) -> list[str]:
    """Return the labels of places on the axis, empty where a label would touch the one to the left."""
    shown, end = {}, -1.0
    axes.get_xlim()  # matplotlib computes the limits when they are asked for
    for place in sorted(labels):
        x, _ = axes.transAxes.inverted().transform(axes.transData.transform((place, 1.0)))
        half = len(labels[place]) * _LETTER / 2
        shown[place] = labels[place] if x - half > end else ""
        end = x + half if shown[place] else end
    return [shown[place] for place in labels]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
