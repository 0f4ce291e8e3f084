"""The comparison of two studies as text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Column, Table
from rich.text import Text

from runners.reporting import in_bytes, percent
from tuner.present.console import Unwrapped
from tuner.present.number_text import number
from tuner.present.tables import csv_of
from tuner.results.comparisons.comparison import NOISE_RATIO, GoalComparison, SizeComparison, StudyComparison
from tuner.results.recommendations.recommendation import Recommendation

NOT_IN_TURN: Final = (
    f"the studies were not measured alternately, so a difference of up to {percent(NOISE_RATIO)} counts as no "
    "difference"
)
_SHOWN: Final = ("mb_per_s", "latency_p99_ms")
"""The metrics that every comparison shows."""


def print_comparison(comparison: StudyComparison, out: Unwrapped) -> None:
    """Print the recommended configs of two studies side by side, with a table for each record size."""
    for size in comparison.sizes:
        columns = (Column(heading, overflow="fold") for heading in comparison_headings(comparison))
        table = Table(*columns, title=f"{in_bytes(size.record_bytes)} records", title_justify="left")
        for cells in comparison_rows(comparison, size):
            table.add_row(*map(Text, cells))
        out.print(table)
        out.show(hypervolumes_text(comparison, size), style="dim")
        out.show(NOT_IN_TURN, style="dim")
    if not comparison.sizes:
        out.show("the studies have no record size in common, so there is nothing to compare")


def comparison_csv(record: Mapping[str, Any]) -> str:
    """Return a comparison, from `StudyComparison.as_json`, as CSV: one line for each record size, goal and study."""
    return csv_of(
        {
            "record_bytes": size["record_bytes"],
            "goal": goal,
            "study": study,
            "winner": found["winner"],
            "second_times_better": found["second_times_better"],
            # Without the gains, because the two studies have different baselines.
            **{name: value for name, value in (recommended or {}).items() if name != "gains_over_own_baseline"},
        }
        for size in record["sizes"]
        for goal, found in size["goals"].items()
        for study, recommended in zip(record["studies"], found["recommended"], strict=True)
    )


def comparison_headings(comparison: StudyComparison) -> tuple[str, str, str, str]:
    """Return the headings of the table of a record size."""
    return ("goal", *comparison.names, "better")


def comparison_rows(comparison: StudyComparison, size: SizeComparison) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of a record size, one for each goal."""
    return [
        (
            str(each.goal),
            _config(each.ours, each.metrics),
            _config(each.theirs, each.metrics),
            _winner(each, comparison.names),
        )
        for each in size.goals
    ]


def hypervolumes_text(comparison: StudyComparison, size: SizeComparison) -> str:
    """Return a sentence about the hypervolumes of the two fronts."""
    (one, other), (ours, theirs) = comparison.names, map(number, size.hypervolumes)
    return (
        f"hypervolume of the fronts (more is better; reference: the baseline of {one}): {one} {ours}, {other} {theirs}"
    )


def _config(recommendation: Recommendation | None, metrics: Sequence[str]) -> str:
    if recommendation is None:
        return "nothing yet"
    numbers = [
        f"{number(recommendation.metrics[name])} {_unit(name)}"
        for name in dict.fromkeys((*_SHOWN, *metrics))
        if name in recommendation.metrics
    ]
    what = "its baseline" if recommendation.is_baseline else f"trial {recommendation.trial.number}"
    what += "" if recommendation.confirmed or recommendation.is_baseline else ", not confirmed"
    return f"{', '.join(numbers)} ({what})"


def _unit(metric: str) -> str:
    """Return what follows a metric's value: `MB/s`, `ms p95`, or the metric's name if it has no short form."""
    if metric == "mb_per_s":
        return "MB/s"
    return f"ms {metric.removeprefix('latency_').removesuffix('_ms')}" if metric.startswith("latency_") else metric


def _winner(goal: GoalComparison, names: tuple[str, str]) -> str:
    if goal.times is None:
        return "can't be compared"
    if goal.winner is None:
        return f"no difference ({goal.times:.2f})"
    return f"{names[goal.winner]}, by a factor of {goal.times if goal.winner else 1 / goal.times:.2f}"
