"""Decides which of several claims are proven, and limits the probability that any proven claim is wrong.

A claim says that a config is better than the baseline for a goal. Its p-value is the probability of measuring such a
large gain by chance if the config is no better. A claim is proven if its p-value is small enough.

A study makes several claims. If each claim alone were wrong in 5 % of studies, more than 5 % of studies would contain a
wrong claim. Therefore the claims about a record size share one error probability:

- Before the measurements, the error probability is divided among the claims.
- A claim is proven if its p-value is at most its share.
- A proven claim passes its share on to other claims, by rules that are fixed before the measurements.

The probability that at least one proven claim is wrong is then at most the sum of the first shares. This holds even if
the p-values of the claims depend on each other.

Source: algorithm 1 of Bretz, Maurer, Brannath and Posch, "A graphical approach to sequentially rejective multiple test
procedures", Statistics in Medicine 28 (2009), 586 to 604. The authors say that a hypothesis is rejected. Their
hypothesis is that the config is no better, so to reject the hypothesis is to prove our claim.

All confirmations of a record size share one error probability. Different record sizes do not share theirs, because each
record size has its own recommendation. So for a study with n record sizes, the probability that at least one claim is
wrong is at most n times as large (25 % for five record sizes).
"""

from collections.abc import Collection, Hashable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from objectives.ratios import ERROR_RATE, LEVEL

LARGEST_SHARE: Final = (1 - LEVEL) / 2
"""The largest error probability of a single claim. It keeps the confidence level of a proven gain at 95 % or more."""
_TO_OTHERS: Final = 1e-6
"""The part of a proven claim's share that goes to claims about other configs. The rest goes to claims about its config.

The part is so small that it proves nothing. But without it, other configs would never get a share: when every other
claim about the config is proven, the procedure scales this part up to the whole share.
"""
_FIRST_CONFIRMATION: Final = 3 / 4
"""The part of the error probability that the first confirmation of a record size may use."""
Claim = TypeVar("Claim", bound=Hashable)
Config = TypeVar("Config", bound=Hashable)
Goal = TypeVar("Goal", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Decision:
    """The decision about one claim.

    Attributes:
        proven: Whether the claim is proven: the hypothesis that the config is no better was rejected.
        error_rate: The claim's share of the error probability when the claim was proven. For an unproven claim, its
            share when no more claims could be proven; 0 if the claim never had a share.
    """

    proven: bool
    error_rate: float

    @property
    def level(self) -> float | None:
        """Level of the confidence interval that agrees with the decision; None if the claim never had a share."""
        return 1 - 2 * min(self.error_rate, LARGEST_SHARE) if self.error_rate > 0 else None


def decide(
    p_values: Mapping[Claim, float],
    shares: Mapping[Claim, float],
    transfers: Mapping[Claim, Mapping[Claim, float]],
) -> dict[Claim, Decision]:
    """Return for each claim whether it is proven.

    Claims are proven one after another, first the claim whose p-value is smallest in relation to its share. Another
    order would prove the same claims.

    Args:
        p_values: The p-value of each claim.
        shares: The share of the error probability that each claim has at first. A claim that is not listed has none.
        transfers: For each claim, the parts of its share that other claims get when it is proven. The parts of one
            claim add up to at most 1.
    """
    left = dict.fromkeys(p_values)
    share = {claim: shares.get(claim, 0.0) for claim in left}
    graph = {claim: dict(transfers.get(claim, {})) for claim in left}
    found: dict[Claim, Decision] = {}
    while provable := [claim for claim in left if 0 < share[claim] >= p_values[claim]]:
        proven = min(provable, key=lambda claim: p_values[claim] / share[claim])
        found[proven] = Decision(True, share[proven])
        del left[proven]
        for claim in left:
            share[claim] += share[proven] * graph[proven].get(claim, 0.0)
        graph = {
            claim: {other: _transfer_without(proven, graph, claim, other) for other in left if other != claim}
            for claim in left
        }
    return {claim: found.get(claim) or Decision(False, share[claim]) for claim in p_values}


def _transfer_without(proven: Claim, graph: Mapping[Claim, Mapping[Claim, float]], claim: Claim, other: Claim) -> float:
    """Return which part of the share of `claim` goes to `other`, now that the claim `proven` needs no share any more.

    `claim` would have passed a part on to `proven`. This part now goes where `proven` passes its share.
    """
    there_and_back = graph[claim].get(proven, 0.0) * graph[proven].get(claim, 0.0)
    if there_and_back >= 1:
        return 0.0
    through_proven = graph[claim].get(proven, 0.0) * graph[proven].get(other, 0.0)
    return (graph[claim].get(other, 0.0) + through_proven) / (1 - there_and_back)


def claims_about_configs(
    p_values: Mapping[tuple[Config, Goal], float], nominated: Collection[tuple[Config, Goal]], error_rate: float
) -> dict[tuple[Config, Goal], Decision]:
    """Return which configs are proven to be better, and for which goals.

    Some claims are nominated before the measurements: that the winner of a goal is better for this goal. At first, only
    nominated claims have a share of the error probability, and they have equal shares. The share of a proven claim goes
    in equal parts to the claims about the same config and other goals. When these claims are proven too, the share goes
    to the nominated claims about other configs. Every claim that would be proven with equal shares alone is still
    proven.

    Args:
        p_values: The p-value of each claim, which is a config and a goal.
        nominated: The claims that were nominated before the measurements.
        error_rate: The accepted probability of at least one false claim.
    """
    # A larger p-value is still valid: it only makes a claim harder to prove. So a p-value above the largest share may
    # count as 1. Then the interval of every proven gain has a level of at least 95 %.
    strict = {claim: p if p <= LARGEST_SHARE else 1.0 for claim, p in p_values.items()}
    shares = {claim: error_rate / len(nominated) for claim in nominated}
    return decide(strict, shares, {claim: _transfers(claim, p_values, nominated) for claim in p_values})


def _transfers(
    claim: tuple[Config, Goal], family: Collection[tuple[Config, Goal]], nominated: Collection[tuple[Config, Goal]]
) -> dict[tuple[Config, Goal], float]:
    """Return which part of a proven claim's share goes to which other claim."""
    config = claim[0]
    same_config = [each for each in family if each[0] == config and each != claim]
    others = [each for each in nominated if each[0] != config and each in family]
    to_others = (_TO_OTHERS if same_config else 1.0) if others else 0.0
    return {
        **{each: (1 - to_others) / len(same_config) for each in same_config},
        **{each: to_others / len(others) for each in others},
    }


def confirmation_error_rate(number: int) -> float:
    """Return the accepted probability of a false claim in one confirmation, if a record size may be confirmed again.

    The first confirmation of a record size may use three quarters of `ERROR_RATE`. Each later confirmation may use a
    quarter of what the previous one may use. So any number of confirmations together keep to `ERROR_RATE`. In the first
    confirmation, each of the usual three claims gets 1.25 %, which is a confidence interval of 97.5 %.

    Args:
        number: The number of the confirmation, from 1.
    """
    return ERROR_RATE * _FIRST_CONFIRMATION * (1 - _FIRST_CONFIRMATION) ** (number - 1)
