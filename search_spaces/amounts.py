"""Bytes, seconds and records per second as short text, for the sentences about properties."""

from typing import Final

_SIZES: Final = ((1e9, "GB"), (1e6, "MB"), (1e3, "kB"))
_LEAST_MS: Final = 0.001


def size_text(number: float) -> str:
    """Return a number of bytes as text, such as `16.4 kB`."""
    for unit, name in _SIZES:
        if number >= unit:
            return f"{_short(number / unit)} {name}"
    return f"{number:.0f} B"


def time_text(seconds: float) -> str:
    """Return a time as text, such as `2.5 s` or `0.8 ms`."""
    if seconds >= 0.9995:
        return f"{_short(seconds)} s"
    ms = seconds * 1e3
    return f"{ms:.3g} ms" if ms >= _LEAST_MS else f"less than {_LEAST_MS} ms"


def rate_text(records_per_s: float) -> str:
    """Return a rate as text, such as `20,000 records/s`."""
    return f"{_short(records_per_s) if records_per_s >= 1 else f'{records_per_s:g}'} records/s"


def _short(number: float) -> str:
    """Return a number with at most one digit behind the point."""
    return f"{number:,.1f}".removesuffix(".0")
