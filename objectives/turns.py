"""Several things measured in the same rounds: how far single measurements scatter, and how one compares with others.

A round measures each thing once, so that what disturbs the round disturbs all in it. On logarithms a value is the
thing's own level, plus the round's disturbance, plus noise; what level and disturbance leave over is noise.

With two or three rounds the scatter of one ratio stands on one or two degrees of freedom, and its interval says
nothing (t is 12.7 or 4.3). But all things are measured on the same machine with the same load, so that one noise is
estimated for all of them: n things in r rounds give (n - 1)(r - 1) degrees of freedom. Taking it from what is left
over, and not from the ratios to the one thing that all are compared with, counts that thing's own noise once. The
price is an assumption: all things scatter alike. Where one scatters more, its interval is too narrow.

Source of the method: randomised blocks, Fisher, The Design of Experiments (1935), chapter IV.
"""

from collections.abc import Hashable, Mapping
from math import exp, log, sqrt
from statistics import fmean

import numpy as np

from objectives.ratios import LEVEL, Ratio
from objectives.repeats import Noise, t_quantile

ValuesByRound = Mapping[Hashable, float]
"""Values of one thing by round, each above 0."""


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
