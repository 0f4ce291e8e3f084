"""How much better one config is than another, from measurements taken in turn, and how certain that is.

All computations use the logarithms of the rounds' ratios. A round measures both configs, so a disturbance of the round
affects both and cancels out in the ratio. Noise is proportional to the value, so it is additive on logarithms.

Two configs are compared with Stein's method: "A two-sample test for a linear hypothesis whose power is independent of
the variance" (1945). The number of first rounds is fixed beforehand. The scatter of the first rounds decides how many
more rounds there are. The interval also uses the scatter of the first rounds and its degrees of freedom. So the
confidence level holds for normal noise, although we stop when the interval is narrow. The level would not hold if we
looked at the interval after every round and stopped when we liked it. If all rounds together scatter more than the
first rounds did, the interval is computed from all rounds instead, because a rare stall may come after a calm start.

For several configs that are measured in the same rounds, one noise is estimated for all of them. On logarithms, a value
is the config's own level, plus the round's disturbance, plus noise. A least-squares fit of levels and disturbances
leaves the noise. This is needed with two or three rounds: the scatter of one ratio then has only one or two degrees of
freedom, and its interval is uselessly wide (t is 12.7 or 4.3). But all configs run on the same machine with the same
load, and n configs in r rounds give (n - 1)(r - 1) degrees of freedom. All ratios share the config that the others are
compared with. The fit counts the noise of that config once, but separate ratios would count it in every ratio. The
price is the assumption that all configs scatter alike; the interval of a config that scatters more is too narrow.
Source of the method: randomised blocks, Fisher, The Design of Experiments (1935), chapter IV.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil, exp, hypot, log, sqrt
from statistics import NormalDist, fmean, stdev
from typing import Final

import numpy as np

from objectives.repeats import Noise, t_quantile, t_tail

LEVEL: Final = 0.95
ERROR_RATE: Final = 0.05
"""Accepted probability that at least one of a study's claims is wrong, that is, claims a gain where there is none."""
SESSION_SD: Final = 0.05
"""Standard deviation of a ratio's logarithm between sessions, such as another hour or a newly started broker.

All rounds of a session share this deviation, so the scatter of the rounds does not show it. It is the deviation of one
session; two sessions differ by `SESSIONS_APART_SD`. It was measured with 40 repeats of four recommendations, each
repeat on a new broker: see docs/evidence/trust.md.
"""
SESSIONS_APART_SD: Final = sqrt(2) * SESSION_SD
"""Standard deviation of the logarithm of the ratio that one session shows, divided by the ratio that another shows."""
_AIM: Final = 0.95
"""Share of the requested interval width to aim for, as later rounds may scatter a little more than the first rounds."""
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
        repeat_low: Lower end of the 95 % prediction interval: where the ratio of one more round would fall on another
            day.
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
    def inconclusive(self) -> bool:
        """Whether the interval says nothing: it contains 1, and its upper end is more than twice its lower end."""
        return self.low <= 1.0 <= self.high and self.high > 2 * self.low

    def __str__(self) -> str:
        """Return the ratio with its confidence interval: `1.32 (1.25 to 1.40)`, or rougher `1.7 (0.4 to 7.2)`."""
        value, low, high = (short(each, rough=self.inconclusive) for each in (self.value, self.low, self.high))
        return f"{value} ({low} to {high})"


def short(ratio: float, *, rough: bool = False) -> str:
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
        first_rounds: How many rounds were fixed beforehand, if their scatter decided how many more there are. None if
            the number of all rounds was fixed beforehand.
        apart_sd: Standard deviation between the session of these rounds and that of one more round, on logarithms. By
            default all rounds were one session. 0 if each round was a session of its own, on a broker started anew,
            because the scatter of the rounds then shows how sessions differ.

    Raises:
        ValueError: There are fewer than two rounds, the sequences differ in length, or a value is not above 0.
    """
    logs = _logs(ours, theirs)
    rounds = len(logs)
    mean = fmean(logs)
    half = max(t_quantile(level, freedom) * error for error, freedom in _errors(logs, first_rounds))
    round_again = t_quantile(LEVEL, rounds - 1) * stdev(logs) * sqrt(1 + 1 / rounds)
    again = hypot(round_again, NormalDist().inv_cdf((1 + LEVEL) / 2) * apart_sd)
    return Ratio(
        value=exp(mean),
        low=exp(mean - half),
        high=exp(mean + half),
        rounds=rounds,
        repeat_low=exp(mean - again),
        repeat_high=exp(mean + again),
        level=level,
    )


def p_value(ours: Sequence[float], theirs: Sequence[float], *, first_rounds: int | None = None) -> float:
    """Return the p-value of a gain: how probable such a ratio, or a larger one, is if the true ratio is 1 or less.

    It agrees with `ratio_of`: the p-value is at most p if and only if the lower end of the interval of level 1 - 2p is
    at least 1. If the number of rounds depended on the scatter of the first ones, it is the larger p-value of two
    t-tests: by the scatter of the first rounds, and by that of all rounds.

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
    """Return the standard error of the mean by the first rounds and by all rounds, with the degrees of freedom."""
    first = logs[: min(first_rounds, len(logs))] if first_rounds else logs
    return [(stdev(each) / sqrt(len(logs)), len(each) - 1) for each in (first, logs)]


