"""Estimates how much better one config is than another, with intervals, from measurements taken in turn.

All computations use the logarithms of the rounds' ratios. A round measures both configs, so a disturbance of the round
affects both and cancels out in the ratio. Noise is proportional to the value, so it is additive on logarithms.

Two configs are compared with Stein's method: "A two-sample test for a linear hypothesis whose power is independent of
the variance" (1945). The number of first rounds is fixed beforehand. The scatter of the first rounds decides how many
more rounds there are. The interval also uses the scatter of the first rounds and its degrees of freedom. So the
confidence level holds for normal noise, although we stop when the interval is narrow. The level would not hold if we
checked the interval after every round and stopped as soon as it was narrow. If all rounds together scatter more than
the first rounds did, the interval is computed from all rounds instead, because a rare stall may come after a calm
start.

The undo rounds of a confirmation measure a config alternating with several variants of itself, in two or three rounds.
Configs scatter differently, so the interval of each comparison uses the scatter of this comparison. With so few rounds,
the scatter has only one or two degrees of freedom, and the interval is uselessly wide (t is 12.7 or 4.3). Therefore the
scatter of the same config against the baseline in the first rounds of the confirmation is added, as `_POOLED_WEIGHT`
degrees of freedom. An interval is then too narrow only for a variant that scatters much more than the config and the
baseline do.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, exp, hypot, inf, log, sqrt
from statistics import NormalDist, fmean
from typing import Final

import numpy as np

from objectives.repeats import Noise
from objectives.students_t import t_quantile, t_tail

LEVEL: Final = 0.95
"""The level of confidence and prediction intervals, unless another one is stated."""
ERROR_RATE: Final = 0.05
"""Accepted probability that at least one claim about a record size is wrong: it claims a gain where there is none."""
SESSION_SD: Final = 0.05
"""Standard deviation of one session, on the logarithm of a ratio: how far the ratio in a session lies from its mean.

