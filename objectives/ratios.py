"""How much better one thing is than another, from measurements taken in turn; and how sure that is.

Everything is done on the logarithms of the rounds' ratios: a round measures both sides, so that what disturbs the round
disturbs both, and noise is a matter of per cent.

Source of the method: Stein, "A two-sample test for a linear hypothesis whose power is independent of the variance"
(1945). The scatter of a first number of rounds, fixed beforehand, decides how many more there are, and the interval is
built with that first scatter and its degrees of freedom. So the level holds for normal noise, although we stop when it
is tight: looking again and again at an interval and stopping when it pleases would not. Where all rounds together
scatter by more than the first ones promised, the interval is as wide as they say: a stall is rare, and may come after a
calm beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

from objectives.repeats import t_quantile

LEVEL: Final = 0.95
ERROR_RATE: Final = 0.05
"""Chance that anything at all is claimed to be better that is not."""
SESSION_SD: Final = 0.05
"""Standard deviation of a ratio's logarithm from one session to the next: a broker started anew, another hour.

The rounds of one session share it, so that their scatter can't show it. From 40 repeats of four recommendations, each
on a broker of its own: docs/trust.md.
"""
_AIM: Final = 0.95
"""Of the width that is asked for: later rounds may scatter a little more than the first ones promised."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """A ratio with its intervals.

    Attributes:
        value: Geometric mean of the rounds' ratios.
        low: Lower end of the confidence interval: where the true ratio is.
        high: Upper end of the confidence interval.
        rounds: How many rounds it stands on.
        repeat_low: Lower end of the 95 % prediction interval: where the ratio of one more round is, another day.
        repeat_high: Upper end of the prediction interval.
        level: Of the confidence interval; above 0.95 where several claims share one error rate.
    """

    value: float
    low: float
    high: float
    rounds: int
    repeat_low: float
    repeat_high: float
    level: float = LEVEL

    def __str__(self) -> str:
        """`1.32 (1.25 to 1.40)`."""
        return f"{short(self.value)} ({short(self.low)} to {short(self.high)})"

    @property
    def width_ratio(self) -> float:
        """Width of the confidence interval, relative to the value."""
        return (self.high - self.low) / self.value


def short(ratio: float) -> str:
    """A ratio for people: `1.32`, `0.0041`."""
    return f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"


def claim_level(claims: int) -> float:
    """Level of each interval so that all claims together err with `ERROR_RATE` at most (Bonferroni).

    A claim is that a ratio is above 1, so that only the lower end can be wrong about it: up to two claims, intervals of
    95 % do.
    """
    return max(LEVEL, 1 - 2 * ERROR_RATE / max(1, claims))


def ratio_of(
    ours: Sequence[float], theirs: Sequence[float], *, level: float = LEVEL, first_rounds: int | None = None
) -> Ratio:
    """Ratio of two sequences measured in the same rounds.

    Args:
        ours: One positive value per round.
        theirs: As many, of the same rounds.
        level: Nominal level of the confidence interval; the prediction interval's is always 95 %.
        first_rounds: How many rounds were fixed beforehand, where their scatter decided how many more there are; None
            where all were.

    Raises:
        ValueError: There are fewer than two rounds, the sequences differ in length, or a value is not above 0.
    """
    logs = _logs(ours, theirs)
    rounds = len(logs)
    first = logs[: min(first_rounds, rounds)] if first_rounds else logs
    mean = fmean(logs)
    reach = max(t_quantile(level, len(each) - 1) * stdev(each) for each in (first, logs))
    half = reach / sqrt(rounds)
    round_again = t_quantile(LEVEL, rounds - 1) * stdev(logs) * sqrt(1 + 1 / rounds)
    again = hypot(round_again, NormalDist().inv_cdf((1 + LEVEL) / 2) * SESSION_SD)
    return Ratio(
        value=exp(mean),
        low=exp(mean - half),
        high=exp(mean + half),
        rounds=rounds,
        repeat_low=exp(mean - again),
        repeat_high=exp(mean + again),
        level=level,
    )


def rounds_needed(ours: Sequence[float], theirs: Sequence[float], *, level: float, width_ratio: float) -> int:
    """Rounds after which the interval is narrow enough, from those that were fixed beforehand.

    Args:
        ours: Values of these rounds.
        theirs: The other side's.
        level: Of the interval.
        width_ratio: Asked width, relative to the value.
    """
    logs, width = _logs(ours, theirs), _AIM * width_ratio
    half = log(width / 2 + sqrt(1 + width**2 / 4))  # exp(half) - exp(-half) is the width
    return max(len(logs), ceil((t_quantile(level, len(logs) - 1) * stdev(logs) / half) ** 2))


def _logs(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    if len(ours) < 2 or len(ours) != len(theirs):
        raise ValueError(f"both sides need one value in each of two rounds or more, but got {len(ours)}, {len(theirs)}")
    if min(*ours, *theirs) <= 0:
        raise ValueError(f"every value must be above 0, but got {min(*ours, *theirs)}")
    return [log(mine / other) for mine, other in zip(ours, theirs, strict=True)]
