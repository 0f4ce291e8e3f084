"""The performance model is fitted to measurements, and then predicts others."""

from collections.abc import Callable
from dataclasses import replace
from itertools import product
from math import log
from statistics import geometric_mean
from typing import Any, Final

import numpy as np
import pytest

from benchmarks.problems.observed import observed, paced_load, start_of
from benchmarks.problems.table import MeasuredTable, embedded_grid, java_grid, small_records_java_grid
from runners.performance_model.constants import EMBEDDED, EMBEDDED_JAVA, ClusterConstants
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.client import Client, client_of, java, librdkafka
from search_spaces.configs.producer_config import ProducerConfig
from tuner.experiment_file import parse_experiment
from tuner.model.target import Target
from tuner.prediction.calibration import Calibration, calibrate, uncalibrated
from tuner.prediction.fitted_constants import PRIOR_SD_LOG, similar_host
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import BATCHES, FULL_SPEED_METRICS, LATENCIES
from tuner.prediction.predicting import predict, reasons_not_covered
from tuner.prediction.probes import calibration_file, candidates, chosen_probes, defaults_for
from tuner.present.predictions.calibration_view import calibration_lines

RATE: Final = 50_000.0
LOAD: Final = Workload(RecordSizes.fixed(1000), compressibility_ratio=0.5)
OTHER_HOST: Final = replace(
    EMBEDDED,
    client_cores=1.7,
    client_s_per_byte=0.3e-9,
    broker_s_per_byte=0.6e-9,
    broker_s_per_request=180e-6,
    tail_s=0.9e-3,
)
"""A host whose truth differs from what the fit begins with."""


def told_by(cluster: ClusterConstants, config: ProducerConfig, workload: Workload) -> Observation:
    """Return what a load would measure on a cluster without noise."""
    told = performance(cluster, config, workload)
    metrics = FULL_SPEED_METRICS if workload.rate_records_per_s is None else LATENCIES
    return Observation(config, workload, {name: told.value_of(name) for name in metrics})


def configs(*batch_sizes: int) -> list[ProducerConfig]:
    return [
        ProducerConfig.parse({"linger.ms": linger, "batch.size": batch, "compression.type": codec})
        for linger, batch, codec in product((0.5, 5, 50), batch_sizes, ("none", "lz4"))
    ]


def measured(cluster: ClusterConstants, among: list[ProducerConfig]) -> list[Observation]:
    loads = (LOAD, replace(LOAD, rate_records_per_s=RATE))
    return [told_by(cluster, config, load) for config in among for load in loads]


def test_the_constants_of_the_java_client_are_those_that_its_tables_give() -> None:
    seen = [
        [each for found in observed(read()).values() for each in found] for read in (java_grid, small_records_java_grid)
    ]
    fitted = [calibrate(each).constants for each in seen]
    for name in PRIOR_SD_LOG:
        mean = geometric_mean(getattr(each, name) for each in fitted)
        assert getattr(EMBEDDED_JAVA, name) == pytest.approx(mean, rel=0.05), name


def test_a_dozen_configs_calibrate_predictions_for_another_host() -> None:
    calibration = calibrate(measured(OTHER_HOST, configs(16_384, 300_000)))
    for config in configs(60_000, 1_000_000):
        truth = performance(OTHER_HOST, config, LOAD)
        told = predict(calibration, config, replace(LOAD, rate_records_per_s=RATE))
        assert told.values["records_per_s"].value == pytest.approx(truth.records_per_s, rel=0.08)
        assert told.values["records_per_s"].low < truth.records_per_s < told.values["records_per_s"].high
        before = performance(EMBEDDED, config, LOAD)
        assert abs(log(told.values["records_per_s"].value / truth.records_per_s)) < abs(
            log(before.records_per_s / truth.records_per_s)
        )


