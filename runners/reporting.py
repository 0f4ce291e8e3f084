"""How the runners tell the user what they are doing, or that something is wrong."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one short sentence. It is called in the thread that called the function it was passed to."""


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its type if it has no text."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def silent(_: str) -> None:
    """Ignore the sentence."""
