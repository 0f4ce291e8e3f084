"""Many predictions at once are the same as one after the other."""

from dataclasses import astuple, replace

import pytest

from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.calibration import calibrate
from tuner.prediction.observations import Observation
from tuner.prediction.predicting import predict, predict_all


def test_many_predictions_at_once_are_those_of_single_ones() -> None:
    load = Workload(RecordSizes.fixed(1000), compressibility_ratio=0.5, rate_records_per_s=50_000.0)
    seen = []
    for codec in ("none", "lz4"):
        config = ProducerConfig.parse({"compression.type": codec})
        told = performance(EMBEDDED, config, load)
        full = {"records_per_s": told.capacity_records_per_s, "batch_records": told.full_batch_records}
        seen.append(Observation(config, replace(load, rate_records_per_s=None), full))
        paced = {"latency_p50_ms": told.latency_p50_ms, "latency_p99_ms": told.latency_p99_ms}
        seen.append(Observation(config, load, paced))
    calibration = calibrate(seen)
    loads = [
        (ProducerConfig.parse({"linger.ms": linger_ms}), replace(load, rate_records_per_s=rate), producers)
        for linger_ms in (0, 20)
        for rate in (None, 30_000.0, 5e7)
        for producers in (1, 2)
    ]
    for each, together in zip(loads, predict_all(calibration, loads), strict=True):
        alone = predict(calibration, *each)
        assert replace(together, values={}, stored_gb_per_day=None) == replace(alone, values={}, stored_gb_per_day=None)
        stored = [each.stored_gb_per_day and astuple(each.stored_gb_per_day) for each in (together, alone)]
        assert stored[0] == pytest.approx(stored[1])
        assert together.values.keys() == alone.values.keys()
        for name, value in together.values.items():
            assert (value.value, value.low, value.high) == pytest.approx(
                (alone.values[name].value, alone.values[name].low, alone.values[name].high)
            )
    assert {each.no_latency for each in predict_all(calibration, loads)} == {"", "no rate", "falls behind the rate"}
