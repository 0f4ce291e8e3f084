"""The formats of a result: JSON, CSV, or the path of a file that was written."""

import json
from pathlib import Path

import typer

from runners.reporting import printable
from tuner.model.document import document


def check_one_form(**asked: bool) -> None:
    """Check that the user asked for at most one format of output.

    Args:
        **asked: By the name of each option, whether the user gave it.

    Raises:
        typer.BadParameter: The user asked for two formats.
    """
    given = [f"--{name}" for name, value in asked.items() if value]
    if len(given) > 1:
        raise typer.BadParameter(f"a result has one format, but {' and '.join(given)} were given; leave one out")


def print_json(record: object, indent: int | None = 2) -> None:
    """Print a result as one JSON document."""
    typer.echo(json.dumps(record, indent=indent))


def print_csv(table: str) -> None:
    """Print a result as CSV, without control characters that could change a terminal."""
    typer.echo(printable(table), nl=False)


def print_written(path: Path, *, as_json: bool) -> None:
    """Print the path of a file that the command has written."""
    if as_json:
        print_json(document("written", path=str(path)))
    else:
        typer.echo(path)
