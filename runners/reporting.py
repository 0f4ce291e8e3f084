"""How the code of `runners` tells the user what it is doing, or that something is wrong."""

from collections.abc import Callable

Say = Callable[[str], None]
"""A function that takes one short sentence for the user.

Code that receives a `Say` as an argument calls it in the thread that called the code.
"""


def first_line(error: Exception) -> str:
    """Return the first line of an error's text, or its type if it has no text."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def silent(_: str) -> None:
    """Ignore a sentence for the user. This is the default if a caller passes no function that shows sentences."""
