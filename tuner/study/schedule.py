"""What is measured next: follows from the record alone, so that a study goes on where it stopped."""

from collections.abc import Sequence
from typing import Final

from tuner.study.spec import SearchSpec
from tuner.study.trial import Kind

AGREEMENT_RATIO: Final = 0.05
"""Successive baselines whose capacities differ by no more end the burn-in."""
LATENCY_AGREEMENT_RATIO: Final = 0.2
"""The same of their latencies, which scatter more."""


def next_kind(counted: int, search: SearchSpec) -> Kind | None:
    """Baseline first and every few trials, search else; None when as many as asked for were measured.

    Args:
        counted: Trials of the record size, baselines and searches, those under way included.
        search: How many, and how often the baseline returns.
    """
    if search.trials is not None and counted >= search.trials:
        return None
    return Kind.BASELINE if counted % max(1, search.baseline_every) == 0 else Kind.SEARCH


def burnt_in(values: Sequence[float], at_most: int, agreement_ratio: float = AGREEMENT_RATIO) -> bool:
    """Whether the last two baselines of this run agree, or enough were measured.

    Args:
        values: What the burn-ins of this run gave, positive: records per second, or a latency.
        at_most: How many are measured when they don't agree; one is always needed.
        agreement_ratio: By how much those that agree may differ.
    """
    if len(values) >= max(1, at_most):
        return True
    if len(values) < 2:
        return False
    before, last = values[-2:]
    return abs(last - before) <= agreement_ratio * max(last, before)
