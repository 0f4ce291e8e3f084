"""Predicts with the performance model how good configs are, before a search measures them.

The constants of the model start as those of a similar host, and are then fitted to the trials of the search. After the
first baseline trial, the model knows roughly how fast the host is. Each further trial makes its predictions better.

Some constants stay uncertain. If a config's gain depends on an uncertain constant, the gain is uncertain, too. It may
be worth more to measure such a config than a config whose gain is known.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import exp, log
from statistics import NormalDist
from types import MappingProxyType
from typing import Any, Final

import numpy as np

from runners.performance_model.constants import ClusterConstants
from runners.performance_model.performance import performance_columns
from runners.performance_model.settings import Settings
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.search_space import SearchSpace
from tuner.model.spec import Method, StudySpec
from tuner.model.trial import Trial
from tuner.prediction.calibration import Calibration, calibrate
from tuner.prediction.fitted_constants import STEP, similar_host, with_shifted_logs
from tuner.prediction.observations import Observation, is_usable_for_calibration, observations_from_trials
from tuner.regression.solving import Array
from tuner.search.bayesian.candidates import Candidates
from tuner.search.knob_space import KnobSpace

_GROWTH: Final = 1.5
"""The constants are fitted again when there are this many times as many trials, because a fit takes up to a second."""
_NEWEST: Final = 100
"""The number of newest trials to which the constants are fitted."""
_ERRORS: Final = 3
"""How many possible errors of the constants are considered. With more errors, a proposal takes longer."""
_DRAWN, _GOOD = 180, 60
"""How many configs are drawn to find the greatest errors, and how many of them, the best, are used."""
_THROUGHPUTS: Final = ("records_per_s", "mb_per_s")
_QUANTILES: Final = {"latency_p50_ms": 0.5, "latency_p95_ms": 0.95, "latency_p99_ms": 0.99, "latency_p999_ms": 0.999}
_DEVIATIONS: Final = {metric: NormalDist().inv_cdf(ratio) for metric, ratio in _QUANTILES.items()}
"""By how many standard deviations the logarithm of each percentile differs from that of the median."""
# numpy's own functions differ in the last digits between processors, which is enough to change a proposal.
_LOG: Final = np.vectorize(log, otypes=[float])
_EXP: Final = np.vectorize(exp, otypes=[float])


class ModelExpectation:
    """Predicts by how much configs are better than the baseline. The trials so far calibrate the performance model.

    The fit depends only on the trials and their order. So a study that was resumed makes the same predictions as a
    study that was not interrupted.

    Args:
        space: The search space.
        load: The load of the trials, at the fixed rate; without a rate if the study has none.
        metrics: The objectives of the study.
        baseline: The config with which gains are compared.
        start: The constants of a host that is as similar as possible.
        producers: Number of producers in each trial, which run on one host.
    """

    def __init__(
        self,
        space: SearchSpace,
        load: Workload,
        metrics: Sequence[str],
        baseline: ProducerConfig,
        start: ClusterConstants,
        producers: int = 1,
    ) -> None:
        self._knobs, self._load, self._metrics = KnobSpace(space), load, tuple(metrics)
        self._baseline, self._start = Settings.of(baseline, load, producers), start
        self._producers = producers
        self._trials: list[Trial] = []
        self._scenarios: tuple[ClusterConstants, ...] = (start,)
        self._fitted = 0

    def learn(self, trial: Trial) -> None:
        """Take the result of a trial into account."""
        if is_usable_for_calibration(trial):
            self._trials.append(trial)

    def log_ratios(self, rows: Array) -> Array:
        """Return the logarithms of the predicted values of configs, divided by the predicted values of the baseline.

        Args:
            rows: The coordinates of the configs, shape (configs, axes).

        Returns:
            An array of shape (scenarios, configs, objectives), see `BayesianSampler`. The first scenario is computed
            with the fitted constants. Each other scenario is computed with the constants plus one of the errors that
            change the results most. If the model can't compute an objective, its values are NaN. A higher latency has a
            higher value.
        """
        self._fit()
        return self._log_ratios(self._scenarios, self._settings(rows))

    def _fit(self) -> None:
        wanted = _last_fit(len(self._trials))
        if wanted <= self._fitted:
            return
        self._fitted = wanted
        newest = self._trials[max(0, wanted - _NEWEST) : wanted]
        if seen := observations_from_trials(newest, self._load, self._producers):
            fit = calibrate([self._without_unused_median(each) for each in seen], self._start)
            self._scenarios = (fit.constants, *self._errors(fit))

    def _without_unused_median(self, seen: Observation) -> Observation:
        """Return measured values without the median latency if the 99th percentile is the only percentile to improve.

        `_logs` computes the other percentiles from the median. If the model describes the median badly, a fit to both
        would describe the 99th percentile worse.
        """
        if {*_QUANTILES} & {*self._metrics} != {"latency_p99_ms"}:
            return seen
        return replace(seen, values={name: each for name, each in seen.values.items() if name != "latency_p50_ms"})

    def _errors(self, fit: Calibration) -> list[ClusterConstants]:
        """Return the constants plus each of their largest errors, from the largest error to the smallest.

        The errors are independent of each other, and each is as large as its standard deviation. An error counts as
        large if it changes the gains of many configs by much. Configs that are probably bad do not count.

        Args:
            fit: The fitted constants, with their covariance.
        """
        drawn = Candidates(self._knobs.axes, self._knobs.allowed).anywhere(_DRAWN, np.random.default_rng(0))
        settings = self._settings(drawn)
        signs = [1.0 if metric in _THROUGHPUTS else -1.0 for metric in self._metrics]
        [ratios] = self._log_ratios([fit.constants], settings)
        lost = np.nan_to_num(np.minimum(ratios * signs, 0.0)).sum(axis=1)
        good = [settings[index] for index in np.argsort(-lost, kind="stable")[:_GOOD]]
        fitted, *perturbed = self._log_ratios([fit.constants, *fit.perturbed], good)
        slopes = np.array([(each - fitted).ravel() / STEP for each in perturbed])
        root = np.linalg.cholesky(fit.covariance)
        # By the singular value decomposition, as in a principal component analysis of the gains.
        _, _, directions = np.linalg.svd(np.nan_to_num(slopes).T @ root, full_matrices=False)
        return [with_shifted_logs(fit.constants, root @ direction) for direction in directions[:_ERRORS]]

    def _settings(self, rows: Array) -> list[Settings]:
        """Return the settings of the configs whose coordinates are the `rows`."""
        return [
            Settings.of_values(values, self._load, self._producers) for values in self._knobs.effective_values(rows)
        ]

    def _log_ratios(self, scenarios: Sequence[ClusterConstants], settings: Sequence[Settings]) -> Array:
        """Return the same as `log_ratios` for given constants and settings, shape (scenarios, settings, objectives)."""
        predicted = performance_columns(scenarios, [(each, self._load) for each in (self._baseline, *settings)])
        logs = np.stack([self._logs(predicted, metric) for metric in self._metrics], axis=-1)
        return np.asarray(logs[:, 1:] - logs[:, :1])

    def _logs(self, predicted: Mapping[str, Array], metric: str) -> Array:
        """Return the logarithms of the predicted values of a metric, shape (scenarios, settings)."""
        if metric in _THROUGHPUTS:
            return np.asarray(_LOG(predicted["capacity_records_per_s"]))
        median_ms = predicted["latency_p50_ms"]
        if metric not in _DEVIATIONS or self._load.rate_records_per_s is None:
            return np.full_like(median_ms, np.nan)
        # The latency is assumed to be log-normal.
        spread = _LOG(predicted["latency_p99_ms"] / median_ms) / _DEVIATIONS["latency_p99_ms"]
        # If the rate is too high, each second of the load adds to the latency.
        behind_ms = predicted["falling_behind_ratio"] * (self._load.warmup_s + self._load.measured_s) * 1e3
        return np.asarray(_LOG(median_ms * _EXP(spread * _DEVIATIONS[metric]) + behind_ms))


def begins_with_model(spec: StudySpec) -> bool:
    """Return whether the searches of a study use the performance model from the start.

    They do not use it if the study file switches it off, if the search method is not `bayesian`, if the user gives an
    own sampler, if the model predicts none of the objectives, if the load has bursts, or if several producers run on
    the hosts of a Ray cluster.
    """
    load = spec.workload
    on_one_host = load.producers == 1 or spec.ray.address is None
    modelled = on_one_host and load.peak_ratio == 1
    known = {*_THROUGHPUTS, *_DEVIATIONS} & {objective.metric for objective in spec.objectives}
    wanted = spec.search.method is Method.BAYESIAN and not spec.search.sampler and spec.search.performance_model
    return wanted and modelled and bool(known)


def expectation_of(
    spec: StudySpec,
    size: RecordSizes,
    space: SearchSpace,
    rate_records_per_s: float | None,
    topic_shape: Mapping[str, Any] = MappingProxyType({}),
) -> ModelExpectation | None:
    """Return the predictions for the search of a record size; None if it does not use the performance model.

    Args:
        spec: The specification of the study.
        size: The record size.
        space: The search space of the record size.
        rate_records_per_s: The rate of the paced phase; None without this phase.
        topic_shape: `partitions` and `replication` of the topic, if they are not those of the specification.
    """
    if not begins_with_model(spec):
        return None
    workload = spec.workload.saturating(size)
    if rate_records_per_s is not None:
        workload = spec.workload.paced_at(size, rate_records_per_s)
    workload = replace(workload, **topic_shape)
    metrics = [objective.metric for objective in spec.objectives]
    start = similar_host(spec.baseline.client, shared=spec.targets[0].bootstrap is None)
    return ModelExpectation(space, workload, metrics, spec.baseline, start, spec.workload.producers)


def _last_fit(trials: int) -> int:
    """Return after how many trials the constants were last fitted, if there are now this many trials."""
    last = 0
    while (following := max(last + 1, int(last * _GROWTH))) <= trials:
        last = following
    return last
