"""Where output goes: results to standard output, everything else to standard error."""

from rich.console import Console

OUT = Console(highlight=False)
ERR = Console(stderr=True, highlight=False)


def say(sentence: str) -> None:
    """Tell the user what is being done."""
    ERR.print(sentence, style="dim", markup=False)


def warn(sentence: str) -> None:
    """Tell the user what weakens the result."""
    ERR.print("warning: " + sentence, style="yellow", markup=False)
