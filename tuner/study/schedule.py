"""What is measured next: follows from the record alone, so that a study goes on where it stopped."""

from collections.abc import Sequence
from typing import Final

from tuner.study.spec import SearchSpec
from tuner.study.trial import Kind

AGREEMENT_RATIO: Final = 0.05
"""Successive baselines that differ by no more end the burn-in."""


def next_kind(counted: int, search: SearchSpec) -> Kind | None:
    """Baseline first and every few trials, search else; None when as many as asked for were measured.

    Args:
        counted: Trials of the record size, baselines and searches, those under way included.
        search: How many, and how often the baseline returns.
    """
    if search.trials is not None and counted >= search.trials:
        return None
    return Kind.BASELINE if counted % max(1, search.baseline_every) == 0 else Kind.SEARCH


def burnt_in(capacities: Sequence[float], at_most: int) -> bool:
    """Whether the last two baselines of this run agree, or enough were measured.

    Args:
        capacities: Records per second of the burn-ins of this run.
        at_most: How many are measured when they don't agree; one is always needed.
    """
    if len(capacities) >= max(1, at_most):
        return True
    if len(capacities) < 2:
        return False
    before, last = capacities[-2:]
    return abs(last - before) <= AGREEMENT_RATIO * max(last, before)
