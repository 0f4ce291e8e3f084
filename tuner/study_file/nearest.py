"""What somebody meant who wrote a name that there is not."""

import difflib
from collections.abc import Iterable

_LIKENESS = 0.6


def did_you_mean(written: object, names: Iterable[str]) -> str:
    """`did you mean trials?`, or nothing when no name is near.

    Args:
        written: What stands there; only texts are near anything.
        names: The right ones.
    """
    if not isinstance(written, str):
        return ""
    near = difflib.get_close_matches(written.lower()[:100], list(names), n=1, cutoff=_LIKENESS)
    return f"did you mean {near[0]}?" if near else ""
