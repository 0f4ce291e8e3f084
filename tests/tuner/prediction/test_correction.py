"""What the constants of the performance model can't describe is learnt from the measurements."""

from dataclasses import replace
from itertools import product
from math import log
from typing import Final

import numpy as np
import pytest

from benchmarks.problems.observed import observed, paced_load
from benchmarks.problems.table import java_grid, undisturbed_grid
from runners.performance_model.constants import EMBEDDED, REMOTE
from runners.performance_model.performance import performance
from runners.performance_model.settings import Settings
from runners.workload import RecordSizes, Workload
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import calibrate
from tuner.prediction.correction import corrections, latency_load, noise_ratio, unsteadiness
from tuner.prediction.observations import Observation
from tuner.prediction.predicted_metrics import BATCHES, CPU, FULL_SPEED_METRICS, LATENCIES
from tuner.prediction.predicting import predict
from tuner.prediction.probes import chosen_probes
from tuner.present.number_text import number
from tuner.present.predictions.prediction_view import prediction_rows

LOAD: Final = Workload(RecordSizes.fixed(1000), compressibility_ratio=0.5)
PACED_LOAD: Final = replace(LOAD, rate_records_per_s=50_000.0)


def config(linger_ms: float, batch_bytes: int) -> ProducerConfig:
    return ProducerConfig.parse({"linger.ms": linger_ms, "batch.size": batch_bytes})


def slower_with_large_batches(config: ProducerConfig, load: Workload) -> Observation:
    """Return what a host measures that is as the model says, but 30 % slower with large batches."""
    told = performance(EMBEDDED, config, load)
    slow = 0.7 if Settings.of(config, load).batch_bytes > 150_000 else 1.0
    return Observation(config, load, {"records_per_s": told.records_per_s * slow})


SEEN: Final = [
    slower_with_large_batches(config(linger_ms, batch_bytes), LOAD)
    for linger_ms, batch_bytes in product((0, 1, 5, 20), (16_384, 65_536, 300_000, 900_000))
]


@pytest.mark.parametrize(("batch_bytes", "factor"), [(500_000, 0.7), (30_000, 1.0)])
def test_configs_similar_to_measured_ones_get_the_same_correction(batch_bytes: int, factor: float) -> None:
    found = corrections(SEEN, EMBEDDED)["records_per_s"]
    missing, sd = found.at(Settings.of(config(3, batch_bytes), LOAD), LOAD)
    assert missing == pytest.approx(log(factor), abs=0.1)
    assert sd < 0.2


def test_a_mean_of_many_measurements_counts_more_than_a_single_one() -> None:
    def missing(measurements: int) -> float:
        faster = {"records_per_s": 1.2 * SEEN[1].values["records_per_s"]}
        seen = replace(SEEN[1], values=faster, measurements=measurements)
        return corrections([SEEN[0], seen], EMBEDDED)["records_per_s"].at(seen.settings, seen.workload)[0]

    assert missing(1) < missing(4) < missing(100) < log(1.2)


def test_far_from_all_measurements_nothing_is_known() -> None:
    found = corrections(SEEN, EMBEDDED)["records_per_s"]
    near, far = LOAD, replace(LOAD, record_sizes=RecordSizes.fixed(60_000_000), partitions=10_000)
    _, known_sd = found.at(Settings.of(config(3, 500_000), near), near)
    missing, sd = found.at(Settings.of(config(3, 500_000), far), far)
    assert abs(missing) < 0.1
    assert sd > 1.5 * known_sd


def test_only_measured_metrics_have_factors() -> None:
    assert set(corrections(SEEN, EMBEDDED)) == {"records_per_s"}
    both = [replace(SEEN[0], values=dict.fromkeys((*FULL_SPEED_METRICS, BATCHES, *LATENCIES, *CPU), 1.0))]
    assert set(corrections(both, EMBEDDED)) == {*FULL_SPEED_METRICS, BATCHES, *LATENCIES}


def test_the_correction_predicts_real_measurements_better() -> None:
    """The kept table of 168 configs of the Java client, of which the fit sees 60."""
    table = observed(java_grid())
    chosen = chosen_probes(list(table), 60, paced_load(table), EMBEDDED)
    calibration = calibrate([each for config in chosen for each in table[config]])
    with_it, without = [], []
    for each in (seen[0] for config, seen in table.items() if config not in chosen):
        measured = log(each.values["records_per_s"])
        told = predict(calibration, each.config, each.workload).values["records_per_s"].value
        bare = performance(calibration.constants, each.config, each.workload).records_per_s
        with_it.append(abs(log(told) - measured))
        without.append(abs(log(bare) - measured))
    assert len(with_it) > 100
    assert np.mean(with_it) < 0.85 * np.mean(without)


