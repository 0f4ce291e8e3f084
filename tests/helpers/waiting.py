"""Waiting for other processes, with a time limit that no healthy machine reaches."""

import time
from collections.abc import Callable

PATIENCE_S = 60.0
_POLL_S = 0.02


def eventually(holds: Callable[[], object]) -> bool:
    """Wait until a condition holds, and return whether it did in time."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_S)
    return True
