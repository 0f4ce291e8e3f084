"""Workloads that can't be run are refused with a helpful message."""

from dataclasses import fields

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.errors import WorkloadRefused
from runners.workload import LATER_SETTINGS, MAX_RECORD_BYTES, RecordSizes, Workload

SIZES = st.integers(1, MAX_RECORD_BYTES)
WEIGHTS = st.floats(0.001, 1e6)


@given(SIZES)
def test_one_number_is_a_fixed_size(size: int) -> None:
    sizes = RecordSizes.parse(str(size))
    assert sizes == RecordSizes.fixed(size)
    assert (sizes.mean_bytes, sizes.largest_bytes, str(sizes)) == (size, size, str(size))


@given(st.dictionaries(SIZES, WEIGHTS, min_size=1, max_size=6))
def test_a_mix_has_shares_in_proportion_to_its_weights(bars: dict[int, float]) -> None:
    sizes = RecordSizes.parse(",".join(f"{size}:{weight!r}" for size, weight in bars.items()))
    total = sum(bars.values())
    assert [size for size, _ in sizes.shares] == sorted(bars)
    assert sizes.largest_bytes == max(bars)
    assert sum(share for _, share in sizes.shares) == pytest.approx(1.0)
    assert sizes.mean_bytes == pytest.approx(sum(size * weight for size, weight in bars.items()) / total)


@given(st.dictionaries(SIZES, st.integers(1, 1000) | WEIGHTS, min_size=1, max_size=6))
def test_the_text_of_a_mix_gives_the_same_mix_again(bars: dict[int, float]) -> None:
    sizes = RecordSizes.parse(",".join(f"{size}:{weight!r}" for size, weight in bars.items()))
    assert RecordSizes.parse(str(sizes)) == sizes


@given(st.dictionaries(SIZES, st.integers(1, 1000), min_size=1, max_size=6), st.integers(2, 1000))
def test_mixes_of_the_same_proportions_have_the_same_text(bars: dict[int, int], factor: int) -> None:
    plain, scaled = (
        RecordSizes.parse(",".join(f"{size}:{weight * by}" for size, weight in bars.items())) for by in (1, factor)
    )
    assert (plain, str(plain)) == (scaled, str(scaled))


@pytest.mark.parametrize(
    ("text", "stored"),
    [
        ("100:70,1000:25,10000:5", "100:0.7,1000:0.25,10000:0.05"),
        ("100:9,1000", "100:0.9,1000:0.1"),
        ("100:1,200:1,300:1", "100:0.333333,200:0.333333,300:0.333333"),
        ("100:0.7,200:0.2,300:0.1", "100:0.7,200:0.2,300:0.1"),
    ],
)
def test_a_mix_keeps_the_text_under_which_older_releases_stored_it(text: str, stored: str) -> None:
    assert str(RecordSizes.parse(text)) == stored
    assert RecordSizes.parse(stored) == RecordSizes.parse(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "must have the form SIZE"),
        ("1 parsec", "must have the form SIZE"),
        ("1.5", "must have the form SIZE"),
        ("1kB:1,1000:1", "names 1000 twice"),
        ("1GB", "a record size must be 1 to 67,108,864 bytes"),
        ("100:", None),
        ("100:a", "must have the form SIZE"),
        ("100,200", "must have the form SIZE"),
        ("100:70;200:30", "must have the form SIZE"),
        ("0", "a record size must be 1 to 67,108,864 bytes"),
        ("-5", "a record size must be 1 to 67,108,864 bytes"),
        (str(MAX_RECORD_BYTES + 1), "a record size must be 1 to 67,108,864 bytes"),
        ("100:1,100:2", "names 100 twice"),
        ("100:0", "finite number above 0"),
        ("100:-1", "finite number above 0"),
        ("100:-1,200:2", "share of each record size must be above 0"),
        ("100:0,200:2", "share of each record size must be above 0"),
        ("100:nan", "finite number above 0"),
        ("100:inf", "finite number above 0"),
    ],
)
def test_a_mix_that_is_not_valid_is_refused(text: str, words: str | None) -> None:
    if words is None:
        assert RecordSizes.parse(text) == RecordSizes.fixed(100)
        return
    with pytest.raises(WorkloadRefused, match=words):
        RecordSizes.parse(text)


