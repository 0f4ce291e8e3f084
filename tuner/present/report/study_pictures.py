"""Pictures of a study, as files."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from search_spaces.properties.catalogue import shown_value
from tuner.present.report.canvas import canvas, log_scale, save, style
from tuner.present.report.chart_style import BLACK, BLUE, GREEN, GREY, ORANGE, PURPLE
from tuner.present.report.label_placement import place_labels
from tuner.present.report.study_points import (
    BASELINE_ALONE,
    MISSED,
    RECOMMENDED_FOR,
    SHARE_TITLE,
    TRIAL_AXIS,
    VOLUME_TITLE,
    FrontChart,
    coordinates,
    front_chart,
    hypervolume_steps,
    importance_name,
)
from tuner.present.trial_tables.grid_view import cell_text, grid_heading
from tuner.results.grid_tables import GridTable
from tuner.results.study_results import SizeResults


def draw_front(size: SizeResults, labels: Mapping[int, str], path: Path, *, heading: str) -> None:
    """Draw all trials, and the front as a step line.

    For a study with one objective, the line is the best value so far.

    Args:
        size: The results of one record size.
        labels: By trial number, the goals that the trial is recommended for.
        path: The file to write; its suffix decides the format.
        heading: The title of the picture.
    """
    view = front_chart(size)
    figure, axes = _figure(heading)
    _axes_of(view, axes)
    _scatter(view, axes)
    named = [(point.x, point.y, labels[point.trial.number]) for point in view.feasible if point.trial.number in labels]
    if named:
        at = ([x for x, _, _ in named], [y for _, y, _ in named])
        axes.scatter(*at, s=150, facecolors="none", edgecolors=ORANGE, lw=2, zorder=6, label=RECOMMENDED_FOR)
    if view.baseline is not None:
        named.append((view.baseline.x, view.baseline.y, "baseline"))
    if view.points:
        figure.legend(loc="outside lower center", ncols=5, frameon=False)
    else:
        axes.text(0.5, 0.5, "nothing has been measured yet", transform=axes.transAxes, ha="center", color=GREY)
    figure.draw_without_rendering()
    place_labels(axes, named, line=view.line)
    save(figure, path)


def draw_hypervolume(size: SizeResults, path: Path) -> None:
    """Draw how the hypervolume grew with each trial, which shows whether a longer study is likely to find more."""
    figure, axes = _figure(f"{size.record_bytes} B records: hypervolume of the front", height=3.6)
    numbers, volumes = hypervolume_steps(size)
    if numbers:
        axes.step(numbers, volumes, where="post", color=BLUE, lw=2)
        axes.plot(numbers[:-1], volumes[:-1], "o", color=BLUE, ms=4)
        axes.set_ylim(bottom=0)
    axes.axhline(1.0, color=GREY, ls="--", lw=1)
    axes.annotate(BASELINE_ALONE, (1.0, 1.0), xycoords=("axes fraction", "data"), ha="right", va="bottom", color=GREY)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel(TRIAL_AXIS)
    axes.set_ylabel(VOLUME_TITLE)
    save(figure, path)


def draw_importance(importance: Mapping[str, Mapping[str, float]], path: Path, *, heading: str) -> None:
    """Draw a bar for the importance of each knob, for each objective and for reaching the front.

    Args:
        importance: By objective and knob, how much the knob mattered, as `knob_importance` returns it; not empty.
        path: The file to write; its suffix decides the format.
        heading: The title of the picture.
    """
    all_knobs = {knob for shares in importance.values() for knob in shares}
    knobs = sorted(all_knobs, key=lambda knob: -sum(shares.get(knob, 0.0) for shares in importance.values()))
    knobs.reverse()  # the first bar is drawn at the bottom
    figure, axes = _figure(heading, height=1.9 + 0.28 * len(knobs) * len(importance))
    thickness = 0.8 / len(importance)
    for index, (name, colour) in enumerate(zip(importance, (BLUE, GREEN, PURPLE, ORANGE), strict=False)):
        offsets = [row + 0.4 - thickness * (index + 0.5) for row in range(len(knobs))]
        shares = [importance[name].get(knob, 0.0) for knob in knobs]
        axes.barh(offsets, shares, height=thickness * 0.9, color=colour, label=importance_name(name))
    axes.set_yticks(range(len(knobs)), knobs)
    axes.set_xlabel(SHARE_TITLE)
    axes.set_xlim(left=0)
    axes.grid(visible=False, axis="y")
    figure.legend(loc="outside lower center", ncols=4, frameon=False)
    save(figure, path)


def draw_fronts(views: Mapping[str, Mapping[str, FrontChart]], path: Path) -> None:
    """Draw several studies on the same axes, one picture per record size."""
    figure = canvas(height=4.8 * len(views))
    for index, (record_bytes, studies) in enumerate(views.items()):
        axes = figure.add_subplot(len(views), 1, index + 1)
        style(axes, f"{record_bytes} B records")
        for (name, view), colour in zip(studies.items(), (BLUE, ORANGE, GREEN, PURPLE), strict=False):
            _axes_of(view, axes)
            axes.scatter(*coordinates(view.feasible), s=14, facecolors="none", edgecolors=colour, lw=0.8)
            _step(view, axes, colour, f"{name}: front")
            if view.baseline is not None:
                at = coordinates([view.baseline])
                axes.scatter(*at, s=90, marker="D", color=colour, edgecolors=BLACK, label=f"{name}: baseline", zorder=6)
        if any(view.points for view in studies.values()):
            axes.legend(loc="best", fontsize=8)
    save(figure, path)


def draw_grid(tables: Sequence[GridTable], path: Path, *, heading: str) -> None:
    """Draw the tables of a pair of knobs as heat maps, one below the other."""
    figure = canvas(height=len(tables) * (1.4 + 0.4 * len(tables[0].rows)))
    figure.suptitle(heading, fontsize=11, fontweight="bold", x=0.01, ha="left")
    for index, table in enumerate(tables):
        axes = figure.add_subplot(len(tables), 1, index + 1)
        cells = [[table.cells.get((row, column)) for column in table.columns] for row in table.rows]
        good = [[table.goodness(cell) if cell else None for cell in row] for row in cells]
        shades = np.array([[np.nan if share is None else share for share in row] for row in good])
        axes.imshow(shades, cmap="Greens", vmin=-0.1, vmax=1.6, aspect="auto")
        for place, cell in np.ndenumerate(np.array(cells, dtype=object)):
            axes.text(place[1], place[0], cell_text(cell), ha="center", va="center", color=BLACK, fontsize=8)
        axes.set_title(grid_heading(table), loc="left", fontsize=9)
        axes.set_xticks(range(len(table.columns)), [shown_value(table.column_knob, each) for each in table.columns])
        axes.set_yticks(range(len(table.rows)), [shown_value(table.row_knob, each) for each in table.rows])
        axes.spines[:].set_visible(False)
        axes.tick_params(length=0)
    save(figure, path)


def _figure(heading: str, height: float = 5.2) -> tuple[Figure, Axes]:
    figure = canvas(height)
    axes = figure.add_subplot()
    style(axes, heading)
    return figure, axes


def _axes_of(view: FrontChart, axes: Axes) -> None:
    axes.set_xlabel(view.x_title)
    axes.set_ylabel(view.y_title)
    if view.x_log:
        log_scale(axes, "x")
    if view.y_log:
        log_scale(axes, "y")
    if view.x_metric == TRIAL_AXIS:
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _scatter(view: FrontChart, axes: Axes) -> None:
    if view.feasible:
        axes.scatter(*coordinates(view.feasible), s=22, color=GREY, lw=0, label="trial")
    if view.infeasible:
        axes.scatter(*coordinates(view.infeasible), s=34, marker="x", color=PURPLE, lw=1.4, label=MISSED)
    _step(view, axes, BLUE, view.front_name)
    if view.baseline is not None:
        axes.scatter([view.baseline.x], [view.baseline.y], s=90, marker="D", color=BLACK, zorder=7, label="baseline")


def _step(view: FrontChart, axes: Axes, colour: str, label: str) -> None:
    if not view.front:
        return
    at = coordinates(view.front)
    if view.line:
        axes.plot([x for x, _ in view.line], [y for _, y in view.line], color=colour, lw=1.8, zorder=4)
    axes.scatter(*at, s=42, color=colour, zorder=5, label=label)
    axes.errorbar(
        *at,
        xerr=[[p.x_reach[0] for p in view.front], [p.x_reach[1] for p in view.front]],
        yerr=[[p.y_reach[0] for p in view.front], [p.y_reach[1] for p in view.front]],
        fmt="none",
        ecolor=colour,
        alpha=0.5,
        lw=1.2,
        zorder=4,
    )
