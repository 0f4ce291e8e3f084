"""The results of the rows of an experiment."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, log, sqrt
from statistics import fmean, stdev
from typing import Final

from objectives.ratios import LEVEL
from objectives.repeats import mean_of_repeats
from objectives.students_t import t_quantile
from tuner.model.paper import PaperValue
from tuner.model.row import Row
from tuner.model.trial import Trial

_WIDE_RATIO: Final = 10.0


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a metric over the rounds.

    Attributes:
        value: Geometric mean; the arithmetic mean if one of the values is 0 or below.
        low: Lower end of the 95 % confidence interval; equal to `value` if there are fewer than two rounds.
        high: Upper end of the interval.
        rounds: Number of rounds.
    """

    value: float
    low: float
    high: float
    rounds: int

    @property
    def is_too_wide(self) -> bool:
        """Whether the interval is so wide that it says nothing: its upper end is over ten times its lower end."""
        return self.low > 0 and self.high > _WIDE_RATIO * self.low


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of a metric's values, one per round, with its confidence interval."""
    if min(values) <= 0:
        return arithmetic_mean_of(values)
    found = arithmetic_mean_of([log(value) for value in values])
    return Mean(exp(found.value), exp(found.low), exp(found.high), len(values))


def arithmetic_mean_of(values: Sequence[float]) -> Mean:
    """Return the arithmetic mean of a metric's values, one per round, with its confidence interval."""
    center = fmean(values)
    half = t_quantile(LEVEL, len(values) - 1) * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(center, center - half, center + half, len(values))


@dataclass(frozen=True, slots=True)
class OutageWindow:
    """A window (at most a second) of a measurement in which a broker was killed.

    Attributes:
        at_s: Seconds from the kill to the end of the window; below 0 before the kill.
        records_per_s: Acknowledged records per second.
        p99_ms: 99th percentile of the latency of these records; NaN if there were none.
    """

    at_s: float
    records_per_s: float
    p99_ms: float


@dataclass(frozen=True)
class RowResults:
    """The results of one row.

    Attributes:
        row: The row.
        trials: The measurements of the row, in the order in which they were made.
        is_control: Whether the row is the control.
        paper_values: What the paper measured for this row.
        around_loss: The windows of each measurement in which a broker was killed; empty if the row kills none.
    """

    row: Row
    trials: tuple[Trial, ...]
    is_control: bool
    paper_values: tuple[PaperValue, ...]
    around_loss: tuple[tuple[OutageWindow, ...], ...] = ()

    def by_round(self, metric: str) -> dict[int, float]:
        """Return the values of a metric by round. If a round measured the row several times, its value is the mean."""
        found: dict[int, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.round is not None and metric in trial.metrics:
                found[trial.round].append(trial.metrics[metric])
        return {round_: mean_of_repeats(values) for round_, values in found.items()}

    def mean(self, metric: str) -> Mean | None:
        """Return the mean of a metric over the rounds; None if no measurement has the metric."""
        values = list(self.by_round(metric).values())
        return mean_of(values) if values else None

    def in_paper(self, metric: str) -> float | None:
        """Return the paper's value of a metric; None if the paper has none."""
        return next((each.values[metric] for each in self.paper_values if metric in each.values), None)

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """What limited the measurements, the most frequent limit first."""
        verdicts = [trial.verdict for trial in self.trials if trial.verdict]
        return tuple(sorted(set(verdicts), key=lambda each: (-verdicts.count(each), each)))

    @property
    def says_nothing(self) -> bool:
        """Whether the load generator or other processes limited most measurements, so that the config is not judged."""
        return 2 * sum(trial.flagged for trial in self.trials) > len(self.trials)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the measurements less reliable, and why measurements failed."""
        said = [sentence for trial in self.trials for sentence in (*trial.warnings, trial.error) if sentence]
        return tuple(dict.fromkeys(said))