A session is one start of the brokers or, on a user's cluster, rounds that follow each other closely. All rounds of a
session have the same deviation, so the scatter of the rounds does not show it. It was measured with 40 repeats of four
recommendations, each repeat on a new broker: see docs/evidence/trust.md.
"""
SESSIONS_APART_SD: Final = sqrt(2) * SESSION_SD
"""Standard deviation of the difference between two sessions, on the logarithm of a ratio that both have measured."""
_AIMED_WIDTH_RATIO: Final = 0.95
"""Share of the requested interval width to aim for, as later rounds may scatter a little more than the first rounds."""
_POOLED_WEIGHT: Final = 4
"""The most degrees of freedom that the scatter in other rounds adds to the scatter of a comparison in few rounds."""
_LARGEST_LOG: Final = 700.0
"""The logarithm of the largest ratio: floats end at about e to the power of 709."""
ValuesByRound = Mapping[Hashable, float]
"""The values of one config by round, all above 0."""


@dataclass(frozen=True, slots=True)
class Ratio:
    """How many times larger the values of one config are than those of another, with two intervals.

    Attributes:
        value: Geometric mean of the rounds' ratios.
        low: Lower end of the confidence interval for the true ratio.
        high: Upper end of the confidence interval.
        rounds: How many rounds the ratio was computed from.
        repeat_low: Lower end of the 95 % prediction interval, in which the ratio of one more round would lie if the
            round were measured on another day.
        repeat_high: Upper end of the prediction interval.
        level: Level of the confidence interval; above 0.95 if several claims share one error rate.
    """

    value: float
    low: float
    high: float
    rounds: int
    repeat_low: float
    repeat_high: float
    level: float = LEVEL

    @property
    def inverse(self) -> "Ratio":
        """The ratio the other way round: how many times larger the values of the other config are."""
        ends = (self.value, self.high, self.low, self.repeat_high, self.repeat_low)
        value, low, high, repeat_low, repeat_high = (_exp(-log(each)) if each > 0 else _exp(inf) for each in ends)
        return replace(self, value=value, low=low, high=high, repeat_low=repeat_low, repeat_high=repeat_high)

    @property
    def inconclusive(self) -> bool:
        """Whether the interval says nothing: it contains 1, and its upper end is more than twice its lower end."""
        return self.low <= 1.0 <= self.high and self.high > 2 * self.low

    def __str__(self) -> str:
        """Return the ratio with its confidence interval: `1.32 (1.25 to 1.40)`; if inconclusive, `1.7 (0.4 to 7.2)`."""
        value, low, high = (ratio_text(each, rough=self.inconclusive) for each in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


def ratio_text(ratio: float, *, rough: bool = False) -> str:
    """Return a ratio as text for people with about three digits: `1.32`, `24.1`, `0.041`.

    A ratio that is too far from 1 to be believed has only a bound: `under 0.01`, `over 1000`.

    Args:
        ratio: The ratio.
        rough: Whether the ratio is so uncertain that it has at most two digits.
    """
    if ratio < 0.01 or ratio >= 1000:
        return "under 0.01" if ratio < 1 else "over 1000"
    if rough:
        return f"{float(f'{ratio:.2g}'):g}"
    for limit, digits in ((100, 0), (10, 1), (0.1, 2)):
        if ratio >= limit:
            return f"{ratio:.{digits}f}"
    return f"{ratio:.2g}"


def claim_level(claims: int, error_rate: float = ERROR_RATE) -> float:
    """Return the confidence level that every claim's interval needs to keep an error rate for all claims together.

    This is Bonferroni's correction. A claim says that a ratio is above 1, so only the lower end of the ratio's interval
    matters. Therefore intervals of 95 % are enough for up to two claims.
    """
    return max(LEVEL, 1 - 2 * error_rate / max(1, claims))


def ratio_of(
    ours: Sequence[float],
    theirs: Sequence[float],
    *,
    level: float = LEVEL,
    first_rounds: int | None = None,
    apart_sd: float = SESSIONS_APART_SD,
) -> Ratio:
    """Return the ratio between the values of two configs that were measured in the same rounds.

    Args:
        ours: The values of one config, one per round, above 0.
        theirs: The values of the other config in the same rounds, above 0.
        level: Level of the confidence interval; the prediction interval always has 95 %.
        first_rounds: The number of first rounds, if the scatter of the first rounds decided how many more rounds were
            measured. None if the number of all rounds was fixed beforehand.
        apart_sd: Standard deviation between the session of these rounds and the session of one more round, on
            logarithms. By default, all rounds were in one session. 0 if each round was on a newly started broker,
            because the scatter of the rounds then shows how sessions differ.

    Raises:
        ValueError: There are fewer than two rounds, the sequences differ in length, or a value is not above 0.
    """
    logs = _logs(ours, theirs)
    rounds = len(logs)
    mean = fmean(logs)
    half = max(t_quantile(level, freedom) * error for error, freedom in _errors(logs, first_rounds))
    round_again = t_quantile(LEVEL, rounds - 1) * _deviation(logs) * sqrt(1 + 1 / rounds)
    again = hypot(round_again, NormalDist().inv_cdf((1 + LEVEL) / 2) * apart_sd)
    return Ratio(
        value=exp(mean),
        low=exp(mean - half),
        high=_exp(mean + half),
        rounds=rounds,
        repeat_low=exp(mean - again),
        repeat_high=_exp(mean + again),
        level=level,
    )


def ratio_to_limit(values: Sequence[float], limit: float, *, level: float = LEVEL) -> Ratio:
    """Return the ratio between the mean of values and a number, with intervals for the arithmetic mean.

    The values may be near 0, where logarithms would scatter without bound. The lower ends are not below 0.

    Args:
        values: The values, one per round, not below 0.
        limit: The number that the mean is divided by, above 0.
        level: Level of the confidence interval.

    Raises:
        ValueError: There are fewer than two values.
    """
    rounds = len(values)
    if rounds < 2:
        raise ValueError(f"an interval needs at least two rounds, but there are {rounds}")
    mean, error = fmean(values) / limit, _deviation(values) / limit
    half = t_quantile(level, rounds - 1) * error / sqrt(rounds)
    again = t_quantile(LEVEL, rounds - 1) * error * sqrt(1 + 1 / rounds)
    return Ratio(mean, max(0.0, mean - half), mean + half, rounds, max(0.0, mean - again), mean + again, level)


def _exp(logarithm: float) -> float:
    """Return e to the power of a logarithm, but at most about 1e304, because no float is much larger.

    The upper end of an interval would be larger if two rounds scatter much and the level is nearly 1.
    """
    return exp(min(logarithm, _LARGEST_LOG))


def p_value(ours: Sequence[float], theirs: Sequence[float], *, first_rounds: int | None = None) -> float:
    """Return the p-value of a gain: the probability of such a ratio, or a larger one, if the true ratio is at most 1.

    The p-value agrees with `ratio_of`: it is at most p if and only if the confidence interval of level 1 - 2p lies at
    or above 1. With `first_rounds`, two t-tests are made, one with the scatter of the first rounds and one with the
    scatter of all rounds. The larger p-value is returned.

    Args:
        ours: The values of one config, one per round, above 0.
        theirs: The values of the other config in the same rounds, above 0.
        first_rounds: As for `ratio_of`.

    Raises:
        ValueError: There are fewer than two rounds, the sequences differ in length, or a value is not above 0.
    """
    logs = _logs(ours, theirs)
    mean = fmean(logs)
    return max(t_tail(mean, error, freedom) for error, freedom in _errors(logs, first_rounds))


def _errors(logs: Sequence[float], first_rounds: int | None) -> list[tuple[float, int]]:
    """Return two standard errors of the mean with their degrees of freedom: from the first rounds, and from all."""
    first = logs[: min(first_rounds, len(logs))] if first_rounds else logs
    return [(_deviation(each) / sqrt(len(logs)), len(each) - 1) for each in (first, logs)]


def rounds_needed(ours: Sequence[float], theirs: Sequence[float], *, level: float, width_ratio: float) -> int:
    """Return the number of rounds after which the interval of the ratio is narrow enough, judged by the first rounds.

    Args:
        ours: The values of one config in the first rounds, whose number was fixed beforehand.
        theirs: The values of the other config in the same rounds.
        level: Level of the confidence interval.
        width_ratio: Requested width of the interval, relative to the ratio.
    """
    logs, width = _logs(ours, theirs), _AIMED_WIDTH_RATIO * width_ratio
    half = log(width / 2 + sqrt(1 + width**2 / 4))  # exp(half) - exp(-half) is the width
    return max(len(logs), ceil((t_quantile(level, len(logs) - 1) * _deviation(logs) / half) ** 2))


def _deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample, five times faster than `statistics.stdev`."""
    return float(np.std(values, ddof=1))


