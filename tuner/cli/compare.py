"""`tuner compare`: two studies side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.table import Column, Table
from rich.text import Text

from tuner.cli import options
from tuner.present.console import OUT, say, warn
from tuner.present.wording import number
from tuner.results.comparison import NOISE_RATIO, Comparison, GoalComparison, SizeComparison
from tuner.results.comparison import compare as comparison
from tuner.results.recommendation import Recommendation
from tuner.results.study_results import StudyResults, load_results
from tuner.storage.files import write_atomically
from tuner.storage.home import find_study

_UNITS: Final = {"mb_per_s": "MB/s", "latency_p99_ms": "ms p99"}
"""Shown in any case; what else a goal is about has its own name."""


def compare(
    first: Annotated[str, typer.Argument(metavar="A", help="Name of a study, or its folder.")],
    second: Annotated[str, typer.Argument(metavar="B", help="Another one; with the same name, give folders.")],
    html: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw both fronts as a page to point at.")] = None,
    png: Annotated[Path | None, typer.Option(metavar="FILE", help="Draw both fronts as a picture.")] = None,
    as_json: options.Json = False,
) -> None:
    """Compare two studies: their fronts, and the best config of each for each record size and goal.

    Where client, brokers, host or workload differ, a warning says so: the numbers then differ for that reason too.

    \b
    Examples:
        tuner compare before after
        tuner compare studies/overnight /mnt/other/overnight --html fronts.html
    """
    for file in (html, png):
        if file is not None:
            options.check_folder(file)
    studies = (load_results(find_study(first)), load_results(find_study(second)))
    found = comparison(*studies)
    if as_json:
        options.print_json(found.as_json())
    else:
        for size in found.sizes:
            _print(found, size)
        if not found.sizes:
            OUT.print("the studies have no record size in common", markup=False)
    for difference in found.differences:
        warn(difference)
    _draw(studies, found, html, png)


def _print(found: Comparison, size: SizeComparison) -> None:
    one, other = found.names
    columns = (Column(heading, overflow="fold") for heading in ("goal", one, other, "better"))
    table = Table(*columns, title=f"{size.record_bytes} B records", title_justify="left")
    for each in size.goals:
        told = [_brief(recommended, each.metrics) for recommended in (each.ours, each.theirs)]
        cells = (str(each.goal), *told, _better(each, found.names))
        table.add_row(*map(Text, cells))
    OUT.print(table)
    volumes = [number(volume) for volume in size.hypervolumes]
    OUT.print(f"hypervolume over {one}'s baseline: {volumes[0]} and {volumes[1]}", style="dim", markup=False)
    OUT.print(
        f"not measured in turn with each other: up to {NOISE_RATIO:.0%} counts as no difference",
        style="dim",
        markup=False,
    )


def _brief(found: Recommendation | None, asked: Sequence[str]) -> str:
    if found is None:
        return "nothing yet"
    numbers = [
        f"{number(found.metrics[name])} {_UNITS.get(name, name)}"
        for name in dict.fromkeys((*_UNITS, *asked))
        if name in found.metrics
    ]
    what = "its baseline" if found.is_baseline else f"trial {found.trial.number}"
    return f"{', '.join(numbers)} ({what}{'' if found.confirmed or found.is_baseline else ', not measured again'})"


def _better(each: GoalComparison, names: tuple[str, str]) -> str:
    if each.times is None:
        return "can't be told"
    if each.winner is None:
        return f"no difference ({each.times:.2f})"
    return f"{names[each.winner]}, {each.times if each.winner else 1 / each.times:.2f} times"


def _draw(studies: tuple[StudyResults, StudyResults], found: Comparison, html: Path | None, png: Path | None) -> None:
    if html is None and png is None:
        return
    if not found.sizes:
        warn("without a record size in common there is nothing to draw")
        return
    if studies[0].objectives != studies[1].objectives:
        warn("with different objectives the fronts have no axes in common: nothing is drawn")
        return
    # Deferred: they import matplotlib and plotly.
    from tuner.present.report.page import fronts_html
    from tuner.present.report.pictures import draw_fronts
    from tuner.present.report.view import views_of

    views = views_of(studies, found)
    if html is not None:
        write_atomically(html, fronts_html(found, views).encode())
        say(f"page written to {html}")
    if png is not None:
        draw_fronts(views, png)
        say(f"picture written to {png}")
