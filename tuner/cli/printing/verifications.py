"""Prints whether a file has passed `tuner verify`, and ends with its exit code, with and without a service."""

from collections.abc import Mapping
from typing import Any

import typer

from tuner.cli.output import print_result
from tuner.present.comparisons.verification_view import shortcomings, verification_warnings
from tuner.present.console import ERR, OUT, say, warn_of_each


def print_judgement(record: Mapping[str, Any], text: str, *, as_json: bool, quiet: bool) -> None:
    """Print a judgement by measurements, and what makes it less reliable.

    Args:
        record: What `Judgement.as_json` returned.
        text: The lines of `verification_lines`.
        as_json: Whether to print JSON instead of the text.
        quiet: Whether to leave out everything but results and warnings.
    """
    print_result(record, lambda: OUT.show(text), as_json=as_json)
    if not (as_json or quiet):
        say(f"`tuner report {record['study']}` shows all measurements")
    warn_of_each(verification_warnings(record))


def end_unless_passed(record: Mapping[str, Any]) -> None:
    """Print why a file did not pass, and end the command with the exit code for it; do nothing if it passed."""
    ERR.show(*shortcomings(record), style="red")
    if record["exit_code"]:
        raise typer.Exit(record["exit_code"])
