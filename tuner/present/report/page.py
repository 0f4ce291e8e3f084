"""HTML pages of a study. Each page is one file that needs no network, so that it can be mailed or archived.

The templates escape every text that comes from outside.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from objectives.bottlenecks import limited_by
from objectives.ratios import short
from runners.reporting import counted, duration
from search_spaces.files.properties_file import format_properties
from tuner.model.goals import goals_of
from tuner.present import number_text
from tuner.present.changes import changes
from tuner.present.comparisons import comparison_view
from tuner.present.experiments import experiment_view
from tuner.present.export.pasted import pasted_values
from tuner.present.recommendations import explanation_words, recommendation_words
from tuner.present.report.assets import SCRIPT, STYLE
from tuner.present.report.experiment_figures import charts, over_time
from tuner.present.report.interactive import figure_html, inlined_plotly
from tuner.present.report.study_figures import (
    drift_figure,
    effects_figure,
    front_figure,
    fronts_figure,
    hypervolume_figure,
    importance_figure,
)
from tuner.present.report.study_points import ReportView
from tuner.present.report.study_words import compared_metrics, drift_text, kept_lines, raw_metrics, trial_metrics
from tuner.present.trial_tables import front_table, grid_view
from tuner.results.comparisons.comparison import StudyComparison
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.grid_tables import grid_tables
from tuner.results.racing_savings import RacingSavings
from tuner.results.recommendations.by_goal import labels, recommendations_by_goal
from tuner.results.recommendations.explanation import explain, knob_importance
from tuner.results.recommendations.recommend import preferred
from tuner.results.recommendations.unmet_constraints import NONE_KEEPS_ALL, missed_lines
from tuner.results.study_results import SIMULATED, SizeResults, StudyResults


def report_page(study: StudyResults) -> str:
    """Return the report of a study as HTML."""
    return _PAGES.get_template("report.html").render(
        study=study,
        trials=[trial for size in study.sizes for trial in size.trials],
        sizes=[_found(study, size) for size in study.sizes],
        plotly=inlined_plotly(),
    )


def experiment_page(results: ExperimentResults) -> str:
    """Return the report of an experiment as HTML."""
    figures = [
        figure_html(figure, f"chart-{metric}-{place}")
        for metric in results.spec.metrics
        for place, figure in enumerate(charts(results, metric))
    ]
    figures[:0] = [figure_html(each, f"over-time-{place}") for place, each in enumerate(over_time(results))]
    return _PAGES.get_template("experiment.html").render(
        results=results, spec=results.spec, figures=figures, plotly=inlined_plotly()
    )


def front_html(study: StudyResults, sizes: Sequence[SizeResults], *, inline_js: bool = True) -> str:
    """Return a page with a picture of the front of each record size.

    Args:
        study: The study's results.
        sizes: The record sizes to show.
        inline_js: Whether the page contains plotly.js (5 MB). If not, the file `plotly.min.js` must lie beside the
            page.
    """
    return _PAGES.get_template("fronts.html").render(
        title=f"{study.name}: front",
        plotly=inlined_plotly() if inline_js else '<script src="plotly.min.js"></script>',
        figures=[
            figure_html(front_figure(size, labels(recommendations_by_goal(study, size))), f"front-{index}")
            for index, size in enumerate(sizes)
        ],
    )


def fronts_html(comparison: StudyComparison, views: Mapping[str, Mapping[str, ReportView]]) -> str:
    """Return a page with the recommended configs of two studies, and with their fronts on the same axes.

    Args:
        comparison: The comparison of the two studies.
        views: What the pictures show, by record size and then by the study's name, as `pictures_to_compare` returns it.
    """
    heading = " and ".join(comparison.names)
    return _PAGES.get_template("fronts.html").render(
        title=heading,
        heading=heading,
        plotly=inlined_plotly(),
        figures=[
            figure_html(fronts_figure(by_name, f"{record_bytes} B records"), f"fronts-{index}")
            for index, (record_bytes, by_name) in enumerate(views.items())
        ],
        comparison=comparison,
        differences=comparison.differences,
    )


def _found(study: StudyResults, size: SizeResults) -> dict[str, Any]:
    """Return what the report template shows about a record size; goals with the same config share one explanation."""
    by_goal, importance = recommendations_by_goal(study, size), knob_importance(size)
    in_order = [by_goal[goal] for goal in goals_of(study.objectives) if goal in by_goal]
    return {
        "size": size,
        "first": explain(study, preferred(in_order), importance) if in_order else None,
        "labels": labels(by_goal),
        "reasons": explanation_words.by_config(
            [explain(study, recommendation, importance) for recommendation in by_goal.values()]
        ),
        "importance": importance,
        "raced": str(RacingSavings.of(size.trials)),
        "grid": grid_tables(study, size),
    }


def _pages() -> Environment:
    # `autoescape` escapes all texts from study files, error messages and hosts.
    pages = Environment(
        loader=PackageLoader("tuner.present.report"), autoescape=True, trim_blocks=True, keep_trailing_newline=True
    )
    called = {each.__name__: each for each in _CALLED}
    assert len(called) == len(_CALLED), "each function that the templates call must have a name of its own"
    pages.globals.update(called)
    pages.globals.update(
        IN_TURN=front_table.IN_TURN,
        NOT_IN_TURN=comparison_view.NOT_IN_TURN,
        NO_GAIN=recommendation_words.NO_GAIN,
        SCRIPT=SCRIPT,
        STYLE=STYLE,
        SIMULATED=SIMULATED,
        NONE_KEEPS_ALL=NONE_KEEPS_ALL,
    )
    return pages


_CALLED: Final[tuple[Callable[..., Any], ...]] = (
    comparison_view.comparison_headings,
    comparison_view.comparison_rows,
    comparison_view.hypervolumes_text,
    compared_metrics,
    counted,
    drift_text,
    duration,
    experiment_view.because,
    experiment_view.notes_of,
    experiment_view.part_cells,
    experiment_view.row_cells,
    format_properties,
    front_table.front_metrics,
    front_table.front_notes,
    front_table.front_rows,
    front_table.in_turn_rows,
    grid_view.cell_text,
    grid_view.grid_heading,
    grid_view.grid_notes,
    drift_figure,
    effects_figure,
    figure_html,
    front_figure,
    hypervolume_figure,
    importance_figure,
    kept_lines,
    limited_by,
    missed_lines,
    pasted_values,
    raw_metrics,
    short,
    trial_metrics,
    explanation_words.bound_lines,
    explanation_words.change_notes,
    explanation_words.closest_lines,
    explanation_words.effect_name,
    explanation_words.effect_words,
    explanation_words.in_one_line,
    number_text.metric_name,
    explanation_words.rounds_text,
    changes,
    recommendation_words.ratio_with_remark,
    recommendation_words.in_short,
    recommendation_words.proven_for_other_goals,
    recommendation_words.advice_to_keep,
    recommendation_words.chance_of_wrong_claim,
    recommendation_words.shown_gains,
    number_text.shown_value,
    recommendation_words.inconclusive_gains,
    recommendation_words.not_advice,
    number_text.number,
    recommendation_words.numbers_table,
    number_text.title,
)
"""The functions that the templates call, by their own names."""

_PAGES: Final = _pages()