def rounds_needed(ours: Sequence[float], theirs: Sequence[float], *, level: float, width_ratio: float) -> int:
    """Return the number of rounds after which the interval of the ratio is narrow enough, judged by the first rounds.

    Args:
        ours: The values of one config in the first rounds, whose number was fixed beforehand.
        theirs: The values of the other config in the same rounds.
        level: Level of the confidence interval.
        width_ratio: Requested width of the interval, relative to the ratio.
    """
    logs, width = _logs(ours, theirs), _AIM * width_ratio
    half = log(width / 2 + sqrt(1 + width**2 / 4))  # exp(half) - exp(-half) is the width
    return max(len(logs), ceil((t_quantile(level, len(logs) - 1) * stdev(logs) / half) ** 2))


def _logs(ours: Sequence[float], theirs: Sequence[float]) -> list[float]:
    if len(ours) < 2 or len(ours) != len(theirs):
        raise ValueError(
            "a ratio needs the values of both configs from the same two or more rounds, "
            f"but got {len(ours)} and {len(theirs)} values"
        )
    if min(*ours, *theirs) <= 0:
        raise ValueError(f"every value of a ratio must be above 0, but got {min(*ours, *theirs)}")
    return [log(mine / other) for mine, other in zip(ours, theirs, strict=True)]


def noise_in_turns(configs: Mapping[str, ValuesByRound]) -> Noise | None:
    """Return the noise of a single measurement, pooled over configs that were measured in turn.

    A least-squares fit finds every config's level (its mean) and every round's disturbance; the rest is noise. Configs
    may lack values in some rounds.

    Args:
        configs: The values of every config by round, by the config's name.

    Returns:
        The noise; None if there are too few values to tell noise from levels and disturbances.
    """
    measured = [(name, round_) for name, rounds in configs.items() for round_ in rounds]
    if not measured:
        return None
    names, rounds = dict.fromkeys(name for name, _ in measured), dict.fromkeys(round_ for _, round_ in measured)
    levels = [[each == name for each in names] + [each == round_ for each in rounds] for name, round_ in measured]
    design = np.array(levels, dtype=np.float64)
    logs = np.log([configs[name][round_] for name, round_ in measured])
    fitted, _, rank, _ = np.linalg.lstsq(design, logs)
    freedom = len(measured) - int(rank)
    if freedom < 1:
        return None
    left_over = logs - design @ fitted
    return Noise(sqrt(float(left_over @ left_over) / freedom), freedom)


def ratio_in_turns(ours: ValuesByRound, *others: ValuesByRound, noise: Noise, level: float = LEVEL) -> Ratio:
    """Return how many times larger one config's values are than another's, from the rounds that both were measured in.

    If there are several `others`, the result is the product of the ratios to each of them. The noise of `ours` then
    counts once for every ratio.

    Args:
        ours: Values of the config to compare.
        others: Values of the configs that it is compared with; at least one config.
        noise: The noise of a single measurement.
        level: Level of the confidence interval.

    Raises:
        ValueError: `others` is empty, or one of the other configs has no round in common with `ours`.
    """
    shared = [ours.keys() & other.keys() for other in others]
    if not others or not all(shared):
        raise ValueError(
            "a config must have a round in common with every config that it is compared with, "
            f"but the numbers of common rounds are {sorted(map(len, shared))}"
        )
    pairs = list(zip(others, shared, strict=True))
    mean = sum(fmean(log(ours[round_] / other[round_]) for round_ in rounds) for other, rounds in pairs)
    weights = [sum(1 / len(rounds) for rounds in shared if round_ in rounds) for round_ in ours]
    variance = sum(weight**2 for weight in weights) + sum(1 / len(rounds) for rounds in shared)
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
