"""What other settings would do to a topic, estimated from its batches."""

from dataclasses import replace

import pytest

from runners.clusters.topics.stored_topics import StoredPartition, StoredTopic
from runners.inspection.batch_sampling import BatchSample
from runners.inspection.record_batch import BatchSequence, MergedBatches
from runners.performance_model.constants import REMOTE_JAVA
from search_spaces.client import java
from search_spaces.client_facts.record_format import record_overhead_bytes
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.batches import BROKER, arrivals, batch, batch_of, batched, sample_of
from tuner.inspection.topic_savings import Inspection, inspection_of
from tuner.prediction.advice import Advice, advice
from tuner.prediction.calibration import Calibration, calibrate, uncalibrated
from tuner.prediction.observations import Observation
from tuner.present.predictions.advice_view import advice_json, advice_lines, command

DAY_S = 86_400.0
RECORDS = arrivals(2_000, mean_ms=2.0)
MERGED = MergedBatches(
    100, 10, 1_000, 100_000, 100_000, {"lz4": 40_000, "zstd": 39_000, "gzip": 41_000, "snappy": 60_000}
)
CLUSTER = "--bootstrap broker:9092"
UNCALIBRATED = uncalibrated(REMOTE_JAVA)


def inspected(sample: BatchSample) -> Inspection:
    found = inspection_of(sample)
    assert found is not None
    return found


def inspection(linger_ms: float) -> Inspection:
    """A topic with one producer, which sends a record of about 600 B every 2 ms."""
    batches = [batch_of(each, producer_id=7) for each in batched(RECORDS, linger_ms, 16_384)]
    return inspected(sample_of(batches, merged=MERGED))


def advice_on(topic: Inspection, calibration: Calibration = UNCALIBRATED) -> Advice:
    found = advice(topic, calibration, DAY_S)
    assert found is not None
    return found


def advised(linger_ms: float) -> Advice:
    return advice_on(inspection(linger_ms))


def test_the_rate_is_that_of_the_producer_while_it_sends() -> None:
    load = advised(10).load
    assert load.rate_records_per_s == pytest.approx(500, rel=0.05)
    assert load.record_sizes.mean_bytes == pytest.approx(600, rel=0.1)


def test_the_estimate_for_today_is_near_what_was_found() -> None:
    for linger_ms in (0, 10, 40):
        found = advised(linger_ms)
        assert found.today.batch_records.low <= found.measured_batch_records < found.today.batch_records.high
        assert found.today.settings["compression.type"] == "none"


def test_batches_larger_than_the_default_size_show_a_larger_batch_size() -> None:
    """Nothing explains where these batches end, so their sizes are all that is known of batch.size."""
    counts = [40, 400, 90, 700, 250, 60, 500, 120] * 5
    starts = [sum(counts[:at]) for at in range(len(counts))]
    records = arrivals(sum(counts), mean_ms=0.05)
    batches = [
        batch_of(records[start : start + count], producer_id=7) for start, count in zip(starts, counts, strict=True)
    ]
    found = inspected(sample_of(batches, merged=MERGED))
    assert found.ending.full_bytes is None
    told = advice_on(found)
    assert int(told.today.settings["batch.size"]) == round(found.traffic.bytes_per_batch.p90) > 300_000
    large = inspected(sample_of([batch_of([(1_000.0 + n, 40_000)], producer_id=7) for n in range(50)]))
    told = advice_on(large)
    assert told.today.settings["batch.size"] == "16384", "a record that is larger than batch.size is a batch of its own"


def test_longer_waits_make_larger_batches_and_cost_latency() -> None:
    found = advised(0)
    codec_only, *waits = found.others
    assert codec_only.settings == {**found.today.settings, "compression.type": "lz4"}
    assert codec_only.mb_per_s < 0.8 * found.today.mb_per_s
    sizes = [each.batch_records.value for each in (codec_only, *waits)]
    assert sizes == sorted(sizes)
    latencies = [each.latency_p50_ms.value for each in waits]
    assert latencies == sorted(latencies)
    assert waits[1].batches_per_s < 0.3 * found.today.batches_per_s
    assert waits[1].broker_cpu_cores.value < found.today.broker_cpu_cores.value


def test_without_times_the_rate_is_the_mean_of_the_day() -> None:
    sample = sample_of([batch(first_created_ms=-1, last_created_ms=-1)] * 20, merged=MERGED)
    found = inspected(sample)
    found = replace(found, traffic=replace(found.traffic, between_ms=None, recent_records=864_000))
    told = advice_on(found)
    assert told.load.rate_records_per_s == pytest.approx(10.0)
    for each in (found, inspection(10)):
        silent = replace(each, traffic=replace(each.traffic, recent_records=0))
        assert advice(silent, UNCALIBRATED, DAY_S) is None


def test_the_size_of_a_value_leaves_out_the_headers() -> None:
    value_bytes = 20
    record = value_bytes + record_overhead_bytes(value_bytes)
    batches = [batch_of([(1_000.0 + 2 * n, record)], producer_id=7) for n in range(500)]
    found = inspected(sample_of(batches))
    told = advice_on(found)
    assert told.load.record_sizes.mean_bytes == value_bytes


