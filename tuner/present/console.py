"""The two output streams: results go to standard output, everything else to standard error."""

from rich.console import Console

OUT = Console(highlight=False)
ERR = Console(stderr=True, highlight=False)


def say(sentence: str) -> None:
    """Print a sentence about the progress of a command."""
    # A command in a sentence must stay in one line, so that it can be copied.
    ERR.print(sentence, style="dim", markup=False, soft_wrap=True)


def warn(sentence: str) -> None:
    """Print a warning about something that makes the result less reliable."""
    ERR.print("warning: " + sentence, style="yellow", markup=False, soft_wrap=True)
