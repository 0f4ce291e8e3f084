"""The fields of the what-if page."""

from dataclasses import replace

from runners.performance_model.constants import EMBEDDED
from runners.performance_model.performance import performance
from runners.workload import RecordSizes, Workload
from search_spaces.producer_config import ProducerConfig
from tuner.prediction.observations import Observation
from tuner.prediction.question import Changes, Question
from tuner.prediction.source import Source
from tuner.present.prediction_view import what_if_record

CONFIG = ProducerConfig.parse({})
LOAD = Workload(RecordSizes.fixed(1_000), rate_records_per_s=20_000.0)


def test_the_rate_ends_at_the_throughput_of_the_asked_record_size() -> None:
    saturating = replace(LOAD, rate_records_per_s=None)
    truth = performance(EMBEDDED, CONFIG, saturating)
    seen = Observation(CONFIG, saturating, {"records_per_s": truth.records_per_s})
    source = Source("orders", (seen,), EMBEDDED, CONFIG, "recommended", LOAD, 1)
    ends = {}
    for record_bytes in ("500", "1000", "3000"):
        asked = Question.of(source).changed(Changes(record_bytes=record_bytes))
        record = what_if_record(source, source.calibrated(), asked, None, {})
        (rate,) = (each for each in record["fields"] if each["name"] == "rate")
        ends[record_bytes] = float(rate["high"])
    assert ends["500"] > 1.2 * ends["1000"] > 1.44 * ends["3000"]
