"""HTML pages of a study. Each page is one file that needs no network, so that it can be mailed or archived.

The templates escape every text that comes from outside.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from objectives.bottlenecks import limited_by
from objectives.ratios import ratio_text
from runners.reporting import counted, duration, in_bytes
from search_spaces.files.properties_file import format_properties
from search_spaces.properties.catalogue import shown_value
from tuner.model.goals import goals_of
from tuner.model.identity import settings_shown
from tuner.present import number_text
from tuner.present.changed_properties import changes
from tuner.present.comparisons import comparison_view
from tuner.present.experiments import experiment_view
from tuner.present.export.pasted import pasted_values
from tuner.present.recommendations import explanation_words, recommendation_words
from tuner.present.report import study_figures, study_words
from tuner.present.report.assets import SCRIPT, STYLE
from tuner.present.report.experiment_figures import charts, over_time
from tuner.present.report.interactive import figure_html, inlined_plotly
from tuner.present.report.study_points import FrontChart
from tuner.present.trial_tables import front_table, grid_view
from tuner.results.comparisons.comparison import StudyComparison
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.grid_tables import grid_tables
from tuner.results.racing_savings import RacingSavings
from tuner.results.recommendations.by_goal import goals_by_trial, recommendations_by_goal
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
        figure_html(figure, f"chart-{metric}-{index}")
        for metric in results.spec.metrics
        for index, figure in enumerate(charts(results, metric))
    ]
    figures[:0] = [figure_html(each, f"over-time-{index}") for index, each in enumerate(over_time(results))]
    return _PAGES.get_template("experiment.html").render(
        results=results, spec=results.spec, figures=figures, plotly=inlined_plotly()
    )


def front_html(study: StudyResults, sizes: Sequence[SizeResults]) -> str:
    """Return a page with a picture of the front of each record size."""
    return _PAGES.get_template("fronts.html").render(
        title=f"{study.name}: front",
        plotly=inlined_plotly(),
        figures=[
            figure_html(
                study_figures.front_figure(size, goals_by_trial(recommendations_by_goal(study, size))), f"front-{index}"
            )
            for index, size in enumerate(sizes)
        ],
    )


def fronts_html(
    comparison: StudyComparison, views: Mapping[str, Mapping[str, FrontChart]], *, served: bool = False
) -> str:
    """Return a page with the recommended configs of two studies, and with their fronts on the same axes.

    Args:
        comparison: The comparison of the two studies.
        views: The content of the pictures, by record size and study's name, as `front_charts` returns it.
        served: Whether the page is one of a service, which has a list of studies.
    """
    heading = " and ".join(comparison.names)
    return _PAGES.get_template("fronts.html").render(
        title=heading,
        heading=heading,
        plotly=inlined_plotly(),
        figures=[
            figure_html(study_figures.fronts_figure(by_name, f"{in_bytes(record_bytes)} records"), f"fronts-{index}")
            for index, (record_bytes, by_name) in enumerate(views.items())
        ],
        comparison=comparison,
        differences=comparison.differences,
        served=served,
    )


def _found(study: StudyResults, size: SizeResults) -> dict[str, Any]:
    """Return the values of the report template for a record size; goals with the same config share an explanation."""
    by_goal, importance = recommendations_by_goal(study, size), knob_importance(size)
    in_order = [by_goal[goal] for goal in goals_of(study.objectives) if goal in by_goal]
    return {
        "size": size,
        "first": explain(study, preferred(in_order), importance) if in_order else None,
        "labels": goals_by_trial(by_goal),
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
    pages.globals.update({each.__name__.rpartition(".")[2]: each for each in _CALLED_MODULES})
    pages.globals.update({each.__name__: each for each in _CALLED_FUNCTIONS})
    pages.globals.update(SCRIPT=SCRIPT, STYLE=STYLE, SIMULATED=SIMULATED, NONE_KEEPS_ALL=NONE_KEEPS_ALL)
    return pages


_CALLED_MODULES: Final = (
    comparison_view,
    experiment_view,
    explanation_words,
    front_table,
    grid_view,
    number_text,
    recommendation_words,
    study_figures,
    study_words,
)
"""The modules whose functions the templates call, as `study_words.drift_text(size)`."""
_CALLED_FUNCTIONS: Final = (
    changes,
    counted,
    duration,
    figure_html,
    format_properties,
    in_bytes,
    limited_by,
    missed_lines,
    pasted_values,
    settings_shown,
    ratio_text,
    shown_value,
)
"""The functions that the templates call by their own names."""

_PAGES: Final = _pages()
