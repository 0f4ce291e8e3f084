"""Student's t distribution: quantiles for intervals, and p-values."""

from functools import lru_cache
from math import atan2, cos, inf, pi, sin, sqrt, tan
from statistics import NormalDist
from typing import Final

_MANY_DEGREES: Final = 300
"""Above this many degrees of freedom, `t_quantile` computes a series, which is faster than bisection."""


@lru_cache(maxsize=1_000)
def t_quantile(level: float, degrees_of_freedom: int) -> float:
    """Return the quantile of Student's t distribution for a two-sided interval.

    The quantile is the number of standard errors that the interval extends to each side. We compute it ourselves,
    because importing scipy.special takes longer than reading a study of 3,000 trials. For many degrees of freedom, a
    series is used.

    Args:
        level: The interval's level, such as 0.95.
        degrees_of_freedom: Degrees of freedom of the standard error; below 1, the result is infinite.

    Source: Abramowitz and Stegun (1964), Handbook of Mathematical Functions, 26.7.3 to
    26.7.5.
    """
    if degrees_of_freedom < 1:
        return inf
    if degrees_of_freedom > _MANY_DEGREES:
        z, many = NormalDist().inv_cdf((1 + level) / 2), degrees_of_freedom
        return z + (z**3 + z) / (4 * many) + (5 * z**5 + 16 * z**3 + 3 * z) / (96 * many**2)
    # Bisect the angle whose tangent is t / sqrt(degrees of freedom): unlike t itself, the angle is bounded.
    low, high = 0.0, pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _within(middle, degrees_of_freedom) < level:
            low = middle
        else:
            high = middle
    return sqrt(degrees_of_freedom) * tan(high)


def t_tail(mean: float, standard_error: float, degrees_of_freedom: int) -> float:
    """Return the one-sided p-value of a mean: how probable it is that Student's t exceeds mean / standard error.

    Without any scatter, the p-value is 0 for a mean above 0, and 1 otherwise.

    Args:
        mean: The mean, of any sign.
        standard_error: The standard error of the mean, in the unit of the mean; at least 0.
        degrees_of_freedom: The degrees of freedom of the standard error; at least 1.

    Returns:
        A probability from 0 to 1; below 0.5 for a mean above 0.
    """
    if mean <= 0 and standard_error == 0:
        return 1.0
    within = _within(atan2(abs(mean), standard_error * sqrt(degrees_of_freedom)), degrees_of_freedom)
    return (1 - within) / 2 if mean > 0 else (1 + within) / 2


def _within(angle: float, degrees_of_freedom: int) -> float:
    """Return the probability that Student's |t| is at most sqrt(degrees of freedom) times the angle's tangent."""
    odd, square = degrees_of_freedom % 2, cos(angle) ** 2
    term = sin(angle) * (cos(angle) if odd else 1.0)
    total = term if degrees_of_freedom > 1 else 0.0
    for number in range(2 + odd, degrees_of_freedom, 2):
        term *= square * (number - 1) / number
        total += term
    return 2 / pi * (angle + total) if odd else total
