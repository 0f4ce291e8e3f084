"""What all measurements of a config together say: repeats averaged, each compared with the baseline of its own time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, log, sqrt
from statistics import fmean
from typing import Final, Self

from objectives.outcome import OUTCOME_METRICS
from objectives.repeats import Drift, Estimate, Noise, t_quantile
from tuner.model.trial import Kind, State, Trial

_LEVEL: Final = 0.95
_POOLED_WEIGHT: Final = 4
"""In degrees of freedom: what the scatter of all configs is worth for one of them, as in `objectives.racing`."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """Of one record size.

    Attributes:
        drift: By metric, how the baseline wandered.
        noise: By metric, how far repeats of one config scatter, drift taken out.
        by_config: By fingerprint and metric, the mean of all measurements with its 95 % interval.
    """

    drift: Mapping[str, Drift]
    noise: Mapping[str, Noise]
    by_config: Mapping[str, Mapping[str, Estimate]]

    @classmethod
    def of(cls, trials: Sequence[Trial], metrics: Sequence[str], baseline: str | None) -> Self:
        """From a record size's trials.

        Args:
            trials: Of all kinds; burn-ins and those stopped early do not count.
            metrics: That are estimated.
            baseline: Fingerprint of the baseline.
        """
        counted = [
            trial
            for trial in trials
            if trial.kind is not Kind.STABILISE and trial.state is State.COMPLETE and not trial.stopped_early
        ]
        drift: dict[str, Drift] = {}
        noise: dict[str, Noise] = {}
        by_config: dict[str, dict[str, Estimate]] = {}
        for metric in metrics:
            known = _whole_ones([trial for trial in counted if trial.metrics.get(metric, 0.0) > 0], metric)
            repeats = [trial for trial in known if trial.fingerprint == baseline]
            drift[metric] = Drift.of([trial.number for trial in repeats], [trial.metrics[metric] for trial in repeats])
            groups: dict[str, list[float]] = {}
            for trial in known:
                factor = drift[metric].factor(trial.number)
                groups.setdefault(trial.fingerprint, []).append(trial.metrics[metric] * factor)
            noise[metric] = Noise.of(groups.values())
            for fingerprint, values in groups.items():
                scatter = noise[metric]
                if len(values) > 1:  # its own, as configs differ in that too; what all have in common fades
                    scatter = Noise.of([values], scatter.sd_log, min(_POOLED_WEIGHT, scatter.degrees_of_freedom))
                error = t_quantile(_LEVEL, scatter.degrees_of_freedom) * scatter.sd_log
                by_config.setdefault(fingerprint, {})[metric] = _estimate(values, error)
        return cls(drift, noise, by_config)

    def of_first_time(self, trial: Trial) -> Trial:
        """The trial with its numbers as they would have been at the first baseline's time."""
        factors = {metric: drift.factor(trial.number) for metric, drift in self.drift.items()}
        metrics = {name: value * factors.get(name, 1.0) for name, value in trial.metrics.items()}
        return replace(trial, metrics=metrics)

    @property
    def wandered(self) -> Mapping[str, float]:
        """By metric, how far the baseline's level moved: highest over lowest, less 1; only where it did."""
        return {
            metric: max(factors) / min(factors) - 1
            for metric, drift in self.drift.items()
            if drift.step_log and (factors := [drift.factor(round(number)) for number in drift.numbers])
        }


def _whole_ones(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Without those of a paced phase that racing cut short, where their config was measured in full too."""
    if not OUTCOME_METRICS[metric].paced:
        return list(trials)
    in_full = {trial.fingerprint for trial in trials if trial.saved_s <= 0}
    return [trial for trial in trials if trial.saved_s <= 0 or trial.fingerprint not in in_full]


def _estimate(values: Sequence[float], error: float) -> Estimate:
    if len(values) == 1:  # exactly what was measured, not what logarithms make of it
        return Estimate(values[0], values[0] * exp(-error), values[0] * exp(error), 1)
    mean, half = fmean(map(log, values)), error / sqrt(len(values))
    return Estimate(exp(mean), exp(mean - half), exp(mean + half), len(values))
