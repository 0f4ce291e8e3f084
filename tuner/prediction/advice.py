"""Estimates how the producers of a topic would behave with other settings, without sending any load.

The performance model computes, for what the producers send now (`topic_load.py`), how batches grow with linger.ms, how
much CPU they cost the brokers, and the latency.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final

from runners.performance_model.performance import performance_of_settings
from runners.performance_model.settings import Settings
from runners.workload import Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tuner.inspection.topic_savings import Inspection, best_codec
from tuner.prediction.calibration import Calibration
from tuner.prediction.intervals import Interval, ModelledLoad
from tuner.prediction.predicted_metrics import BATCHES, LATENCIES, WIRE
from tuner.prediction.predicting import reasons_not_covered
from tuner.prediction.topic_load import current_settings, load_of_producer

_OTHER_SETTINGS: Final = (("5", "65536"), ("20", "131072"), ("100", "1000000"))
"""linger.ms and batch.size of the other settings, from a short wait and small batches to a long wait and large ones."""


@dataclass(frozen=True, slots=True)
class SettingsEstimate:
    """The estimated behaviour of a topic's producers with some settings.

    Attributes:
        settings: The settings as producer properties.
        batch_records: Records in a batch.
        batches_per_s: Batches of all producers per second.
        mb_per_s: Megabytes that all producers send to the brokers per second.
        broker_cpu_cores: Busy cores of the brokers that lead the partitions.
        latency_p50_ms: Median time from sending a record to its acknowledgement.
        latency_p99_ms: 99th percentile of that time.
        falls_behind: Whether the producers can't hold their rate with these settings, so that the latency grows.
    """

    settings: Mapping[str, str]
    batch_records: Interval
    batches_per_s: float
    mb_per_s: float
    broker_cpu_cores: Interval
    latency_p50_ms: Interval
    latency_p99_ms: Interval
    falls_behind: bool


@dataclass(frozen=True, slots=True)
class Advice:
    """The estimated behaviour of a topic's producers: with their current settings, and with other settings.

    Attributes:
        load: What each producer is assumed to send.
        producers: How many such producers there are.
        today: The estimate for the current settings, as far as the batches show them.
        others: The estimates for other settings.
        measured_batch_records: Mean number of records in the topic's batches; the estimate for today should be near it.
        uncovered: Why the measurements that calibrate the model do not cover these producers or some of these settings,
            in sentences. Empty if they cover them all, or without a calibration.
        uncounted: Whether there are several producers whose number is unknown. The estimates then treat them as one
            producer.
        overloaded: Whether all producers together send more than the model's network or disk can carry. The estimates
            do not show this: they are computed for one producer, and the model has one broker.
    """

    load: Workload
    producers: int
    today: SettingsEstimate
    others: tuple[SettingsEstimate, ...]
    measured_batch_records: float
    uncovered: tuple[str, ...] = ()
    uncounted: bool = False
    overloaded: bool = False


def advice(inspection: Inspection, calibration: Calibration, period_s: float, replication: int = 1) -> Advice | None:
    """Estimate what other settings would change for the producers of a topic.

    The result is None if nothing is written to the topic.

    Args:
        inspection: The statistics of the topic's batches.
        calibration: The constants of the performance model; without a calibration, the intervals are wide.
        period_s: The time in which the topic's recent records were written, in seconds.
        replication: Replicas of each partition.
    """
    traffic = inspection.traffic
    producers = traffic.producers_at_once
    load = load_of_producer(traffic, calibration, period_s, replication)
    if load is None:
        return None
    now = current_settings(inspection, calibration, load)
    codec = best_codec(traffic.merged.coded_bytes, traffic.merged.plain_bytes)
    others = [{**now, "compression.type": codec}] if codec != now["compression.type"] else []
    others += [{"linger.ms": linger, "batch.size": size, "compression.type": codec} for linger, size in _OTHER_SETTINGS]
    estimates = [_estimate(calibration, settings, load, producers) for settings in (now, *others)]
    seen = calibration.observations
    configs = [ProducerConfig.parse(settings, java()) for settings in (now, *others)] if seen else []
    reasons = [reason for config in configs for reason in reasons_not_covered(seen, config, load, producers)]
    uncovered = tuple(dict.fromkeys(reasons))
    uncounted = traffic.several_producers and producers == 1
    overloaded = _overloaded(calibration, now, load, producers)
    measured = traffic.records_per_batch.mean
    return Advice(load, producers, estimates[0], tuple(estimates[1:]), measured, uncovered, uncounted, overloaded)


def _overloaded(calibration: Calibration, settings: Mapping[str, str], load: Workload, producers: int) -> bool:
    """Return whether all producers together exceed the model's network or disk, if each has a host of its own."""
    if producers <= 1:
        return False
    constants = calibration.constants
    hosts = replace(constants, client_cores=constants.client_cores * producers)
    total = replace(load, rate_records_per_s=(load.rate_records_per_s or 0.0) * producers)
    config = ProducerConfig.parse(settings, java())
    return performance_of_settings(hosts, Settings.of(config, load, producers), total).falling_behind_ratio > 0


def _estimate(
    calibration: Calibration, settings: Mapping[str, str], load: Workload, producers: int
) -> SettingsEstimate:
    config = ProducerConfig.parse(settings, java())
    [modelled] = ModelledLoad.of(calibration, (Settings.of(config, load), load))
    estimates = modelled.intervals((BATCHES, WIRE, "broker_cpu_cores", *LATENCIES))
    rate = (load.rate_records_per_s or 0.0) * producers
    mb_per_s = rate * load.record_sizes.mean_bytes * estimates[WIRE].value / 1e6
    cpu = estimates["broker_cpu_cores"]
    return SettingsEstimate(
        dict(settings),
        estimates[BATCHES],
        rate / estimates[BATCHES].value,
        mb_per_s,
        Interval(*(each * producers for each in (cpu.value, cpu.low, cpu.high))),
        estimates["latency_p50_ms"],
        estimates["latency_p99_ms"],
        modelled.performance.falling_behind_ratio > 0,
    )