def test_a_measurement_that_a_stall_has_spoilt_does_not_bend_the_fit() -> None:
    seen = measured(OTHER_HOST, configs(16_384, 300_000))
    spoilt = [
        replace(seen[0], values={**seen[0].values, "records_per_s": seen[0].values["records_per_s"] / 4}),
        *seen[1:],
    ]
    straight, bent = calibrate(seen), calibrate(spoilt)
    for config in configs(60_000):
        one, other = predict(straight, config, LOAD), predict(bent, config, LOAD)
        assert other.values["mb_per_s"].value == pytest.approx(one.values["mb_per_s"].value, rel=0.1)


def test_what_was_not_measured_stays_uncertain() -> None:
    calibration = calibrate(measured(OTHER_HOST, configs(16_384, 300_000)))
    assert {"gzip_ratio", "zstd_ratio", "network_bytes_per_s"} <= set(calibration.undetermined)
    assert calibration.constants.network_bytes_per_s == pytest.approx(EMBEDDED.network_bytes_per_s, rel=0.05)
    assert f"not determined: {', '.join(calibration.undetermined)}" in calibration_lines("calibration-1", calibration)


def test_a_host_that_is_slow_in_all_measured_costs_is_expected_to_be_slow_in_others() -> None:
    """Neither zstd nor gzip was measured."""
    costs = ("sender_s_per_record", "client_s_per_byte", "client_s_per_request", "broker_s_per_byte")
    slow = replace(EMBEDDED, **{name: 2 * getattr(EMBEDDED, name) for name in costs})
    constants = calibrate(measured(slow, configs(16_384, 300_000))).constants
    assert constants.zstd_ratio > 1.1
    assert constants.gzip_ratio > 1.1


@pytest.mark.parametrize(
    ("properties", "changes", "reason"),
    [
        ({"compression.type": "zstd"}, {}, "compression.type is zstd"),
        (
            {},
            {"record_sizes": RecordSizes.fixed(10)},
            "the record size is 10 B, less than 1/3 of the smallest that was measured, 1000 B",
        ),
        ({}, {"replication": 3}, "the replication factor is 3"),
        ({}, {"partitions": 100}, "the number of partitions is 100"),
        ({"acks": "0", "enable.idempotence": "false"}, {}, "acks=0 was not measured"),
        ({"compression.type": "lz4"}, {"compressibility_ratio": 0.95}, "the compressible share is 0.95"),
        ({"linger.ms": "17"}, {"partitions": 5}, None),
    ],
)
def test_nothing_is_predicted_far_from_what_was_measured(
    properties: dict[str, str], changes: dict[str, Any], reason: str | None
) -> None:
    config, load = ProducerConfig.parse(properties), replace(LOAD, **changes)
    found = reasons_not_covered(measured(EMBEDDED, configs(16_384)), config, load)
    assert bool(found) == bool(reason)
    assert reason is None or reason in found[0]


def test_a_level_of_a_codec_is_covered_only_between_those_that_were_measured() -> None:
    def zstd(level: int) -> ProducerConfig:
        return ProducerConfig.parse({"compression.type": "zstd", "compression.level": level})

    load = Workload(RecordSizes.fixed(1_000))
    seen = [Observation(zstd(level), load, {"records_per_s": 1e5}) for level in (1, 6)]
    for level in (-1, 0, 4, 6):
        assert not reasons_not_covered(seen, zstd(level), load)
    assert reasons_not_covered(seen, zstd(9), load) == ("the level of zstd is 9, but only 1 and 6 were measured",)
    # The default level of zstd is 3.
    assert reasons_not_covered(seen[1:], zstd(-1), load) == ("the level of zstd is 3, but only 6 was measured",)
    usual, strong = (
        ProducerConfig.parse({"compression.type": "lz4", "compression.lz4.level": level}, java()) for level in (9, 15)
    )
    seen = [Observation(usual, load, {"records_per_s": 1e5})]
    assert reasons_not_covered(seen, strong, load) == ("the level of lz4 is 15, but only 9 was measured",)


