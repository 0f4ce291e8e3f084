"""Corrects the performance model where measurements show that it is wrong.

The model is wrong by about the same factor for similar configs. A Gaussian process learns this factor from the measured
configs, and predicts it for others. For a config that resembles none of them, the factor is 1: no correction.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp, hypot, log, sqrt
from typing import Final

import numpy as np

from runners.performance_model.constants import CODECS, ClusterConstants
from runners.performance_model.performance import Performance, all_performances
from runners.performance_model.settings import Settings
from runners.workload import Workload
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import ALL_LATENCIES, FITTED, MEDIANS
from tuner.regression.gaussian_process import GaussianProcess, Prior
from tuner.regression.solving import Array

_CODECS: Final = ("none", *CODECS)
_LENGTHS: Final = np.array([2.0, 0.5, 2.0, *[1.5] * 9, 0.6])
"""The length scale of each setting in the Gaussian process, in units of the setting's usual range.

Those of linger.ms, batch.size, requests in flight (the first three) and the codec (the last) come from the residuals of
a Gaussian process on `benchmarks/problems/data`. The others do not vary within a table, so they are assumed.
"""
_GROUPS: Final = np.array([*range(len(_LENGTHS)), *[len(_LENGTHS) - 1] * (len(_CODECS) - 1)], dtype=np.int64)
"""The index in `_LENGTHS` of the setting that each coordinate of a point describes. The codec has several of them."""
_SPREAD: Final = 0.3
"""How uncertain noise, amplitudes and lengths are, as the standard deviation of their logarithms."""
_OUTLIER: Final = 3.0
"""Deviations are limited to this many times the usual one."""
_UNSTEADY_RATIO: Final = 3.0
"""How many times as much a median latency scatters if librdkafka does not wait for an answer before its next request.

