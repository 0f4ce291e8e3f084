"""Keeps Python itself from disturbing a load that runs in this process."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

_SWITCH_INTERVAL_S: Final = 0.0001


@contextmanager
def quiet_interpreter() -> Iterator[None]:
    """Switch off Python's garbage collection and shorten its thread switch interval during a measurement."""
    interval, enabled = sys.getswitchinterval(), gc.isenabled()
    gc.collect()
    gc.disable()
    sys.setswitchinterval(_SWITCH_INTERVAL_S)
    try:
        yield
    finally:
        sys.setswitchinterval(interval)
        if enabled:
            gc.enable()