@pytest.mark.parametrize(
    ("text", "plain"), [("64KiB", "65536"), ("1.5 kB", "1500"), ("1kB:3,64KiB:1", "1000:3,65536:1")]
)
def test_sizes_may_have_units(text: str, plain: str) -> None:
    assert RecordSizes.parse(text) == RecordSizes.parse(plain)


@pytest.mark.parametrize("shares", [(), ((200, 0.5), (100, 0.5)), ((100, 0.5), (100, 0.5)), ((100, 0.5), (200, 0.4))])
def test_shares_that_are_not_ascending_or_not_complete_are_refused(shares: tuple[tuple[int, float], ...]) -> None:
    with pytest.raises(WorkloadRefused, match=r"at least one record size|must ascend"):
        RecordSizes(shares)


@pytest.mark.parametrize(
    ("field", "written", "rule"),
    [
        ("key_bytes", "-1", "must be a whole number from 0 to 67,108,864"),
        ("compressibility_ratio", "1", "must be a number from 0 to below 1"),
        ("compressibility_ratio", "-0.1", "must be a number from 0 to below 1"),
        ("compressibility_ratio", "nan", "must be a number from 0 to below 1"),
        ("partitions", "0", "must be a whole number from 1 to 10,000"),
        ("replication", "0", "must be a whole number from 1 to 100"),
        ("warmup_s", "-1", "must be a number from 0 to 86,400 seconds"),
        ("measured_s", "0", "must be a number above 0 and at most 86,400 seconds"),
        ("measured_s", "inf", "must be a number above 0 and at most 86,400 seconds"),
        ("rate_records_per_s", "0", "must be a number above 0 and at most 100,000,000"),
        ("rate_records_per_s", "-5", "must be a number above 0 and at most 100,000,000"),
        ("rate_records_per_s", "nan", "must be a number above 0 and at most 100,000,000"),
    ],
)
def test_a_workload_that_cannot_be_run_names_rule_and_value(field: str, written: str, rule: str) -> None:
    given: dict[str, object] = {"record_sizes": RecordSizes.fixed(1), field: float(written)}
    with pytest.raises(WorkloadRefused, match=f"^{field} {rule}, but got {written}$"):
        Workload(**given)  # type: ignore[arg-type]


def test_a_load_is_paced_when_it_has_a_rate() -> None:
    assert Workload(RecordSizes.fixed(1)).load == "saturate"
    assert Workload(RecordSizes.fixed(1), rate_records_per_s=5).load == "paced"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"peak_ratio": 0.5}, "peak_ratio must be a number from 1 to 100, but got 0.5"),
        ({"most_frequent_key_ratio": 0.1}, "needs different_keys"),
        ({"different_keys": 10}, "keys of 0 bytes can't be 10 different keys; raise key_bytes"),
        ({"different_keys": 300, "key_bytes": 1}, "keys of 1 byte can't be 300 different keys"),
        ({"different_keys": 10, "key_bytes": 4, "most_frequent_key_ratio": 0.05}, "got 0.05 and 1/10"),
        ({"different_keys": 0, "key_bytes": 4}, "different_keys must be a whole number from 1 to 200,000, but got 0"),
    ],
)
def test_keys_and_bursts_must_be_possible(wrong: dict[str, float], said: str) -> None:
    with pytest.raises(WorkloadRefused, match=said):
        Workload(RecordSizes.fixed(100), **wrong)  # type: ignore[arg-type]


def test_only_the_settings_of_the_first_release_are_in_every_stored_identity() -> None:
    """Any other setting in an identity would make stored studies and experiments impossible to resume."""
    assert {each.name for each in fields(Workload)} - LATER_SETTINGS.keys() == {
        "record_sizes",
        "key_bytes",
        "compressibility_ratio",
        "partitions",
        "replication",
        "warmup_s",
        "measured_s",
        "rate_records_per_s",
        "seed",
    }
