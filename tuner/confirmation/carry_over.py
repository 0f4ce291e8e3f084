"""Carry-over: how a measurement's values depend on the config that was measured before it.

The order of the rounds keeps a carry-over out of the gains (`tuner.confirmation.order`), but not out of the numbers of
the search. So each confirmation measures it from its own rounds: the values of all configs after another config, over
their values after the baseline. The logarithm of a value is modelled as a sum of four terms: the config's own level, a
straight line over time, the carry-over (if another config than the baseline was measured before), and noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log, sqrt
from typing import Final

import numpy as np

from objectives.metrics import OUTCOME_METRICS
from objectives.ratios import ERROR_RATE, ratio_text
from objectives.students_t import t_quantile
from tuner.confirmation.order import measured_before
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.rounds import is_comparable
from tuner.model.trial import State, Trial, TrialKind

_SMALL_RATIO: Final = 0.03
"""A carry-over of at most this share of the values is not worth a warning."""
_LEAST_DEGREES: Final = 4
"""The fewest degrees of freedom from which a carry-over is computed: with fewer, its interval says nothing."""


@dataclass(frozen=True, slots=True)
class CarryOver:
    """The carry-over of one metric, with its confidence interval.

    Attributes:
        metric: The metric.
        value: The values after another config, divided by the values after the baseline.
        low: Lower end of the confidence interval.
        high: Upper end of the confidence interval.
    """

    metric: str
    value: float
    low: float
    high: float

    @property
    def matters(self) -> bool:
        """Whether a carry-over is certain and large enough to matter."""
        return not self.low <= 1.0 <= self.high and abs(log(self.value)) > log(1 + _SMALL_RATIO)

    def __str__(self) -> str:
        """Return the carry-over as a sentence without a full stop."""
        return (
            f"measurements influence each other: in the rounds, {OUTCOME_METRICS[self.metric].label} was "
            f"{ratio_text(self.value)} ({ratio_text(self.low)} to {ratio_text(self.high)}) times as high after "
            "another config as after the baseline. The order of the rounds keeps this out of the gains, but not out of "
            "the numbers of the search"
        )


def carry_overs_of(
    trials: Sequence[Trial], plans: Sequence[ConfirmationPlan], metrics: Sequence[str]
) -> tuple[CarryOver, ...]:
    """Return the carry-over of each metric in the newest confirmation that has enough rounds to compute it.

    All intervals together contain the true values with a probability of at least 95 %.

    Args:
        trials: The trials of the record size, with the burn-in runs.
        plans: The plans of the record size's confirmations, the oldest first.
        metrics: The metrics. A metric with too few values is left out of the result.
    """
    before = measured_before(trials)
    for plan in reversed(plans):
        measured = [trial for trial in plan.trials_of(TrialKind.CONFIRM, trials) if trial.number in before]
        found = [_carry_over(measured, before, plan.baseline, metric, len(metrics)) for metric in metrics]
        if any(found):
            return tuple(each for each in found if each is not None)
    return ()


def _carry_over(
    measured: Sequence[Trial], before: dict[int, str], baseline: str, metric: str, metrics: int
) -> CarryOver | None:
    """Return the carry-over of one metric, or None if these trials are too few to compute it.

    Args:
        measured: The trials of the rounds.
        before: The config that was measured before each trial, from `measured_before`.
        baseline: The baseline's fingerprint.
        metric: The metric.
        metrics: The number of metrics, whose intervals hold together.
    """
    known = [trial for trial in measured if trial.state is State.COMPLETE and is_comparable(trial, metric)]
    configs = dict.fromkeys(trial.fingerprint for trial in known)
    after_other = [float(before[trial.number] != baseline) for trial in known]
    freedom = len(known) - len(configs) - 2
    if freedom < _LEAST_DEGREES or len(set(after_other)) < 2:
        return None
    columns = [
        [after, float(trial.number), *(float(trial.fingerprint == each) for each in configs)]
        for trial, after in zip(known, after_other, strict=True)
    ]
    design, logs = np.array(columns), np.log([trial.metrics[metric] for trial in known])
    if np.linalg.matrix_rank(design) < design.shape[1]:
        return None  # this order can't separate the carry-over from the levels of the configs
    fitted = np.linalg.lstsq(design, logs)[0]
    left_over = logs - design @ fitted
    variance = float(left_over @ left_over) / freedom * float(np.linalg.inv(design.T @ design)[0, 0])
    half = t_quantile(1 - ERROR_RATE / metrics, freedom) * sqrt(variance)
    carried = float(fitted[0])
    return CarryOver(metric, exp(carried), exp(carried - half), exp(carried + half))