Source: chosen with the tables of `benchmarks.prediction`, as are `_OVERLAPPING` and `_OVERLAPPING_POWER`. The tables of
the Java client do not show this.
"""
_OVERLAPPING: Final = 0.65
"""Requests often meet others if more than this many are handled at a time, on average (`handled_requests`)."""
_OVERLAPPING_POWER: Final = 8.0
"""How sharply the noise rises around `_OVERLAPPING`: the higher the power, the sharper."""
_NORMAL_OF_MEDIAN: Final = 1.4826
"""The standard deviation of normally distributed numbers, divided by the median of their absolute values."""
_SOME_MS: Final = 0.5
"""The coordinate of `linger.ms` hardly changes between 0 and values far below this."""
_MOST_IN_FLIGHT: Final = 10.0
"""More requests in flight than this have the same coordinate as this many, which is 1."""
_MANY_PRODUCERS: Final = 3.0
"""The number of producers whose coordinate is 1."""
_SOME_LEVELS: Final = 3.0
"""A compression level that is this much above the usual one has the coordinate 1."""


@dataclass(frozen=True, slots=True)
class Correction:
    """The correction of the performance model for one metric: the model's value is multiplied by a factor.

    Attributes:
        process: Predicts the logarithm of the factor from the settings and the load.
        noise_sd: The standard deviation of the logarithm of a repeated measurement whose `noise_ratio` is 1.
    """

    process: GaussianProcess
    noise_sd: float

    def at(self, settings: Settings, workload: Workload, noise_ratio: float = 1.0) -> tuple[float, float]:
        """Return the logarithm of the factor, and the standard deviation of a single measurement around it."""
        means, sds = self.process.posterior(coordinates_of(settings, workload)[None, :])
        return float(means[0]), hypot(float(sds[0]), noise_ratio * self.noise_sd)


def corrections(observations: Sequence[Observation], constants: ClusterConstants) -> dict[str, Correction]:
    """Compare the model with measurements, and return its correction for each metric that was measured.

    Args:
        observations: The measurements.
        constants: The constants that were fitted to them.
    """
    by_metric: dict[str, Correction] = {}
    for metric, fitted in FITTED.items():
        seen = [each for each in observations if metric in each.values]
        if not seen:
            continue
        noise = fitted.noise_sd_log
        # The throughput comes first in `FITTED`, because its correction decides the loads of the latencies.
        modelled = modelled_for(metric, seen, constants, by_metric)
        ratios = noise_ratios(metric, seen, modelled)
        process = GaussianProcess.fitted(
            np.stack([coordinates_of(each.settings, each.workload) for each in seen]),
            _GROUPS,
            limited_logs(metric, logs_above_model(metric, seen, modelled), ratios),
            noise * ratios / np.sqrt([each.measurements if fitted.averages_out else 1 for each in seen]),
            Prior(
                mean=0.0,
                mean_sd=fitted.model_sd_log,
                amplitude=fitted.error_sd_log,
                amplitude_spread=_SPREAD,
                lengths=_LENGTHS,
                length_spread=_SPREAD,
                noise_spread=_SPREAD,
            ),
        )
        by_metric[metric] = Correction(process, noise * process.noise_ratio)
    return by_metric


def modelled_for(
    metric: str, seen: Sequence[Observation], constants: ClusterConstants, corrections: Mapping[str, Correction]
) -> list[Performance]:
    """Return what the model computes for measurements, without the correction of the metric itself.

    Args:
        metric: The metric that is compared.
        seen: The measurements.
        constants: The constants of the model.
        corrections: The corrections that decide the loads of latencies; see `latency_load`.
    """
    loads = [
        (
            each.settings,
            latency_load(corrections, each.settings, each.workload) if metric in ALL_LATENCIES else each.workload,
        )
        for each in seen
    ]
    [modelled] = all_performances([constants], loads)
    return modelled


def logs_above_model(metric: str, seen: Sequence[Observation], modelled: Sequence[Performance]) -> Array:
    """Return how far the measured values of a metric are above those of the model, as logarithms, shape (seen,).

    Args:
        metric: The metric.
        seen: The measurements, which all have the metric.
        modelled: What the model computes for them (`modelled_for`).
    """
    return np.array([log(each.values[metric] / one.value_of(metric)) for each, one in zip(seen, modelled, strict=True)])


def unsteadiness(metric: str, settings: Settings, modelled: Performance) -> float:
    """Return how unsteady a metric is, from 0 to 1. Only the median latency of librdkafka can be unsteady.

    The median is steady if librdkafka gets an answer to each request before it sends the next one. Otherwise, it is
    short in some measurements. In others, the requests fill the sockets, and each record waits behind them.

    Args:
        metric: The metric.
        settings: The client's settings.
        modelled: What the model computes for the load.
    """
    if metric not in MEDIANS or settings.sticks_by_bytes or not modelled.handled_requests:
        return 0.0
    return float(1.0 / (1.0 + (_OVERLAPPING / modelled.handled_requests) ** _OVERLAPPING_POWER))


def noise_ratios(metric: str, seen: Sequence[Observation], modelled: Sequence[Performance]) -> Array:
    """Return how many times as noisy as usual each measurement is, shape (seen,).

    The arguments are those of `logs_above_model`.
    """
    pairs = zip(seen, modelled, strict=True)
    return np.array([noise_ratio(unsteadiness(metric, each.settings, one)) for each, one in pairs])


def noise_ratio(unsteadiness: float) -> float:
    """Return how many times as noisy as usual a metric is that is this unsteady."""
    return float(_UNSTEADY_RATIO**unsteadiness)


def latency_load(corrections: Mapping[str, Correction], settings: Settings, workload: Workload) -> Workload:
    """Return the load for which the model computes the latencies of `workload`, before their own corrections.

    If the corrected throughput is above that of the model, this load has a lower rate. Then the rate is the same share
    of the model's throughput as the real rate is of the corrected one, and this share decides how long records wait. A
    corrected throughput below that of the model is not used: if it were only slightly too low, the latency would be far
    too long.

    Args:
        corrections: The corrections, of which only that of the throughput is used.
        settings: The client's settings.
        workload: The load.
    """
    rate = workload.rate_records_per_s
    if rate is None or "records_per_s" not in corrections:
        return workload
    missing, _ = corrections["records_per_s"].at(settings, replace(workload, rate_records_per_s=None))
    return replace(workload, rate_records_per_s=rate / exp(max(0.0, missing)))


def limited_logs(metric: str, logs: Array, ratios: Array) -> Array:
    """Return the logarithms of a metric's measured factors with outliers limited, for the correction to learn from.

    Bytes on the wire stay as they are, because no stall changes them.

    Args:
        metric: The metric.
        logs: The logarithms, as `logs_above_model` returns them.
        ratios: How many times as noisy as usual each measurement is, as `noise_ratios` returns them.
    """
    fitted = FITTED[metric]
    return ratios * limit_outliers(logs / ratios, fitted.noise_sd_log) if fitted.stalls else logs


def distances(points: Array, others: Array) -> Array:
    """Return how different settings are, shape (points, others). At a distance of 1, their factors may differ.

    Args:
        points: Coordinates of settings, shape (points, coordinates), as `coordinates_of` returns them.
        others: Coordinates of other settings, shape (others, coordinates).
    """
    apart = (points[:, None, :] - others[None, :, :]) / _LENGTHS[_GROUPS]
    found: Array = np.sqrt((apart**2).sum(axis=2))
    return found


def coordinates_of(settings: Settings, workload: Workload) -> Array:
    """Return the settings and the load as numbers, scaled so that each is usually between 0 and 1."""
    record_bytes = workload.record_sizes.mean_bytes + workload.key_bytes
    batch_bytes = min(settings.batch_bytes, settings.batch_records * record_bytes)
    numbers = (
        log((settings.linger_s * 1e3 + _SOME_MS) / _SOME_MS) / log(100.0 / _SOME_MS),
        log(batch_bytes / 16_384) / log(1e6 / 16_384),
        log(min(settings.in_flight, _MOST_IN_FLIGHT)) / log(_MOST_IN_FLIGHT),
        log(record_bytes / 100) / log(100),
        log(workload.partitions) / log(30),
        log(workload.replication) / log(3),
        workload.compressibility_ratio,
        log(workload.rate_records_per_s or 1.0) / log(100),
        0.0 if settings.acks else 1.0,
        1.0 if settings.waits_for(workload.replication) == "all" else 0.0,
        log(settings.producers) / log(_MANY_PRODUCERS),
        _levels_above_usual(settings) / _SOME_LEVELS,
    )
    codecs = [sqrt(0.5) if codec == settings.codec else 0.0 for codec in _CODECS]
    return np.array([*numbers, *codecs])


def _levels_above_usual(settings: Settings) -> int:
    codec = CODECS.get(settings.codec)
    return 0 if codec is None or settings.level is None else settings.level - codec.usual_level


def limit_outliers(deviations: Array, least: float) -> Array:
    """Return the deviations, limited to three times the usual one. A stall may have caused the larger ones.

    Args:
        deviations: The deviations, which are around 0.
        least: The usual deviation is taken to be at least this.
    """
    usual = max(_NORMAL_OF_MEDIAN * float(np.median(np.abs(deviations))), least)
    return np.clip(deviations, -_OUTLIER * usual, _OUTLIER * usual)
