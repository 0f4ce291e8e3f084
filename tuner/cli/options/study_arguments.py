"""Arguments and options of commands about studies, which they have with and without `--server`."""

from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.options.workload_options import parse_record_sizes

StudyOrAll = Annotated[
    str | None,
    typer.Argument(
        metavar="STUDY",
        help="Name of a study, such as overnight. Without it, all studies are listed.",
        show_default=False,
    ),
]
Watch = Annotated[bool, typer.Option("--watch", "-w", help="Keep showing the status until the study ends.")]
ShownSize = Annotated[
    str | None,
    typer.Option(
        metavar="N",
        parser=parse_record_sizes,
        help="Show only this record size or mix, such as 1000.",
        show_default="all of the study",
    ),
]
MbPerS = Annotated[
    float,
    typer.Option(
        min=0.001,
        max=1e9,
        help="Throughput that you expect at full speed, to estimate how many bytes the study writes.",
    ),
]


def _study_name(text: str) -> str:
    from tuner.study_file.sections import STUDY_NAME  # most commands do not need it

    try:
        return str(STUDY_NAME.read(text))
    except ValueError as error:
        raise typer.BadParameter(f"{error}, but got {text!r}") from None


NewName = Annotated[str, typer.Argument(metavar="NEW-NAME", parser=_study_name, help="Name of the new study.")]
NewStudyFile = Annotated[
    Path | None,
    typer.Argument(
        metavar="STUDY.YAML",
        help="Study file of the new study. By default, the new study has the settings of the old one.",
        show_default=False,
    ),
]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Remove without asking.")]


def check_two_studies(first: str, second: str, *, same: bool) -> None:
    """Check the arguments of `tuner compare`.

    Raises:
        typer.BadParameter: Both are the same study.
    """
    if same:
        raise typer.BadParameter(f"A and B must be two studies, but {first} and {second} are the same one")


def check_named(*, watch: bool) -> None:
    """Check the options of `tuner status` without a study.

    Raises:
        typer.BadParameter: The user wants to watch, but names no study.
    """
    if watch:
        raise typer.BadParameter("--watch shows one study, but none was named; name it: tuner status STUDY --watch")