def test_what_was_learnt_at_one_level_of_a_codec_says_little_about_another() -> None:
    def zstd(level: int, linger_ms: float) -> ProducerConfig:
        return ProducerConfig.parse({"compression.type": "zstd", "compression.level": level, "linger.ms": linger_ms})

    seen = [
        Observation(each, LOAD, {"records_per_s": 0.6 * performance(EMBEDDED, each, LOAD).records_per_s})
        for each in (zstd(3, linger_ms) for linger_ms in (0, 1, 5, 20, 50, 100))
    ]
    found = corrections(seen, EMBEDDED)["records_per_s"]
    (near, near_sd), (far, far_sd) = (found.at(Settings.of(zstd(level, 5), LOAD), LOAD) for level in (3, 12))
    assert near < log(0.75) < far
    assert far_sd > near_sd


@pytest.mark.parametrize(("factor", "lowered"), [(1.3, True), (0.7, False)])
def test_a_config_that_is_faster_than_modelled_has_the_latency_of_a_lower_rate(factor: float, lowered: bool) -> None:
    each = config(5, 100_000)
    told = performance(EMBEDDED, each, LOAD)
    seen = Observation(each, LOAD, {"records_per_s": factor * told.records_per_s}, measurements=100)
    paced = replace(LOAD, rate_records_per_s=0.9 * told.records_per_s)
    found = corrections([seen], EMBEDDED)
    settings = Settings.of(each, paced)
    rate = latency_load(found, settings, paced).rate_records_per_s
    assert rate is not None
    assert paced.rate_records_per_s is not None
    assert (rate < 0.9 * paced.rate_records_per_s) == lowered
    assert (rate == paced.rate_records_per_s) != lowered
    assert latency_load(found, settings, LOAD) == LOAD


def test_the_only_measured_end_to_end_latency_is_predicted_also_if_the_config_is_faster_than_modelled() -> None:
    each = config(5, 100_000)
    told = performance(EMBEDDED, each, LOAD)
    full = Observation(each, LOAD, {"records_per_s": 1.5 * told.records_per_s}, measurements=100)
    load = replace(LOAD, rate_records_per_s=0.8 * told.records_per_s)
    paced = Observation(each, load, {"latency_p50_ms": 3.0, "latency_p99_ms": 9.0, "end_to_end_p99_ms": 12.0})
    calibration = calibrate([full, paced])
    assert latency_load(calibration.corrections, Settings.of(each, load), load) != load
    assert predict(calibration, each, load).values["end_to_end_p99_ms"].value == pytest.approx(12.0)


def test_medians_are_noisier_if_requests_of_librdkafka_meet_others() -> None:
    """The round trip does not count: on a remote cluster, many requests may be on their way without meeting others."""
    load, remote_load = (replace(LOAD, rate_records_per_s=rate) for rate in (100_000.0, 30_000.0))
    often, seldom = config(0, 1_000_000), config(20, 1_000_000)
    java_often = ProducerConfig.parse({"linger.ms": 0, "batch.size": 1_000_000}, java())

    def ratio(metric: str, each: ProducerConfig) -> float:
        return noise_ratio(unsteadiness(metric, Settings.of(each, load), performance(EMBEDDED, each, load)))

    assert ratio("latency_p50_ms", often) > 2.0 > 1.1 > ratio("latency_p50_ms", seldom) >= 1.0
    assert ratio("end_to_end_p50_ms", often) == ratio("latency_p50_ms", often)
    assert ratio("latency_p99_ms", often) == ratio("latency_p50_ms", java_often) == 1.0
    far = performance(REMOTE, config(5, 1_000_000), remote_load)
    assert far.in_flight_requests > 0.7
    assert noise_ratio(unsteadiness("latency_p50_ms", Settings.of(config(5, 1_000_000), remote_load), far)) < 1.1


