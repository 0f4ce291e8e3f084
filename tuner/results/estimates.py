"""The mean of all measurements of each config, after correction for the baseline's drift."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from math import exp, sqrt
from statistics import geometric_mean
from typing import Final, Self

from objectives.drift import Drift
from objectives.metrics import OUTCOME_METRICS
from objectives.ratios import LEVEL
from objectives.repeats import Estimate, Noise
from objectives.students_t import t_quantile
from tuner.model.trial import State, Trial, TrialKind

_POOLED_WEIGHT: Final = 4
"""How many degrees of freedom the scatter of all configs adds to the scatter of one config.

So the scatter of a config with few repeats is mostly that of all configs. `objectives.forecasts` does the same.
"""

_MOST_CORRECTION: Final = 1.25
"""The largest factor by which early values of a study are corrected for drift; see `_to_forget`."""
_MOST_FOR_MANY: Final = 1.5
"""The same factor if more than a third of the search would be forgotten."""
_LEAST_LEFT: Final = 10
"""The fewest trials of the search that must be left if more than a third of it is forgotten."""
_NOT_AVERAGED: Final = ("records_per_s", "delivered_ratio", "held_rate_ratio")
"""The metrics without a mean of their own: a second name of the throughput, and shares, which must not exceed 1."""


@dataclass(frozen=True, slots=True)
class Estimates:
    """The means, noise and drift of the measurements of one record size.

    Attributes:
        drift: By metric, how the baseline's level changed over the study.
        noise: By metric, how much repeats of one config scatter after correction for the drift.
        by_config: By fingerprint and metric, the mean of all measurements with its 95 % interval.
        forgotten: Numbers of early trials that are left out of all means; see `_to_forget`.
        other_drift: The same as `drift` for metrics that are only shown. Only percentiles of an estimated latency are
            corrected for drift.
        other_means: By fingerprint and metric, the mean of all measurements of a metric that is only shown. It is
            computed from the same trials as the means of `by_config`, so that no p50 is higher than the p95 beside it.
    """

    drift: Mapping[str, Drift]
    noise: Mapping[str, Noise]
    by_config: Mapping[str, Mapping[str, Estimate]]
    forgotten: frozenset[int]
    other_drift: Mapping[str, Drift]
    other_means: Mapping[str, Mapping[str, float]]

    @classmethod
    def of(
        cls, trials: Sequence[Trial], metrics: Sequence[str], baseline: str | None, decisive: Iterable[str] = ()
    ) -> Self:
        """Compute the estimates from the trials of one record size.

        Args:
            trials: Trials of all kinds; burn-in runs and trials that were stopped early do not count.
            metrics: The metrics to estimate.
            baseline: Fingerprint of the baseline; None if there is no baseline yet.
            decisive: The metrics whose drift decides which early trials are forgotten: those of the study's objectives
                and constraints.
        """
        counted = [
            trial
            for trial in trials
            if trial.kind is not TrialKind.BURN_IN and trial.state is State.COMPLETE and not trial.stopped_early
        ]
        measured = {metric for trial in counted for metric in trial.metrics}
        others = [metric for metric in OUTCOME_METRICS if metric in measured - {*metrics, *_NOT_AVERAGED}]
        usable = {metric: _trials_to_estimate_from(counted, metric) for metric in (*metrics, *others)}
        # Estimating a drift takes time, so it is done only for these metrics and percentiles of the same latency.
        families = set(map(_latency_of_percentile, metrics))
        drift = {
            metric: _drift(usable[metric] if _latency_of_percentile(metric) in families else (), metric, baseline)
            for metric in usable
        }
        forgotten = _to_forget(trials, [drift[metric] for metric in decisive if metric in drift])
        values = {
            metric: _values_by_config([each for each in found if each.number not in forgotten], metric, drift[metric])
            for metric, found in usable.items()
        }
        noise = {metric: Noise.of(values[metric].values()) for metric in metrics}
        by_config: dict[str, dict[str, Estimate]] = {}
        for metric in metrics:
            for fingerprint, repeats in values[metric].items():
                by_config.setdefault(fingerprint, {})[metric] = _estimate(repeats, noise[metric])
        other_means: dict[str, dict[str, float]] = {}
        for metric in others:
            for fingerprint, repeats in values[metric].items():
                other_means.setdefault(fingerprint, {})[metric] = _mean(repeats)
        other_drift = {metric: drift.pop(metric) for metric in others}
        return cls(drift, noise, by_config, forgotten, other_drift, other_means)

    def means_of(self, fingerprint: str) -> dict[str, float]:
        """Return the means of all measurements of a config, by metric; empty if no trial of it counts."""
        means = {metric: each.value for metric, each in self.by_config.get(fingerprint, {}).items()}
        return {**self.other_means.get(fingerprint, {}), **means}

    def repeats_of(self, fingerprint: str) -> int:
        """Return the number of trials in a config's means; 1 if it has no means, because one trial is shown then."""
        return max((each.repeats for each in self.by_config.get(fingerprint, {}).values()), default=1)

    def without_drift(self, trial: Trial) -> Trial:
        """Return the trial with its metrics corrected for the baseline's drift.

        The corrected metrics are the values that the trial would have shown when the baseline was last measured.
        """
        factors = {metric: drift.factor(trial.number) for metric, drift in {**self.drift, **self.other_drift}.items()}
        factors |= {"records_per_s": factors["mb_per_s"]} if "mb_per_s" in factors else {}  # the same throughput
        if all(factor == 1.0 for factor in factors.values()):
            return trial
        metrics = {name: value * factors.get(name, 1.0) for name, value in trial.metrics.items()}
        return replace(trial, metrics=metrics)

    @property
    def drift_ratio(self) -> Mapping[str, float]:
        """By metric, how far the baseline drifted: its highest level divided by its lowest level, minus 1.

        Metrics that did not drift are left out.
        """
        return {
            metric: max(factors) / min(factors) - 1
            for metric, drift in self.drift.items()
            if drift.step_log and (factors := [drift.factor(round(number)) for number in drift.numbers])
        }


