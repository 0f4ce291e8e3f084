"""Minimum and maximum, smoothed where both numbers are nearly equal, because clients change gradually."""

from typing import Final

import numpy as np

from runners.performance_model.columns import Array

_SOFT: Final = 4.0


def smooth_min(one: Array, other: Array | float) -> Array:
    """Return the smaller of two positive numbers, smoothed where they are nearly equal."""
    return (one**-_SOFT + np.power(other, -_SOFT)) ** (-1 / _SOFT)


def smooth_max(one: Array, other: Array) -> Array:
    """Return the larger of two positive numbers, smoothed where they are nearly equal."""
    return (one**_SOFT + other**_SOFT) ** (1 / _SOFT)