def test_compressibility_is_covered_by_measurements_with_the_same_codec_only() -> None:
    none, lz4 = (ProducerConfig.parse({"compression.type": codec}) for codec in ("none", "lz4"))
    random_bytes, text = (Workload(RecordSizes.fixed(1_000), compressibility_ratio=each) for each in (0.2, 0.9))
    seen = [Observation(none, text, {"records_per_s": 1e5}), Observation(lz4, random_bytes, {"records_per_s": 1e5})]
    assert reasons_not_covered(seen, lz4, text) == ("the compressible share is 0.9, but only 0.2 was measured",)
    assert not reasons_not_covered(seen, none, random_bytes)


def test_three_codecs_are_named_as_a_list() -> None:
    load = Workload(RecordSizes.fixed(1_000))
    none, lz4, snappy, zstd = (
        ProducerConfig.parse({"compression.type": codec}) for codec in ("none", "lz4", "snappy", "zstd")
    )
    seen = [Observation(config, load, {"records_per_s": 1e5}) for config in (none, lz4, snappy)]
    assert reasons_not_covered(seen, zstd, load) == (
        "compression.type is zstd, but only none, lz4 and snappy were measured",
    )


def test_every_measured_compressibility_is_named() -> None:
    lz4 = ProducerConfig.parse({"compression.type": "lz4"})
    seen = [told_by(EMBEDDED, lz4, replace(LOAD, compressibility_ratio=ratio)) for ratio in (0.5, 0.0, 0.5)]
    assert reasons_not_covered(seen, lz4, replace(LOAD, compressibility_ratio=0.9)) == (
        "the compressible share is 0.9, but only 0 and 0.5 were measured",
    )


def test_acks_are_covered_only_with_the_replicas_that_were_measured() -> None:
    one, three = replace(LOAD, replication=1), replace(LOAD, replication=3)
    first, every = (ProducerConfig.parse({"acks": acks, "enable.idempotence": "false"}) for acks in ("1", "all"))
    seen = [told_by(EMBEDDED, first, one), told_by(EMBEDDED, every, three)]
    assert reasons_not_covered(seen, first, three) == ("acks=1 was not measured; only acks=all was",)
    assert not reasons_not_covered(seen, every, three)
    assert not reasons_not_covered(seen, every, one), "with one replica, the leader is all of them"
    none = ProducerConfig.parse({"acks": "0", "enable.idempotence": "false"})
    waiting = "acks=0 was not measured; only acks=1 or acks=all was, which are the same with one replica"
    assert reasons_not_covered(seen, none, one) == (waiting,)
    unanswered = [told_by(EMBEDDED, none, one)]
    assert reasons_not_covered(unanswered, first, one) == ("acks=all was not measured; only acks=0 was",)


def test_at_a_rate_near_the_throughput_predicted_latencies_stay_plausible() -> None:
    calibration = calibrate(measured(EMBEDDED, configs(16_384)))
    config = configs(16_384)[0]
    capacity = predict(calibration, config, LOAD).values["records_per_s"].value
    told = predict(calibration, config, replace(LOAD, rate_records_per_s=0.94 * capacity)).values
    for metric in LATENCIES:
        assert told[metric].low > 0.1, "an empty request takes longer"
        assert told[metric].high < 10_000, "the client's queue is sent in a fraction of a second"


def test_batches_of_the_java_client_may_exceed_what_the_model_takes_for_full() -> None:
    """The client fills a batch up to its compressed size, which the model only estimates."""
    config = ProducerConfig.parse({"compression.type": "zstd", "linger.ms": "20"}, java())
    full = performance(EMBEDDED, config, LOAD)
    larger = 1.3 * full.batch_records
    seen = [Observation(config, LOAD, {"records_per_s": full.records_per_s, "batch_records": larger})] * 6
    told = predict(calibrate(seen), config, LOAD).values["batch_records"]
    assert told.value > full.batch_records
    assert told.low < larger < told.high


def test_a_config_that_can_not_hold_the_rate_has_no_latency() -> None:
    calibration = calibrate(measured(EMBEDDED, configs(16_384)))
    told = predict(calibration, configs(16_384)[0], replace(LOAD, rate_records_per_s=50e6))
    assert told.falls_behind
    assert "latency_p50_ms" not in told.values


