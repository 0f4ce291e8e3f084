"""The comparison of two studies as text."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Column, Table
from rich.text import Text

from runners.reporting import percent
from tuner.present.console import Unwrapped
from tuner.present.csv_text import csv_of
from tuner.present.number_text import number
from tuner.results.comparisons.comparison import NOISE_RATIO, GoalComparison, SizeComparison, StudyComparison
from tuner.results.recommendations.recommendation import Recommendation

NOT_IN_TURN: Final = (
    f"the studies were not measured alternately, so a difference of up to {percent(NOISE_RATIO)} counts as no "
    "difference"
)
_SHOWN: Final = ("mb_per_s", "latency_p99_ms")
"""The metrics that every comparison shows."""


def print_comparison(found: StudyComparison, out: Unwrapped) -> None:
    """Print the recommended configs of two studies side by side, with a table for each record size."""
    for size in found.sizes:
        columns = (Column(heading, overflow="fold") for heading in comparison_headings(found))
        table = Table(*columns, title=f"{size.record_bytes} B records", title_justify="left")
        for cells in comparison_rows(found, size):
            table.add_row(*map(Text, cells))
        out.print(table)
        out.show(hypervolumes_text(found, size), style="dim")
        out.show(NOT_IN_TURN, style="dim")
    if not found.sizes:
        out.show("the studies have no record size in common, so there is nothing to compare")


def comparison_csv(record: Mapping[str, Any]) -> str:
    """Return a comparison as CSV, one line for each record size, goal and study.

    Args:
        record: What `StudyComparison.as_json` returned.
    """
    return csv_of(
        {
            "record_bytes": size["record_bytes"],
            "goal": goal,
            "study": study,
            "winner": found["winner"],
            "second_times_better": found["second_times_better"],
            **(_without_gains(recommended) if recommended else {}),
        }
        for size in record["sizes"]
        for goal, found in size["goals"].items()
        for study, recommended in zip(record["studies"], found["recommended"], strict=True)
    )


def _without_gains(recommended: Mapping[str, Any]) -> dict[str, Any]:
    """Return a recommended config without its gains, because the two studies have different baselines."""
    return {name: value for name, value in recommended.items() if name != "gains_over_own_baseline"}


def comparison_headings(found: StudyComparison) -> tuple[str, str, str, str]:
    """Return the headings of the table of a record size."""
    return ("goal", *found.names, "better")


def comparison_rows(found: StudyComparison, size: SizeComparison) -> list[tuple[str, str, str, str]]:
    """Return the rows of the table of a record size, one for each goal."""
    return [
        (
            str(each.goal),
            _config(each.ours, each.metrics),
            _config(each.theirs, each.metrics),
            _winner(each, found.names),
        )
        for each in size.goals
    ]


def hypervolumes_text(found: StudyComparison, size: SizeComparison) -> str:
    """Return a sentence about the hypervolumes of the two fronts."""
    (one, other), (ours, theirs) = found.names, map(number, size.hypervolumes)
    return (
        f"hypervolume of the fronts (more is better; reference: the baseline of {one}): {one} {ours}, {other} {theirs}"
    )


def _config(found: Recommendation | None, asked: Sequence[str]) -> str:
    if found is None:
        return "nothing yet"
    numbers = [
        f"{number(found.metrics[name])} {_unit(name)}"
        for name in dict.fromkeys((*_SHOWN, *asked))
        if name in found.metrics
    ]
    what = "its baseline" if found.is_baseline else f"trial {found.trial.number}"
    return f"{', '.join(numbers)} ({what}{'' if found.confirmed or found.is_baseline else ', not confirmed'})"


def _unit(metric: str) -> str:
    """Return what follows a metric's value: `MB/s`, `ms p95`, or the metric's name if it has no short form."""
    if metric == "mb_per_s":
        return "MB/s"
    return f"ms {metric.removeprefix('latency_').removesuffix('_ms')}" if metric.startswith("latency_") else metric


def _winner(each: GoalComparison, names: tuple[str, str]) -> str:
    if each.times is None:
        return "can't be compared"
    if each.winner is None:
        return f"no difference ({each.times:.2f})"
    return f"{names[each.winner]}, by a factor of {each.times if each.winner else 1 / each.times:.2f}"
