"""Waits for what other processes do, with a bound that no healthy machine reaches."""

import time
from collections.abc import Callable

PATIENCE_S = 60.0
_POLL_S = 0.02


def eventually(holds: Callable[[], object]) -> bool:
    """Whether a condition comes to hold while we wait."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
