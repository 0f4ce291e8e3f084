"""The content of a study's charts, for any drawing library: points on two axes, the front's line, labels."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from objectives.metrics import OUTCOME_METRICS, Direction
from tuner.model.trial import State, Trial, TrialKind
from tuner.present.number_text import title
from tuner.present.recommendations.explanation_words import REACHING_FRONT
from tuner.present.report.chart_style import is_wide
from tuner.results.comparisons.comparison import StudyComparison
from tuner.results.recommendations.explanation import FRONT
from tuner.results.study_results import SizeResults, StudyResults

TRIAL_AXIS: Final = "trial"
BASELINE_ALONE: Final = "the baseline alone"
VOLUME_TITLE: Final = "hypervolume, as a multiple of the baseline's"
SHARE_TITLE: Final = "share of the importance"
RECOMMENDED_FOR: Final = "recommended for"
MISSED: Final = "missed a constraint"


@dataclass(frozen=True, slots=True)
class Point:
    """A trial as a point in the picture.

    Attributes:
        trial: The trial.
        x: Position on the horizontal axis.
        y: Position on the vertical axis.
        x_reach: How far the 95 % interval reaches to the left and to the right; 0 if unknown.
        y_reach: How far the 95 % interval reaches down and up; 0 if unknown.
    """

    trial: Trial
    x: float
    y: float
    x_reach: tuple[float, float] = (0.0, 0.0)
    y_reach: tuple[float, float] = (0.0, 0.0)


@dataclass(frozen=True, slots=True)
class FrontChart:
    """The content of a chart of the trials and the front of one record size.

    Attributes:
        x_metric: The metric on the horizontal axis, or `TRIAL_AXIS` if the study has only one objective.
        y_metric: The metric on the vertical axis.
        feasible: Trials that met every constraint, including those on the front.
        infeasible: Trials that missed a constraint.
        front: The points of the front from left to right. With one objective, they are the trials that improved the
            best value.
        is_curve: Whether the front can be drawn as a line on these axes: only with one or two objectives.
        baseline: The baseline at the mean of all its measurements; None if there is none yet.
    """

    x_metric: str
    y_metric: str
    feasible: tuple[Point, ...]
    infeasible: tuple[Point, ...]
    front: tuple[Point, ...]
    is_curve: bool
    baseline: Point | None

    @property
    def x_title(self) -> str:
        """Title of the horizontal axis."""
        return TRIAL_AXIS if self.x_metric == TRIAL_AXIS else f"{title(self.x_metric)}{_better(self.x_metric)}"

    @property
    def y_title(self) -> str:
        """Title of the vertical axis."""
        return f"{title(self.y_metric)}{_better(self.y_metric)}"

    @property
    def line(self) -> tuple[tuple[float, float], ...]:
        """The corners of the line that is drawn for the front; empty if no line is drawn.

        With one objective the line continues to the last trial. With three or more there is no line.
        """
        if not self.is_curve or not self.front:
            return ()
        step_after = self.x_metric == TRIAL_AXIS or OUTCOME_METRICS[self.x_metric].direction is Direction.MINIMIZE
        corners = [(self.front[0].x, self.front[0].y)]
        for before, point in pairwise(self.front):
            # The line shows only what was measured. Between two points, its y is that of the left point if less x is
            # better, and otherwise that of the right point.
            corner = (point.x, before.y) if step_after else (before.x, point.y)
            corners += [corner, (point.x, point.y)]
        if self.x_metric == TRIAL_AXIS:
            corners.append((max(point.x for point in self.points), corners[-1][1]))
        return tuple(corners)

    @property
    def x_log(self) -> bool:
        """Whether the horizontal axis is logarithmic."""
        return self.x_metric != TRIAL_AXIS and is_wide(point.x for point in self.points)

    @property
    def y_log(self) -> bool:
        """Whether the vertical axis is logarithmic."""
        return is_wide(point.y for point in self.points)

    @property
    def front_name(self) -> str:
        """The name of the front in the legend."""
        return "best so far" if self.x_metric == TRIAL_AXIS else "front"

    @property
    def points(self) -> tuple[Point, ...]:
        """All points of the picture."""
        return (*self.feasible, *self.infeasible, *((self.baseline,) if self.baseline else ()))


def coordinates(points: Iterable[Point]) -> tuple[list[float], list[float]]:
    """Return the x and the y positions of some points."""
    known = list(points)
    return [point.x for point in known], [point.y for point in known]


def hypervolume_steps(size: SizeResults) -> tuple[list[int], list[float]]:
    """Return the trial numbers at which the hypervolume changed, and the hypervolume after each of them.

    The last value is repeated at the last trial. Both lists are empty if there is no hypervolume yet.
    """
    if not size.hypervolume:
        return [], []
    last = max(trial.number for trial in size.trials)
    steps = [*size.hypervolume, (last, size.hypervolume[-1][1])]
    return [number for number, _ in steps], [volume for _, volume in steps]


def importance_name(name: str) -> str:
    """Return a key of `knob_importance` in words: an objective, or reaching the front."""
    return REACHING_FRONT if name == FRONT else title(name)


def front_chart(size: SizeResults) -> FrontChart:
    """Return the content of the chart of a record size: its axes, points, front and baseline.

    The points are the trials of the search. Burn-in runs and confirmation trials are not shown.
    """
    x_metric, y_metric = _axes(size)
    shown = [trial for trial in size.trials if trial.kind is TrialKind.SEARCH and trial.state is State.COMPLETE]
    points = [point for trial in shown if (point := _point(size, trial, size.metrics_of(trial), x_metric, y_metric))]
    baseline = _point(size, size.baseline, size.baseline_means, x_metric, y_metric) if size.baseline else None
    feasible = tuple(point for point in points if point.trial.feasible)
    return FrontChart(
        x_metric=x_metric,
        y_metric=y_metric,
        feasible=feasible,
        infeasible=tuple(point for point in points if not point.trial.feasible),
        front=_front(size, feasible, baseline, x_metric),
        is_curve=len(size.objectives) <= 2,
        baseline=baseline,
    )


def front_charts(
    studies: tuple[StudyResults, StudyResults], comparison: StudyComparison
) -> Mapping[str, Mapping[str, FrontChart]]:
    """Return the charts of two studies, by record size and then by the study's name.

    Only record sizes that both studies searched are included.
    """
    views: dict[str, dict[str, FrontChart]] = {}
    for size in comparison.sizes:
        for name, study in zip(comparison.names, studies, strict=True):
            results = study.size(size.record_bytes)
            if results is not None:
                views.setdefault(size.record_bytes, {})[name] = front_chart(results)
    return views


def _axes(size: SizeResults) -> tuple[str, str]:
    """Return the metrics for the two axes: throughput upwards and latency to the right, if these are the objectives."""
    metrics = [objective.metric for objective in size.objectives]
    if len(metrics) == 1:
        return TRIAL_AXIS, metrics[0]
    upwards = [name for name in metrics if OUTCOME_METRICS[name].direction is Direction.MAXIMIZE]
    y_metric = upwards[0] if upwards else metrics[0]
    return next(name for name in metrics if name != y_metric), y_metric


def _point(size: SizeResults, trial: Trial, metrics: Mapping[str, float], x_metric: str, y_metric: str) -> Point | None:
    x = float(trial.number) if x_metric == TRIAL_AXIS else metrics.get(x_metric)
    y = metrics.get(y_metric)
    if x is None or y is None:
        return None
    return Point(trial, x, y, _reach(size, trial, x_metric, x), _reach(size, trial, y_metric, y))


def _reach(size: SizeResults, trial: Trial, metric: str, value: float) -> tuple[float, float]:
    found = size.estimates.by_config.get(trial.fingerprint, {}).get(metric)
    return (0.0, 0.0) if found is None else (max(0.0, value - found.low), max(0.0, found.high - value))


def _front(size: SizeResults, feasible: tuple[Point, ...], baseline: Point | None, x_metric: str) -> tuple[Point, ...]:
    # On the front the baseline is represented by its first trial; the picture shows it at its median.
    points = [*feasible, *([baseline] if baseline else [])]
    if x_metric != TRIAL_AXIS:
        members = set(size.front)
        return tuple(sorted((p for p in points if p.trial.number in members), key=lambda p: (p.x, p.y)))
    objective = size.objectives[0]
    best: list[Point] = []
    for point in sorted(points, key=lambda point: point.x):
        if not best or objective.gain(point.y, best[-1].y) > 1.0:
            best.append(point)
    return tuple(best)


def _better(metric: str) -> str:
    return " (more is better)" if OUTCOME_METRICS[metric].direction is Direction.MAXIMIZE else " (less is better)"
