"""Which of several claims are proven, so that all of them together rarely contain a false one.

A claim says that a config is better than the baseline for a goal. Its hypothesis says that the config is not. To reject
the hypothesis is to prove the claim.

The procedure is the graphical one of Bretz, Maurer, Brannath and Posch: "A graphical approach to sequentially rejective
multiple test procedures", Statistics in Medicine 28 (2009), 586 to 604, algorithm 1. The accepted error probability is
divided among the hypotheses before the measurements. A hypothesis is rejected if its p-value is at most its share. The
share of a rejected hypothesis is passed on to other hypotheses, along shares that were fixed beforehand. The
probability of at least one false rejection is at most the sum of all shares, whatever depends on what.

The accepted probability is for one record size, over all of its confirmations. Record sizes are judged apart, because
each has a recommendation of its own: with n sizes, the probability that at least one of them has a false claim is at
most n times as large (25 % for five sizes).
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from objectives.ratios import ERROR_RATE, LEVEL

LARGEST_SHARE: Final = (1 - LEVEL) / 2
"""The largest error probability of a single claim, so that the interval of a proven gain has at least 95 %."""
_REST: Final = 1e-6
"""The part of a rejected hypothesis's share that goes to other configs while its own config can still use it.

So small that it proves nothing there. When the config needs nothing any more, the graph sends all to the others.
"""
_FIRST_SESSION: Final = 3 / 4
Claim = TypeVar("Claim", bound=Hashable)
Config = TypeVar("Config", bound=Hashable)
Aim = TypeVar("Aim", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a procedure decided about one hypothesis.

    Attributes:
        rejected: Whether the hypothesis is rejected, that is, the claim is proven.
        error_rate: The share of the error probability at which the hypothesis was tested in the end: when it was
            rejected, or when nothing more could be rejected. 0 if it was not tested.
    """

    rejected: bool
    error_rate: float

    @property
    def level(self) -> float | None:
        """Level of the two-sided interval that agrees with the decision; None if the hypothesis was not tested."""
        return 1 - 2 * min(self.error_rate, LARGEST_SHARE) if self.error_rate > 0 else None


def rejections(
    p_values: Mapping[Claim, float],
    shares: Mapping[Claim, float],
    transfers: Mapping[Claim, Mapping[Claim, float]],
) -> dict[Claim, Decision]:
    """Return what the graphical procedure decides about each hypothesis.

    The order in which hypotheses are rejected does not change which ones are rejected. We reject the hypothesis first
    whose p-value is smallest relative to its share.

    Args:
        p_values: The p-value of each hypothesis.
        shares: The share of the error probability that each hypothesis has at first; a missing one has 0.
        transfers: For each hypothesis, which part of its share each other hypothesis gets when it is rejected. The
            parts add up to 1 at most.
    """
    left = dict.fromkeys(p_values)
    share = {claim: shares.get(claim, 0.0) for claim in left}
    graph = {claim: dict(transfers.get(claim, {})) for claim in left}
    found: dict[Claim, Decision] = {}
    while provable := [claim for claim in left if 0 < share[claim] >= p_values[claim]]:
        out = min(provable, key=lambda claim: p_values[claim] / share[claim])
        found[out] = Decision(True, share[out])
        del left[out]
        for one in left:
            share[one] += share[out] * graph[out].get(one, 0.0)
        graph = {one: {other: _after(graph, one, other, out) for other in left if other != one} for one in left}
    return {claim: found.get(claim) or Decision(False, share[claim]) for claim in p_values}


def _after(graph: Mapping[Claim, Mapping[Claim, float]], one: Claim, other: Claim, out: Claim) -> float:
    """Return which part of a share goes from one hypothesis to another after a third one was rejected."""
    there_and_back = graph[one].get(out, 0.0) * graph[out].get(one, 0.0)
    if there_and_back >= 1:
        return 0.0
    around = graph[one].get(out, 0.0) * graph[out].get(other, 0.0)
    return (graph[one].get(other, 0.0) + around) / (1 - there_and_back)


def claims_about_configs(
    p_values: Mapping[tuple[Config, Aim], float], nominated: Collection[tuple[Config, Aim]], error_rate: float
) -> dict[tuple[Config, Aim], Decision]:
    """Return which configs are proven to be better, and for which goals.

    The claims that were chosen before the measurements (a goal and its winner) share the error probability equally; all
    others have nothing at first. The share of a proven claim goes to the other goals of the same config, equally. What
    these no longer need goes on to the claims that were chosen for other configs. Nothing that equal shares alone would
    prove is lost.

    Args:
        p_values: The p-value of each config and goal.
        nominated: The configs and goals that were chosen beforehand.
        error_rate: The accepted probability of at least one false claim.
    """
    # A p-value above the largest share counts as 1. It stays a valid p-value, and no claim has an interval below 95 %.
    strict = {claim: p if p <= LARGEST_SHARE else 1.0 for claim, p in p_values.items()}
    shares = {claim: error_rate / len(nominated) for claim in nominated}
    return rejections(strict, shares, {claim: _transfers(claim, p_values, nominated) for claim in p_values})


def _transfers(
    claim: tuple[Config, Aim], family: Collection[tuple[Config, Aim]], nominated: Collection[tuple[Config, Aim]]
) -> dict[tuple[Config, Aim], float]:
    own = [each for each in family if each[0] == claim[0] and each != claim]
    elsewhere = [each for each in nominated if each[0] != claim[0] and each in family]
    rest = (_REST if own else 1.0) if elsewhere else 0.0
    return {**{each: (1 - rest) / len(own) for each in own}, **{each: rest / len(elsewhere) for each in elsewhere}}


def session_error_rate(session: int) -> float:
    """Return the accepted probability of a false claim in one of several confirmations of the same record size.

    The first has three quarters of `ERROR_RATE`, and each later one a quarter of the one before, so that all
    confirmations together, however many there are, keep `ERROR_RATE`. With the usual three claims, the first tests each
    at 1.25 %, which is an interval of 97.5 %.

    Args:
        session: The number of the confirmation, from 1.
    """
    return ERROR_RATE * _FIRST_SESSION * (1 - _FIRST_SESSION) ** (session - 1)
