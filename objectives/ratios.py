"""How much better one thing is than another, from measurements taken in turn; and how sure that is.

Everything is done on the logarithms of the rounds' ratios: a round measures both sides, so that what disturbs the round
disturbs both, and noise is a matter of per cent.

Source of the method for two things: Stein, "A two-sample test for a linear hypothesis whose power is independent of the
variance" (1945). The scatter of a first number of rounds, fixed beforehand, decides how many more there are, and the
interval is built with that first scatter and its degrees of freedom. So the level holds for normal noise, although we
stop when it is tight: looking again and again at an interval and stopping when it pleases would not. Where all rounds
together scatter by more than the first ones promised, the interval is as wide as they say: a stall is rare, and may
come after a calm beginning.

Of several things measured in the same rounds one noise is estimated. A round measures each thing once, so that what
disturbs the round disturbs all in it. On logarithms a value is the thing's own level, plus the round's disturbance,
plus noise; what level and disturbance leave over is noise. With two or three rounds the scatter of one ratio stands on
one or two degrees of freedom, and its interval says nothing (t is 12.7 or 4.3). But all things are measured on the same
machine with the same load: n things in r rounds give (n - 1)(r - 1) degrees of freedom. Taking the noise from what is
left over, and not from the ratios to the one thing that all are compared with, counts that thing's own noise once. The
price is an assumption: all things scatter alike. Where one scatters more, its interval is too narrow. Source of the
method: randomised blocks, Fisher, The Design of Experiments (1935), chapter IV.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

import numpy as np

from objectives.repeats import Noise, t_quantile

LEVEL: Final = 0.95
ERROR_RATE: Final = 0.05
"""Chance that anything at all is claimed to be better that is not."""
SESSION_SD: Final = 0.05
"""Standard deviation of a ratio's logarithm from one session to the next: a broker started anew, another hour.

The rounds of one session share it, so that their scatter can't show it. From 40 repeats of four recommendations, each
on a broker of its own: docs/evidence/trust.md.
"""
_AIM: Final = 0.95
"""Of the width that is asked for: later rounds may scatter a little more than the first ones promised."""
ValuesByRound = Mapping[Hashable, float]
"""Values of one thing by round, each above 0."""


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


def noise_in_turns(things: Mapping[str, ValuesByRound]) -> Noise | None:
    """How far single measurements scatter, pooled over all things; None where nothing tells noise from level.

    Things and rounds may be missing: the levels are fitted by least squares to what is there.

    Args:
        things: By name.
    """
    places = [(name, turn) for name, turns in things.items() for turn in turns]
    if not places:
        return None
    names, turns = dict.fromkeys(name for name, _ in places), dict.fromkeys(turn for _, turn in places)
    levels = [[each == name for each in names] + [each == turn for each in turns] for name, turn in places]
    design = np.array(levels, dtype=np.float64)
    logs = np.log([things[name][turn] for name, turn in places])
    fitted, _, rank, _ = np.linalg.lstsq(design, logs)
    freedom = len(places) - int(rank)
    if freedom < 1:
        return None
    left_over = logs - design @ fitted
    return Noise(sqrt(float(left_over @ left_over) / freedom), freedom)


def ratio_in_turns(ours: ValuesByRound, *others: ValuesByRound, noise: Noise, level: float = LEVEL) -> Ratio:
    """How many times larger one thing is than another, from the rounds that they share.

    With several others it is the product of the ratios to each: our own noise then counts as often as we are compared.

    Args:
        ours: Values of the one thing.
        others: Of those that it is compared with, at least one.
        noise: Of a single measurement.
        level: Nominal level of the confidence interval.

    Raises:
        ValueError: One of the others shares no round with ours.
    """
    shared = [ours.keys() & other.keys() for other in others]
    if not others or not all(shared):
        raise ValueError(f"a ratio needs a round that both sides share, but got {sorted(map(len, shared))} of them")
    pairs = list(zip(others, shared, strict=True))
    mean = sum(fmean(log(ours[turn] / other[turn]) for turn in turns) for other, turns in pairs)
    weights = [sum(1 / len(turns) for turns in shared if turn in turns) for turn in ours]
    variance = sum(weight**2 for weight in weights) + sum(1 / len(turns) for turns in shared)
    once_more = len(others) ** 2 + len(others)
    half = t_quantile(level, noise.degrees_of_freedom) * noise.sd_log * sqrt(variance)
    again = t_quantile(LEVEL, noise.degrees_of_freedom) * noise.sd_log * sqrt(variance + once_more)
    return Ratio(
        value=exp(mean),
        low=exp(mean - half),
        high=exp(mean + half),
        rounds=min(map(len, shared)),
        repeat_low=exp(mean - again),
        repeat_high=exp(mean + again),
        level=level,
    )
