"""How the user is told in a sentence what is being done, or what is not as it should be."""

from collections.abc import Callable

Say = Callable[[str], None]
"""Takes one short sentence; called in the thread of the call that it was given to."""


def first_line(error: Exception) -> str:
    """What an error of another library says, in one line."""
    text = str(error).strip() or type(error).__name__
    return text.splitlines()[0][:300]


def silent(_: str) -> None:
    """A `Say` that says nothing."""