def _to_forget(trials: Iterable[Trial], drifts: Sequence[Drift]) -> frozenset[int]:
    """Return the numbers of the first trials that must be forgotten, because the target was much slower or faster then.

    A target that is still warming up is not only slower. It may also be limited by something else, so that another
    config is the best. So the first trials are forgotten as long as the correction for drift would change their values
    by more than the factor `_MOST_CORRECTION`.

    If this would forget more than a third of the search, the target was not only warming up, and forgetting costs more.
    Then the first trials are forgotten only if the correction would exceed the factor `_MOST_FOR_MANY`, and only if
    `_LEAST_LEFT` trials are left. If fewer are left, nothing is forgotten: the best configs are measured again after
    the search.
    """
    of_search = sorted(trial.number for trial in trials if trial.kind is TrialKind.SEARCH)

    def early(most: float) -> list[int]:
        return list(
            takewhile(lambda number: any(not 1 / most <= drift.factor(number) <= most for drift in drifts), of_search)
        )

    found = early(_MOST_CORRECTION)
    if 3 * len(found) > len(of_search):
        found = early(_MOST_FOR_MANY)
        if 3 * len(found) > len(of_search) and len(of_search) - len(found) < _LEAST_LEFT:
            return frozenset()
    return frozenset(trial.number for trial in trials if found and trial.number <= found[-1])


def _trials_to_estimate_from(trials: Sequence[Trial], metric: str) -> list[Trial]:
    """Return the trials that count for the mean of a metric, in which it must be above 0.

    Racing, which stops bad trials early, may have shortened the paced phase of a trial. If the same config was also
    measured at full length, only its full-length trials count for metrics of the paced phase.
    """
    trials = [trial for trial in trials if trial.metrics.get(metric, 0.0) > 0]
    if not OUTCOME_METRICS[metric].paced:
        return trials
    in_full = {trial.fingerprint for trial in trials if trial.saved_s <= 0}
    return [trial for trial in trials if trial.saved_s <= 0 or trial.fingerprint not in in_full]


def _drift(trials: Iterable[Trial], metric: str, baseline: str | None) -> Drift:
    """Return the drift of a metric, which the repeated measurements of the baseline show."""
    repeats = [trial for trial in trials if trial.fingerprint == baseline]
    return Drift.of([trial.number for trial in repeats], [trial.metrics[metric] for trial in repeats])


def _values_by_config(trials: Iterable[Trial], metric: str, drift: Drift) -> dict[str, list[float]]:
    """Return a metric's values in the trials of each config, corrected for drift, by fingerprint."""
    values: dict[str, list[float]] = {}
    for trial in trials:
        values.setdefault(trial.fingerprint, []).append(trial.metrics[metric] * drift.factor(trial.number))
    return values


def _latency_of_percentile(metric: str) -> str:
    """Return the latency that a percentile belongs to: `saturated_latency` for `saturated_latency_p95_ms`."""
    return metric.rsplit("_", 2)[0]


def _mean(values: Sequence[float]) -> float:
    return values[0] if len(values) == 1 else geometric_mean(values)  # exp(log(x)) rounds


def _estimate(values: Sequence[float], noise: Noise) -> Estimate:
    """Return the mean of a config's values, with its interval.

    Args:
        values: The values.
        noise: How much the values of all configs scatter.
    """
    if len(values) > 1:  # with more repeats, the config's own scatter counts more
        noise = Noise.of([values], noise.sd_log, min(_POOLED_WEIGHT, noise.degrees_of_freedom))
    error = t_quantile(LEVEL, noise.degrees_of_freedom) * noise.sd_log
    mean, half = _mean(values), exp(error / sqrt(len(values)))
    return Estimate(mean, mean / half, mean * half, len(values))