@pytest.mark.parametrize(("ratio", "why"), [(0.9, ""), (0.98, "too near the throughput")])
def test_at_almost_the_throughput_of_a_config_no_latency_is_predicted(ratio: float, why: str) -> None:
    calibration = calibrate(measured(EMBEDDED, configs(16_384)))
    throughput = performance(calibration.constants, configs(16_384)[0], LOAD).records_per_s
    told = predict(calibration, configs(16_384)[0], replace(LOAD, rate_records_per_s=ratio * throughput))
    assert (told.no_latency, "latency_p50_ms" in told.values) == (why, not why)


@pytest.fixture(scope="module")
def after_twelve() -> tuple[Calibration, list[Observation]]:
    """The kept table of 168 configs: the fit to twelve of them, and what was measured of the others."""
    table = observed(embedded_grid())
    chosen = chosen_probes(list(table), 12, paced_load(table), EMBEDDED)
    rest = [each for config, seen in table.items() if config not in chosen for each in seen]
    return calibrate([each for config in chosen for each in table[config]]), rest


def test_real_measurements_are_predicted_better_after_twelve_of_them(
    after_twelve: tuple[Calibration, list[Observation]],
) -> None:
    calibration, rest = after_twelve

    def off(cluster: ClusterConstants, metric: str) -> float:
        errors = [
            abs(log(performance(cluster, each.config, each.workload).value_of(metric) / each.values[metric]))
            for each in rest
            if metric in each.values
        ]
        assert len(errors) > 100
        return float(np.median(errors))

    assert off(calibration.constants, "records_per_s") < 0.15
    assert off(calibration.constants, "latency_p50_ms") < 0.5


@pytest.mark.parametrize("read", [java_grid, small_records_java_grid])
def test_before_any_measurement_a_host_of_the_java_client_predicts_the_java_client_best(
    read: Callable[[], MeasuredTable],
) -> None:
    """The host that is compared first is fitted to the other table of the Java client."""
    table = read()

    def off(start: ClusterConstants) -> float:
        return float(
            np.mean(
                [
                    abs(log(performance(start, each.config, each.workload).value_of(metric) / each.values[metric]))
                    for seen in observed(table).values()
                    for each in seen
                    for metric in {"records_per_s", "latency_p50_ms"} & each.values.keys()
                ]
            )
        )

    assert off(start_of(table)) < off(similar_host(librdkafka(), shared=True)) / 2
    assert off(similar_host(java(), shared=True)) < off(start_of(table)) * 1.05


def test_most_real_measurements_lie_in_their_intervals(after_twelve: tuple[Calibration, list[Observation]]) -> None:
    calibration, rest = after_twelve
    inside: list[bool] = []
    for each in rest:
        told = predict(calibration, each.config, each.workload).values
        inside += [told[name].low <= value <= told[name].high for name, value in each.values.items() if name in told]
    assert np.mean(inside) > 0.8


@pytest.mark.parametrize("client", [librdkafka(), client_of("java")], ids=str)
def test_probes_differ_in_what_matters(client: Client) -> None:
    chosen = chosen_probes(candidates(client), 12, replace(LOAD, rate_records_per_s=RATE), EMBEDDED)
    assert len(set(chosen)) == 12
    for name in ("linger.ms", "batch.size", "compression.type"):
        assert len({config.values[name] for config in chosen}) > 1, name


def test_each_metric_that_is_fitted_has_a_scatter() -> None:
    assert set(uncalibrated(EMBEDDED).scatter) == {*FULL_SPEED_METRICS, BATCHES, *LATENCIES}


def test_a_cluster_of_the_user_may_have_replicas() -> None:
    load = replace(LOAD, replication=3, rate_records_per_s=RATE)
    text = calibration_file(defaults_for(librdkafka(), load), Target(bootstrap="broker:9092"), load, 4, EMBEDDED)
    spec = parse_experiment(text, name="calibration", folder=None, origin="it", environ={})
    assert {row.workload.replication for row in spec.rows} == {3}
    assert len(spec.rows) == 8
    assert dict(spec.row(spec.control).config.values) == {}
    assert {row.workload.rate_records_per_s for row in spec.rows} == {None, RATE}