def test_producers_that_together_exceed_the_network_are_named() -> None:
    batches = [
        batch_of([(1_000.0 + n, 10_000)] * 20, producer_id=producer) for n in range(300) for producer in range(12)
    ]
    found = inspected(sample_of(batches))
    told = advice_on(found)
    assert told.producers == 12
    assert told.overloaded
    assert "whether your brokers carry it" in "\n".join(advice_lines(told, "orders", None, CLUSTER))
    assert not advised(10).overloaded


def test_settings_that_the_calibration_does_not_cover_are_named() -> None:
    found = inspection(10)
    load = advised(10).load
    full_load = replace(load, rate_records_per_s=None)
    values = {"records_per_s": 300_000.0}
    seen = [Observation(ProducerConfig.parse({"linger.ms": each}, java()), full_load, values) for each in ("0", "5")]
    told = advice_on(found, calibrate(seen, REMOTE_JAVA))
    assert told.uncovered == ("compression.type is lz4, but only none was measured",)
    text = "\n".join(advice_lines(told, "orders", "overnight", CLUSTER))
    assert "does not cover all of this: compression.type is lz4, but only none was measured" in text


def test_the_text_says_what_it_is_and_how_to_measure_it() -> None:
    found = advised(10)
    text = "\n".join(advice_lines(found, "orders", None, CLUSTER))
    assert "these numbers are estimated by a model, and were not measured" in text
    assert "not calibrated" in text
    assert command(found, "orders", CLUSTER) in text
    assert command(found, "orders", CLUSTER).startswith(
        "tuner run --bootstrap broker:9092 --client java --like orders "
    )
    assert "calibrated by overnight" in "\n".join(advice_lines(found, "orders", "overnight", CLUSTER))
    record = advice_json(found, "orders", None, CLUSTER)
    assert len(record["others"]) == len(found.others) == 4
    assert record["today"]["latency_p50_ms"]["low"] < record["today"]["latency_p50_ms"]["high"]


def test_a_model_that_does_not_fit_todays_batches_is_not_to_be_relied_on() -> None:
    found = advised(10)
    warning = "So the table does not describe this topic"
    assert warning not in "\n".join(advice_lines(found, "orders", None, CLUSTER))
    for factor in (0.4, 40.0):
        other = replace(found, measured_batch_records=factor * found.today.batch_records.value)
        assert warning in "\n".join(advice_lines(other, "orders", None, CLUSTER))


@pytest.mark.parametrize(("key_bytes", "words"), [(0, ""), (1, " --key-bytes 1")])
def test_records_with_keys_are_named_and_measured_with_keys(key_bytes: int, words: str) -> None:
    found = advised(10)
    found = replace(found, load=replace(found.load, key_bytes=key_bytes))
    assumed = next(line for line in advice_lines(found, "orders", None, CLUSTER) if line.startswith("assumed: "))
    assert assumed.startswith("assumed: the Java client, 1 producer of ")
    assert assumed.endswith("compressible, with keys" if key_bytes else "compressible")
    assert command(found, "orders", CLUSTER).endswith(f"--compressibility 0.60{words}")
    assert advice_json(found, "orders", None, CLUSTER)["key_bytes"] == key_bytes


def test_settings_that_fall_behind_have_no_latency_in_text_and_json() -> None:
    found = advised(10)
    found = replace(found, today=replace(found.today, falls_behind=True))
    assert sum("falls behind" in line for line in advice_lines(found, "orders", None, CLUSTER)) == 1
    record = advice_json(found, "orders", None, CLUSTER)
    assert (record["today"]["latency_p50_ms"], record["today"]["latency_p99_ms"]) == (None, None)
    assert record["others"][0]["latency_p99_ms"]["value"] > 0


def test_partitions_that_were_not_read_count_with_their_recent_records() -> None:
    """Of 5 partitions, 2 are read: they have a record every 2 ms each, and the others have twice as many in the day."""
    sequences = [
        BatchSequence(tuple(batch_of(each, producer_id=7) for each in batched(RECORDS, 10, 16_384)), merged)
        for merged in (MERGED, MergedBatches())
    ]
    recent = (600, 600, 1_200, 600, 600)
    parts = tuple(StoredPartition(number, BROKER, 0, 10_000, each) for number, each in enumerate(recent))
    found = inspected(BatchSample(StoredTopic("orders", parts), dict(enumerate(sequences)), {}))
    assert (found.traffic.partitions, found.traffic.partitions_read) == (5, 2)
    told = advice_on(found)
    assert told.load.rate_records_per_s == pytest.approx(2 * 500 * 3, rel=0.05)


def test_a_topic_beyond_the_limits_of_a_load_is_advised_at_the_limits() -> None:
    """There is advice for 12,000 partitions, for a record a month, and for batches larger than the client's buffer."""
    many = inspection(10)
    monthly = inspected(
        sample_of([batch_of([(1e9 + 30 * DAY_S * 1e3 * n, 100)], producer_id=7) for n in range(8)], merged=MERGED)
    )
    large = inspected(
        sample_of(
            [batch_of([(1e9 + n * 1e3 + at, 1_000) for at in range(40_000)], producer_id=7) for n in range(20)],
            merged=MERGED,
        )
    )
    assert large.ending.full_bytes
    for each in (replace(many, traffic=replace(many.traffic, partitions=12_000)), monthly, large):
        told = advice_on(each)
        assert told.load.partitions <= 10_000
