"""Pictures: what they show, and that labels do not cover each other."""

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox

from tests.helpers.stored_studies import study
from tuner.present.report.chart_style import is_wide
from tuner.present.report.label_placement import place_labels
from tuner.present.report.study_pictures import draw_front, draw_fronts, draw_hypervolume, draw_importance
from tuner.present.report.study_points import TRIAL_AXIS, front_chart
from tuner.results.recommendations.by_goal import goals_by_trial, recommendations_by_goal
from tuner.results.recommendations.explanation import knob_importance

THREE = ["mb_per_s", "latency_p99_ms", "wire_bytes_per_value_byte"]


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("objectives", [["mb_per_s"], THREE[:2], THREE])
@pytest.mark.parametrize("trials", [0, 30])
def test_every_study_can_be_drawn(tmp_path: Path, objectives: list[str], trials: int) -> None:
    results = study(tmp_path / "study", trials=trials, facts={"objectives": objectives})
    size = results.sizes[0]
    draw_front(size, goals_by_trial(recommendations_by_goal(results, size)), tmp_path / "front.png", heading="front")
    draw_hypervolume(size, tmp_path / "hypervolume.png")
    assert is_png(tmp_path / "front.png")
    assert is_png(tmp_path / "hypervolume.png")


def test_knob_importance_and_two_studies_are_drawn(tmp_path: Path) -> None:
    size = study(tmp_path / "study").sizes[0]
    draw_importance(knob_importance(size), tmp_path / "importance.png", heading="knobs")
    draw_fronts({"1000": {"a": front_chart(size), "b": front_chart(size)}}, tmp_path / "fronts.png")
    assert is_png(tmp_path / "importance.png")
    assert is_png(tmp_path / "fronts.png")


def test_the_view_has_every_trial_of_the_search_once(tmp_path: Path) -> None:
    size = study(tmp_path, trials=60).sizes[0]
    view = front_chart(size)
    searched = {trial.number for trial in size.trials if trial.kind == "search"}
    assert {point.trial.number for point in (*view.feasible, *view.infeasible)} == searched
    assert {point.trial.number for point in view.front} == set(size.front)
    assert view.infeasible
    assert (view.x_metric, view.y_metric) == ("latency_p99_ms", "mb_per_s")
    assert view.x_log
    assert not view.y_log


def test_every_point_of_the_fronts_line_was_reached_by_a_trial(tmp_path: Path) -> None:
    view = front_chart(study(tmp_path).sizes[0])
    for x, y in view.line:
        assert any(point.x <= x and point.y >= y for point in view.front)


def test_one_objective_is_drawn_over_the_trial_number(tmp_path: Path) -> None:
    view = front_chart(study(tmp_path, facts={"objectives": ["latency_p99_ms"]}).sizes[0])
    assert view.x_metric == TRIAL_AXIS
    values = [point.y for point in view.front]
    assert values == sorted(values, reverse=True)
    assert view.line[-1][0] == max(point.x for point in view.points)


def test_a_wide_axis_is_logarithmic_only_where_it_can_be() -> None:
    assert is_wide([1, 100])
    assert not is_wide([1, 2])
    assert not is_wide([0, 100])
    assert not is_wide([])


def test_labels_do_not_cover_each_other() -> None:
    figure = Figure(figsize=(6, 4))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    points = [(0.5, 0.5, "throughput"), (0.5, 0.51, "latency"), (0.51, 0.5, "balanced"), (0.99, 0.99, "baseline")]
    axes.scatter([x for x, _, _ in points], [y for _, y, _ in points])
    figure.draw_without_rendering()
    place_labels(axes, points, line=[(0.0, 0.4), (1.0, 0.4)])
    drawn = [text for text in axes.texts if isinstance(text, Annotation)]
    boxes = [super(Annotation, text).get_window_extent() for text in drawn]
    assert len(boxes) == 4
    assert not any(Bbox.intersection(one, other) for one, other in combinations(boxes, 2))
