"""Predicts the performance of a config with the calibrated model, or says why the measurements do not allow it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from runners.performance_model.constants import CODECS
from runners.performance_model.settings import Settings
from runners.quantities import SECONDS_PER_DAY
from runners.reporting import enumerated
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import Calibration
from tuner.prediction.intervals import Interval, ModelledLoad
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import BATCHES, CONSUMERS, CPU, FACTORED, LATENCIES, WIRE

AT_FULL_SPEED: Final = ("records_per_s", "mb_per_s", BATCHES, WIRE, *CPU)
"""The metrics that are predicted for a load as fast as the client takes it, by name.

CPU time is predicted only if it was measured.
"""
AT_RATE: Final = (*LATENCIES, *CONSUMERS)
"""The metrics that are predicted for a load at a rate, by name; those of consumers only if they were measured."""
MOST_EXTRAPOLATION: Final = 3.0
"""The factor by which a record size, or a number of partitions or producers, may lie outside the measured range."""
_COMPRESSIBILITY_TOLERANCE: Final = 0.3
"""How far the compressible share may lie from the nearest one that was measured with the same codec."""
_NEAR_RATIO: Final = 0.95
"""The share of the throughput, as the model computes it, above which no latency is predicted at a rate.

There, a throughput that is 1 % too low makes the predicted latency many times too long.
"""


@dataclass(frozen=True, slots=True)
class Prediction:
    """The predicted performance of a config under a load.

    Attributes:
        config: The config.
        workload: The load. Its rate is the rate at which the latencies hold.
        producers: Number of producers that share the load.
        values: The predicted metrics by name. Throughput, batches and bytes on the wire are those of a load as fast as
            the client takes it, and latencies are those at the rate.
        bound_by: What limits the throughput, in words.
        stored_gb_per_day: Gigabytes that all replicas store in a day, with their indexes. Records come at the rate, or
            at the throughput if that is lower. None without a rate.
        falls_behind: Whether the config can't hold the rate, so that there are no latencies.
        no_latency: Why there are no latencies, in words; empty if there are.
    """

    config: ProducerConfig
    workload: Workload
    producers: int
    values: Mapping[str, Interval]
    bound_by: str
    stored_gb_per_day: Interval | None
    falls_behind: bool
    no_latency: str

    @property
    def consumer_mb_per_s(self) -> Interval | None:
        """Megabytes per second that a consumer takes if it has one core; None if no consumer was measured."""
        cpu = self.values.get("consumer_cpu_ms_per_mb")
        return None if cpu is None else Interval(1e3 / cpu.value, 1e3 / cpu.high, 1e3 / cpu.low)


def predict(calibration: Calibration, config: ProducerConfig, workload: Workload, producers: int = 1) -> Prediction:
    """Predict the performance of a config under a load, as `predict_all` does."""
    return predict_all(calibration, [(config, workload, producers)])[0]


def predict_all(calibration: Calibration, loads: Sequence[tuple[ProducerConfig, Workload, int]]) -> list[Prediction]:
    """Predict the performance of configs under loads. This is faster than a call of `predict` for each of them.

    It does not check whether the measurements cover a config and a load. `reasons_not_covered` does.

    Args:
        calibration: The fitted constants.
        loads: For each prediction, the config, the workload and the number of producers that share it. If the workload
            has a rate, latencies are predicted too.
    """
    settings = [Settings.of(*load) for load in loads]
    paced_loads = [(each, workload) for each, (_, workload, _) in zip(settings, loads, strict=True)]
    full_loads = [(each, replace(workload, rate_records_per_s=None)) for each, workload in paced_loads]
    modelled = ModelledLoad.of(calibration, *full_loads, *paced_loads)
    return [_prediction(*each) for each in zip(loads, modelled[: len(loads)], modelled[len(loads) :], strict=True)]


def _prediction(load: tuple[ProducerConfig, Workload, int], full: ModelledLoad, paced: ModelledLoad) -> Prediction:
    """Return the prediction for a config, workload and number of producers, at full speed and at the workload's rate.

    Without a rate, `paced` is not used.
    """
    (config, workload, producers), calibration = load, full.calibration
    rate = workload.rate_records_per_s
    values = full.intervals(_predictable(calibration, AT_FULL_SPEED))
    stored, falls_behind, no_latency = None, False, "no rate"
    if rate is not None:
        capacity, record_bytes = values["records_per_s"], paced.stored_bytes_per_record
        falls_behind = capacity.value < rate
        no_latency = _no_latency(paced, falls_behind=falls_behind)
        if not no_latency:
            values |= paced.intervals(_predictable(calibration, AT_RATE))
        gb_per_byte = workload.replication * SECONDS_PER_DAY / 1e9
        stored = Interval(
            min(rate, capacity.value) * record_bytes.value * gb_per_byte,
            min(rate, capacity.low) * record_bytes.low * gb_per_byte,
            min(rate, capacity.high) * record_bytes.high * gb_per_byte,
        )
    return Prediction(config, workload, producers, values, full.performance.bound_by, stored, falls_behind, no_latency)


def _no_latency(paced: ModelledLoad, *, falls_behind: bool) -> str:
    """Return why no latency can be predicted at the rate of a load, in words; empty if it can.

    Without any measurement, latencies are predicted from the constants of a similar host.
    """
    seen = paced.calibration.observations
    if falls_behind:
        return "falls behind the rate"
    if paced.settings.acks == 0:
        return "none with acks=0"
    if seen and not any(set(LATENCIES) & set(each.values) for each in seen):
        return "not measured at a rate that was held"
    computed = paced.performance
    if computed.records_per_s > _NEAR_RATIO * computed.capacity_records_per_s:
        # `falls_behind` says that the corrected throughput is above the rate. Without the correction it may be below.
        return "too near the throughput"
    return ""


def reasons_not_covered(
    observations: Sequence[Observation], config: ProducerConfig, workload: Workload, producers: int = 1
) -> tuple[str, ...]:
    """Return why some measurements do not cover a config and a load, in sentences; nothing if they do."""
    wanted = Settings.of(config, workload)
    settings = [each.settings for each in observations]
    reasons = []
    clients = dict.fromkeys(each.config.client.kind.value for each in observations)
    if config.client.kind.value not in clients:
        reasons.append(f"the client is {config.client.kind.value}, but {_only_measured(clients)}")
    sizes = [each.workload.record_sizes.mean_bytes for each in observations]
    reasons += _far_from_measured("record size", "B", workload.record_sizes.mean_bytes, sizes)
    reasons += _far_from_measured(
        "number of partitions", "", workload.partitions, [each.workload.partitions for each in observations]
    )
    reasons += _far_from_measured("number of producers", "", producers, [each.producers for each in observations])
    replicas = dict.fromkeys(each.workload.replication for each in observations)
    if workload.replication not in replicas:
        reasons.append(f"the replication factor is {workload.replication}, but {_only_measured(replicas)}")
    codecs = dict.fromkeys(each.codec for each in settings)
    if wanted.codec not in codecs:
        reasons.append(f"compression.type is {wanted.codec}, but {_only_measured(codecs)}")
    elif wanted.codec in CODECS:
        reasons += _outside_measured_levels(config, wanted, observations)
    acks = dict.fromkeys(
        measured.waits_for(workload.replication)
        for each, measured in zip(observations, settings, strict=True)
        if each.workload.replication == workload.replication
    )
    if acks and (waits := wanted.waits_for(workload.replication)) not in acks:
        reasons.append(f"acks={waits} was not measured; {_measured_acks(acks, workload.replication)}")
    ratios = [
        each.workload.compressibility_ratio
        for each, measured in zip(observations, settings, strict=True)
        if measured.codec == wanted.codec != "none"
    ]
    if ratios and min(abs(workload.compressibility_ratio - each) for each in ratios) > _COMPRESSIBILITY_TOLERANCE:
        shares = dict.fromkeys(f"{each:g}" for each in sorted(ratios))
        reasons.append(f"the compressible share is {workload.compressibility_ratio:.3g}, but {_only_measured(shares)}")
    return tuple(reasons)


def _predictable(calibration: Calibration, metrics: Sequence[str]) -> list[str]:
    """Return those of the metrics that can be predicted; a metric of `FACTORED` only if it was measured."""
    return [name for name in metrics if name not in FACTORED or name in calibration.factors]


def _far_from_measured(what: str, unit: str, wanted: float, measured: list[float] | list[int]) -> list[str]:
    """Return a sentence if a number is too far outside the range that was measured; nothing if it is not."""
    low, high = min(measured), max(measured)
    if low / MOST_EXTRAPOLATION <= wanted <= high * MOST_EXTRAPOLATION:
        return []
    of_unit = " " + unit if unit else ""
    if wanted > high:
        far_from = f"more than {MOST_EXTRAPOLATION:g} times the largest that was measured, {high:g}{of_unit}"
    else:
        far_from = f"less than 1/{MOST_EXTRAPOLATION:g} of the smallest that was measured, {low:g}{of_unit}"
    return [f"the {what} is {wanted:g}{of_unit}, {far_from}"]


def _outside_measured_levels(
    config: ProducerConfig, wanted: Settings, observations: Sequence[Observation]
) -> list[str]:
    """Return a sentence if the codec's level lies outside the measured ones; nothing if it does not."""
    codec = CODECS[wanted.codec]
    measured = {
        _level_text(each.config, wanted.codec): codec.strength(each.settings.level)
        for each in observations
        if each.settings.codec == wanted.codec
    }
    if min(measured.values()) <= codec.strength(wanted.level) <= max(measured.values()):
        return []
    levels = dict.fromkeys(sorted(measured, key=lambda level: (measured[level], level)))
    return [f"the level of {wanted.codec} is {_level_text(config, wanted.codec)}, but {_only_measured(levels)}"]


def _level_text(config: ProducerConfig, codec: str) -> str:
    """Return the level of a config's codec in the numbers of the config's client, which may not be the model's."""
    knob = config.client.level_knobs.get(codec)
    return config.effective_values.spelt_out(knob.sets) if knob else "the default"


def _measured_acks(measured: Mapping[str, None], replicas: int) -> str:
    """Return in words which values of acks were measured with a number of replicas."""
    if replicas == 1 and "0" not in measured:
        return "only acks=1 or acks=all was, which are the same with one replica"
    return f"only acks={' and acks='.join(measured)} {'was' if len(measured) == 1 else 'were'}"


def _only_measured(measured: Mapping[str, None] | Mapping[int, None]) -> str:
    return f"only {enumerated(measured)} {'was' if len(measured) == 1 else 'were'} measured"
