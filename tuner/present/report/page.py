"""Pages of a study: each one file with everything in it, fit to be mailed or kept for years.

Everything that comes from outside is escaped here.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from jinja2 import Environment, PackageLoader

from search_spaces.properties_file import format_properties
from tuner.model.trial import Kind
from tuner.present import why, wording
from tuner.present.report import front_table, interactive
from tuner.present.report.page_style import STYLE
from tuner.present.report.view import View
from tuner.results.by_goal import labels, recommendations
from tuner.results.comparison import Comparison
from tuner.results.explanation import Explanation, explain, knob_importance
from tuner.results.racing_savings import RacingSavings
from tuner.results.study_results import SizeResults, StudyResults
from tuner.results.unmet_constraints import NONE_KEEPS_ALL, missed_lines

_COLUMNS: Final = 5


def report_page(study: StudyResults) -> str:
    """The report of a study."""
    return _PAGES.get_template("report.html").render(
        study=study,
        trials=[trial for size in study.sizes for trial in size.trials],
        sizes=[_found(study, size) for size in study.sizes],
        style=STYLE,
        plotly=interactive.inlined_plotly(),
    )


def front_html(study: StudyResults, sizes: Sequence[SizeResults], *, inline_js: bool = True) -> str:
    """A page with the front of each record size.

    Args:
        study: What the sizes belong to.
        sizes: Which to show.
        inline_js: Off leaves out plotly.js (5 MB): a file `plotly.min.js` is then expected beside the page.
    """
    return _PAGES.get_template("fronts.html").render(
        title=f"{study.name}: front",
        plotly=interactive.inlined_plotly() if inline_js else '<script src="plotly.min.js"></script>',
        figures=[
            interactive.figure_html(
                interactive.front_figure(size, labels(recommendations(study, size))), f"front-{place}"
            )
            for place, size in enumerate(sizes)
        ],
    )


def fronts_html(found: Comparison, views: Mapping[str, Mapping[str, View]]) -> str:
    """A page that needs no network, with the fronts of two studies on the same axes.

    Args:
        found: The two studies side by side.
        views: From `views_of`.
    """
    heading = " and ".join(found.names)
    return _PAGES.get_template("fronts.html").render(
        title=heading,
        heading=heading,
        plotly=interactive.inlined_plotly(),
        figures=[
            interactive.figure_html(interactive.fronts_figure(by_name, f"{record_bytes} B records"), f"fronts-{place}")
            for place, (record_bytes, by_name) in enumerate(views.items())
        ],
        differences=found.differences,
    )


def _found(study: StudyResults, size: SizeResults) -> dict[str, Any]:
    """What was found for one record size; goals with the same config share one reason."""
    found, importance = recommendations(study, size), knob_importance(size)
    return {
        "size": size,
        "labels": labels(found),
        "reasons": why.shared([explain(study, each, importance) for each in found.values()]),
        "importance": importance,
        "raced": str(RacingSavings.of(size.trials)),
    }


def drift_text(size: SizeResults) -> str:
    """How far the baseline's repeats lie apart, in sentences."""
    values = [t.metrics["mb_per_s"] for t in size.trials if t.kind is Kind.BASELINE and "mb_per_s" in t.metrics]
    if len(values) < 2:
        return "The baseline was not measured twice, so nothing can be said."
    spread = (max(values) - min(values)) / size.baseline_metrics["mb_per_s"]
    moved = size.estimates.wandered.get("mb_per_s")
    noises = size.estimates.noise.items()
    scatter = ", ".join(f"{noise.sd_log:.1%} in {metric}" for metric, noise in noises if not noise.is_assumed)
    return (
        f"{len(values)} baselines between {min(values):.1f} and {max(values):.1f} MB/s: {spread:.0%} of their median "
        "apart. Differences between trials that are smaller than this mean little. "
        f"{'' if moved is None else f'The baseline itself wandered by {moved:.0%}, which numbers are corrected for. '}"
        f"{f'Repeats of one config scatter by {scatter}.' if scatter else ''}"
    )


def trial_metrics(size: SizeResults) -> list[str]:
    """Columns of the table of all trials."""
    asked = [objective.metric for objective in size.objectives]
    return wording.shown_metrics(*(trial.metrics for trial in size.trials), first=asked)[:_COLUMNS]


def compared_metrics(explanation: Explanation) -> list[str]:
    """Columns of the table of what each change brings."""
    gains = [each.gains for each in explanation.effects.each if each.measured]
    return [metric for metric in explanation.metrics if any(metric in known for known in gains)]


def _pages() -> Environment:
    # What a study's file, its errors and its hosts say is escaped wherever it stands.
    pages = Environment(
        loader=PackageLoader("tuner.present.report"), autoescape=True, trim_blocks=True, keep_trailing_newline=True
    )
    pages.globals.update({each.__name__: each for each in _CALLED})
    pages.globals.update(
        KEEP=wording.KEEP, NO_GAIN=wording.NO_GAIN, SIMULATED=wording.SIMULATED, NONE_KEEPS_ALL=NONE_KEEPS_ALL
    )
    return pages


_CALLED: Final[tuple[Callable[..., Any], ...]] = (
    compared_metrics,
    drift_text,
    format_properties,
    front_table.front_metrics,
    front_table.front_notes,
    front_table.front_rows,
    interactive.drift_figure,
    interactive.effects_figure,
    interactive.figure_html,
    interactive.front_figure,
    interactive.hypervolume_figure,
    interactive.importance_figure,
    missed_lines,
    trial_metrics,
    why.bound_lines,
    why.change_notes,
    why.closest_lines,
    why.effect_name,
    why.effect_words,
    why.metric_name,
    why.rounds_of,
    wording.changes,
    wording.gain,
    wording.number,
    wording.numbers_table,
    wording.title,
)
"""What the templates call, by its own name."""

_PAGES: Final = _pages()