def test_the_intervals_of_medians_hold_also_if_requests_meet_others() -> None:
    table = observed(undisturbed_grid())
    chosen = chosen_probes(list(table), 12, paced_load(table), EMBEDDED)
    calibration = calibrate([each for found in (table[config] for config in chosen) for each in found])
    rest = [found[1] for config, found in table.items() if config not in chosen and len(found) > 1]
    inside = []
    for each in rest:
        modelled = performance(calibration.constants, each.config, each.workload)
        told = predict(calibration, each.config, each.workload).values.get("latency_p50_ms")
        if told is not None and noise_ratio(unsteadiness("latency_p50_ms", each.settings, modelled)) > 2.0:
            inside.append(told.low <= each.values["latency_p50_ms"] <= told.high)
    assert len(inside) > 20
    assert np.mean(inside) > 0.9


def test_a_median_in_two_states_may_be_that_of_full_sockets() -> None:
    """Measured with `linger.ms=0`: a p50 of 0.5 ms in some runs and of 30 ms in others."""
    load = replace(LOAD, rate_records_per_s=100_000.0)
    unlimited, one_request = (
        ProducerConfig.parse({"linger.ms": 0, "max.in.flight.requests.per.connection": many}) for many in (1_000_000, 1)
    )
    seen = [
        Observation(each, load, {"latency_p50_ms": performance(EMBEDDED, each, load).latency_p50_ms})
        for each in (unlimited, one_request)
    ]
    calibration = calibrate(seen)
    full = performance(calibration.constants, unlimited, load).full_sockets_ms
    assert predict(calibration, unlimited, load).values["latency_p50_ms"].high > 0.9 * full > 5.0
    assert predict(calibration, one_request, load).values["latency_p50_ms"].high < 5.0


def test_with_one_replica_acks_1_and_acks_all_have_the_same_correction() -> None:
    first, every, none = (ProducerConfig.parse({"acks": acks, "enable.idempotence": False}) for acks in (1, "all", 0))
    one, three = LOAD, replace(LOAD, replication=3)
    found = corrections([slower_with_large_batches(each, one) for each in (first, every)], EMBEDDED)["records_per_s"]

    def at(config: ProducerConfig, load: Workload) -> tuple[float, float]:
        return found.at(Settings.of(config, load), load)

    assert at(first, one) == at(every, one) != at(none, one)
    assert at(first, three) != at(every, three)


def test_without_a_measured_latency_none_is_predicted() -> None:
    """A study without a fixed rate has no latencies, and records sent with acks=0 are never acknowledged."""
    unmeasured = predict(calibrate(SEEN), config(10, 100_000), PACED_LOAD)
    assert (unmeasured.no_latency, "latency_p50_ms" in unmeasured.values) == (
        "not measured at a rate that was held",
        False,
    )
    too_fast = replace(LOAD, rate_records_per_s=1e8)
    assert predict(calibrate(SEEN), config(10, 100_000), too_fast).no_latency == "falls behind the rate"
    paced = Observation(config(1, 100_000), PACED_LOAD, {"latency_p50_ms": 2.0, "latency_p99_ms": 9.0})
    calibration = calibrate([*SEEN, paced])
    assert "latency_p50_ms" in predict(calibration, config(10, 100_000), PACED_LOAD).values
    unsafe = ProducerConfig.parse({"acks": 0, "enable.idempotence": False})
    assert predict(calibration, unsafe, PACED_LOAD).no_latency == "none with acks=0"


def test_what_consumers_see_is_reported_if_consumers_were_measured() -> None:
    def seen(config: ProducerConfig) -> Observation:
        told = performance(EMBEDDED, config, PACED_LOAD)
        values = {"latency_p50_ms": told.latency_p50_ms, "latency_p99_ms": told.latency_p99_ms}
        consumers = {"end_to_end_p50_ms": 1.5 * told.latency_p50_ms, "consumer_cpu_ms_per_mb": 2.0}
        return Observation(config, PACED_LOAD, values | consumers)

    among = [config(linger_ms, 100_000) for linger_ms in (1, 5, 20)]
    told = predict(calibrate([*SEEN, *map(seen, among)]), config(10, 100_000), PACED_LOAD)
    assert told.values["end_to_end_p50_ms"].value == pytest.approx(1.5 * told.values["latency_p50_ms"].value, rel=0.25)
    assert "end_to_end_p99_ms" not in told.values
    taken = told.consumer_mb_per_s
    assert taken is not None
    assert taken.value == pytest.approx(500, rel=0.3)
    assert taken.low < taken.value < taken.high
    assert f"{number(taken.value)} ({number(taken.low)} to {number(taken.high)})" in str(prediction_rows([told], None))
    assert predict(calibrate(SEEN), config(10, 100_000), PACED_LOAD).consumer_mb_per_s is None
