"""What predictions show as text and JSON, and the fields of the what-if page."""

from dataclasses import replace
from typing import Any

from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.changed_settings import ChangedSettings
from tuner.prediction.observations import Observation
from tuner.prediction.prediction_source import PredictionSource
from tuner.prediction.question import PredictionRequest
from tuner.prediction.retention import Retention
from tuner.present.predictions.prediction_view import prediction_json, prediction_lines
from tuner.present.predictions.what_if import what_if_json
from tuner.results.study_results import SIMULATED
from tuner.service.http.pages import what_if_page

CONFIG = ProducerConfig.parse({})
OLD = "orders was measured by an older release"
LOAD = Workload(RecordSizes.fixed(1_000), rate_records_per_s=20_000.0)


def source_of(load: Workload = LOAD, **more: Any) -> PredictionSource:
    saturating = replace(load, rate_records_per_s=None)
    truth = performance(EMBEDDED, CONFIG, saturating)
    seen = Observation(CONFIG, saturating, {"records_per_s": truth.records_per_s})
    return PredictionSource("orders", (seen,), EMBEDDED, CONFIG, "recommended", load, 1, **more)


def asked(source: PredictionSource, retention: Retention | None = None, **changed: Any) -> PredictionRequest:
    return PredictionRequest.of(source, ChangedSettings(**changed), CONFIG, retention=retention)


def test_the_rate_ends_at_the_throughput_of_the_asked_record_size() -> None:
    source, ends = source_of(), {}
    for record_bytes in ("500", "1000", "3000"):
        record = what_if_json(asked(source, record_bytes=record_bytes), source.calibrated())
        (rate,) = (each for each in record["fields"] if each["name"] == "rate")
        ends[record_bytes] = float(rate["high"])
    assert ends["500"] > 1.2 * ends["1000"] > 1.44 * ends["3000"]


def test_a_low_rate_lies_in_the_range_of_its_slider() -> None:
    source = source_of(replace(LOAD, rate_records_per_s=500.0))
    record = what_if_json(asked(source), source.calibrated())
    (rate,) = (each for each in record["fields"] if each["name"] == "rate")
    assert (rate["value"], rate["low"]) == ("500", "500")
    higher = what_if_json(asked(source, rate=9000), source.calibrated())
    (rate,) = (each for each in higher["fields"] if each["name"] == "rate")
    assert (rate["value"], rate["low"]) == ("9000", "500"), "the slider can go back"


def test_a_field_of_the_load_says_its_unit_and_its_value_with_separators() -> None:
    source = source_of(replace(LOAD, rate_records_per_s=12_345.6))
    page = what_if_page("orders", what_if_json(asked(source), source.calibrated()))
    assert "<label>rate, records/s\n" in page
    assert 'value="12345.6"><output>12,346</output>' in page
    assert "<label>linger.ms\n" in page


def test_warnings_stand_at_the_head_of_texts_and_in_records() -> None:
    source = source_of(simulated=True, warnings=(SIMULATED, OLD))
    calibration, single = source.calibrated(), asked(source)
    sweep = PredictionRequest.of(source, ChangedSettings(), CONFIG, "linger.ms=0,5")
    for request in (single, sweep):
        told = request.predictions(calibration)
        assert prediction_lines(request, calibration, told)[:2] == [SIMULATED, OLD]
        record = prediction_json(request, calibration, told)
        assert (record["simulated"], record["warnings"]) == (True, [SIMULATED, OLD])
    page = what_if_json(single, calibration)
    assert page["warnings"] == [SIMULATED, OLD]
    assert f'<p class="warn">{OLD}</p>' in what_if_page("orders", page)
    measured = asked(source_of())
    assert SIMULATED not in "\n".join(prediction_lines(measured, calibration, measured.predictions(calibration)))


def test_the_command_that_measures_does_not_tell_the_address_of_the_users_cluster() -> None:
    request = asked(source_of(users_cluster=True), partitions=2)
    told = request.predictions(request.source.calibrated())
    record = prediction_json(request, request.source.calibrated(), told)["predictions"]["changed"]
    assert record["command"].startswith("tuner bench --bootstrap HOST:PORT --client librdkafka --record-bytes 1000 ")


def test_a_disk_that_never_fills_differs_from_an_unknown_disk() -> None:
    """The study has no rate, so only the rate in the question has a prediction of the disk."""
    source = source_of(replace(LOAD, rate_records_per_s=None))
    request = asked(source, Retention(retention_s=3_600.0, disk_bytes=10**13), rate=1_000.0)
    calibration = source.calibrated()
    told = request.predictions(calibration)
    unknown, never = prediction_json(request, calibration, told)["predictions"].values()
    assert never["disk_full_after_days"] is None
    assert {"kept_days", "kept_gb_per_broker"} <= never.keys()
    assert not {"disk_full_after_days", "kept_days", "kept_gb_per_broker"} & unknown.keys()
    assert unknown["intervals"] == {}
    assert never["intervals"]["disk_full_after_days"] == {"low": None, "high": None}


def test_a_disk_that_may_be_full_before_records_are_deleted_is_full_in_a_part_of_the_interval() -> None:
    source = source_of()
    calibration = source.calibrated()
    stored = asked(source, rate=50_000.0).predictions(calibration)["changed"].stored_gb_per_day  # type: ignore[union-attr]
    assert stored is not None
    # The disk has just enough room for all that Kafka keeps, if the predicted value is right.
    kept_gb = Retention(retention_s=86_400.0).kept_gb(replace(LOAD, rate_records_per_s=50_000.0), stored.value)
    assert kept_gb is not None
    request = asked(source, Retention(86_400.0, None, round(kept_gb * 1e9) + 1), rate=50_000.0)
    told = request.predictions(calibration)
    record = prediction_json(request, calibration, told)["predictions"]["changed"]
    assert record["disk_full_after_days"] is None
    days = record["intervals"]["disk_full_after_days"]
    assert 0 < days["low"] < 1.1
    assert days["high"] is None
    [line] = [line for line in prediction_lines(request, calibration, told) if line.startswith("disks full after")]
    assert line.endswith(" to never)")
    assert "never (" in line
