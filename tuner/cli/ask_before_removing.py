"""Asks the user before a command removes something."""

import sys

import typer


def user_agrees(question: str, asks: str) -> bool:
    """Ask the user a yes-or-no question before something is removed, and return the answer.

    Args:
        question: The question, such as `delete 2 topics?`.
        asks: A sentence for the error, such as `cleanup asks before it deletes 2 topics`.

    Raises:
        typer.BadParameter: Nobody can answer, because standard input is not a terminal.
    """
    if not sys.stdin.isatty():
        raise typer.BadParameter(f"{asks}, but standard input is not a terminal; add --yes")
    return typer.confirm(question, err=True)
