"""Waiting for other processes and threads, with a time limit that no healthy machine reaches."""

import time
from collections.abc import Callable
from typing import Any

PATIENCE_S = 90.0
_POLL_S = 0.02


def eventually(what: Callable[[], Any], timeout_s: float = PATIENCE_S, *, otherwise: object = "") -> Any:
    """Call a function until its result is true, and return the result.

    Args:
        what: The function to call.
        timeout_s: How long to wait.
        otherwise: The text of the error if no result was true in time.

    Raises:
        AssertionError: No result was true in time.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := what()):
        assert time.monotonic() < deadline, otherwise or f"nothing came of {what} in {timeout_s:g} s"
        time.sleep(_POLL_S)
    return found