def _logs(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    if len(ours) < 2 or len(ours) != len(theirs):
        raise ValueError(
            "a ratio needs the values of both configs from the same two or more rounds, "
            f"but got {len(ours)} and {len(theirs)} values"
        )
    if min(*ours, *theirs) <= 0:
        raise ValueError(f"every value of a ratio must be above 0, but got {min(*ours, *theirs)}")
    return [log(mine / other) for mine, other in zip(ours, theirs, strict=True)]


def variant_ratio(
    ours: ValuesByRound, *others: ValuesByRound, noise: Noise | None = None, level: float = LEVEL
) -> Ratio | None:
    """Return how many times larger one config's values are than another's, from the rounds that both were measured in.

    If there are several `others`, the result is the product of the ratios to each of them. The noise of `ours` then
    counts once for every ratio.

    Args:
        ours: Values of the config to compare.
        others: Values of the configs to compare with; at least one config.
        noise: The scatter of the logarithm of a ratio between `ours` and another config in other rounds, whose number
            was fixed beforehand.
        level: Level of the confidence interval.

    Returns:
        The ratio; None if the configs have no round in common, or if its scatter can't be estimated.
    """
    shared = [round_ for round_ in ours if all(round_ in other for other in others)]
    # The mean logarithm over the others scatters no more than that of a single ratio.
    logs = [fmean(log(ours[round_] / other[round_]) for other in others) for round_ in shared]
    known = Noise(0.0, 0) if noise is None else noise
    weight = min(_POOLED_WEIGHT, known.degrees_of_freedom)
    if not logs or len(logs) - 1 + weight < 1:
        return None
    scatter = Noise.of([[exp(each) for each in logs]], known.sd_log, weight)
    mean, times = fmean(logs), len(others)
    half = t_quantile(level, scatter.degrees_of_freedom) * scatter.sd_log / sqrt(len(logs))
    again = t_quantile(LEVEL, scatter.degrees_of_freedom) * scatter.sd_log * sqrt(1 + 1 / len(logs))
    return Ratio(
        value=exp(times * mean),
        low=exp(times * (mean - half)),
        high=_exp(times * (mean + half)),
        rounds=len(logs),
        repeat_low=exp(times * (mean - again)),
        repeat_high=_exp(times * (mean + again)),
        level=level,
    )
