"""How much better one thing is than another, from measurements taken in turn."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

_RESAMPLES: Final = 10_000


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its interval.

    Attributes:
        value: Geometric mean of the rounds' ratios.
        low: Lower end of the interval.
        high: Upper end of the interval.
        rounds: How many rounds it stands on.
    """

    value: float
    low: float
    high: float
    rounds: int

    def __str__(self) -> str:
        """`1.32 (1.25 to 1.40)`."""
        return f"{self.value:.2f} ({self.low:.2f} to {self.high:.2f})"


def ratio_of(ours: Sequence[float], theirs: Sequence[float], *, level: float = 0.95, seed: int = 0) -> Ratio:
    """Ratio of two sequences measured in the same rounds, so that what disturbs a round disturbs both.

    The interval is the percentile bootstrap over rounds of the mean log ratio (Efron and Tibshirani 1993, chapter 13).
    With few rounds it is somewhat too narrow; say how many there were.

    Args:
        ours: One positive value per round.
        theirs: As many, of the same rounds.
        level: Nominal level of the interval.
        seed: Seed of the resampling.

    Raises:
        ValueError: The sequences are empty, differ in length, or hold a value that is not above 0.
    """
    if not ours or len(ours) != len(theirs):
        raise ValueError(f"both sides need one value per round, but got {len(ours)} and {len(theirs)}")
    if min(*ours, *theirs) <= 0:
        raise ValueError(f"every value must be above 0, but got {min(*ours, *theirs)}")
    logs = np.log(np.asarray(ours, dtype=float) / np.asarray(theirs, dtype=float))
    rng = np.random.default_rng(seed)
    means = rng.choice(logs, size=(_RESAMPLES, len(logs))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [(1 - level) / 2, (1 + level) / 2]))
    return Ratio(float(np.exp(logs.mean())), float(low), float(high), len(logs))
