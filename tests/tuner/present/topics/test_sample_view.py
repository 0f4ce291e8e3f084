"""The study file of a sample: keys and bursts like those of the topic."""

from dataclasses import replace

import pytest
import yaml

from runners.inspection.topic_sample import TopicSample
from tuner.present.console import text_of
from tuner.present.topics.sample_view import print_sample, sampled_study
from tuner.study_file import parse_study

SAMPLE = TopicSample(
    records=10_000,
    partitions=3,
    tombstones=0,
    value_bytes=10_000_000,
    sizes={1_000: 10_000},
    keyed=10_000,
    key_bytes=8.0,
    different_keys=500,
    most_frequent_key_ratio=0.1,
    removed_ratio={"gzip": 0.5, "lz4": 0.4},
    span_s=100.0,
    rate_records_per_s=100.0,
    busiest_records_per_s=400,
)


def load_of(sample: TopicSample) -> dict[str, object]:
    """Return the section workload of the study file, with the line about the rate."""
    text = sampled_study("orders", sample, "broker:9092", None)
    parse_study(text, name="orders", folder=None, origin="orders.yaml", environ={})
    found: dict[str, object] = yaml.safe_load(text.replace("#paced", "paced"))["workload"]
    return found


def test_records_of_a_few_milliseconds_have_no_rate() -> None:
    short = replace(SAMPLE, span_s=0.003, rate_records_per_s=0.0)
    shown = text_of(lambda console: print_sample("orders", short, console))
    assert "rate, records/s        unknown, because these records were written within 3 ms\n" in shown
    assert "paced" not in load_of(short)


def test_keys_and_bursts_are_those_of_the_sample() -> None:
    load = load_of(SAMPLE)
    assert (load["different_keys"], load["most_frequent_key_ratio"]) == (500, 0.1)
    assert load["paced"] == {"rate_records_per_s": 100, "peak_ratio": 4.0}


@pytest.mark.parametrize(
    ("changed", "skew"), [({"most_frequent_key_ratio": 0.004}, 0.0), ({"most_frequent_key_ratio": 0.02}, 0.02)]
)
def test_keys_that_are_about_as_frequent_are_not_skewed(changed: dict[str, float], skew: float) -> None:
    assert load_of(replace(SAMPLE, **changed))["most_frequent_key_ratio"] == skew  # type: ignore[arg-type]


def test_a_short_sample_says_nothing_of_bursts() -> None:
    assert load_of(replace(SAMPLE, span_s=5.0))["paced"] == {"rate_records_per_s": 100}
    assert load_of(replace(SAMPLE, busiest_records_per_s=140))["paced"] == {"rate_records_per_s": 100}


def test_a_sample_without_keys_says_nothing_about_keys() -> None:
    assert "different_keys" not in load_of(replace(SAMPLE, keyed=0, key_bytes=0.0, different_keys=0))
