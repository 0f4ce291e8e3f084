"""Texts of sizes, durations and times of day are read or refused."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runners.quantities import clock_time, duration_s, size_bytes


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("1000", 1000), ("64KiB", 65536), ("50GB", 50 * 10**9), ("1.5 MB", 1_500_000), ("0", 0), (" 2TiB ", 2 * 2**40)],
)
def test_a_size_is_read_in_bytes(text: str, wanted: int) -> None:
    assert size_bytes(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("30s", 30), ("5m", 300), ("2h", 7200), ("250ms", 0.25), ("2.5", 2.5), ("1d", 86_400), ("10 min", 600)],
)
def test_a_duration_is_read_in_seconds(text: str, wanted: float) -> None:
    assert duration_s(text) == pytest.approx(wanted)


@pytest.mark.parametrize("text", ["", "-1s", "5 weeks", "1e3", "s", "1h30m", "٣s", "5M"])
def test_wrong_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a duration must read like"):
        duration_s(text)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("07:00", "07:00"), ("7:05", "07:05"), ("23:59", "23:59"), (" 2028-02-29 7:05", "2028-02-29 07:05")],
)
def test_a_time_of_day_is_read_with_two_digits_for_the_hour(text: str, wanted: str) -> None:
    assert clock_time(text) == wanted


@pytest.mark.parametrize(
    "text", ["24:00", "7", "07:60", "7pm", "07:00:00", "", "2027-02-29 07:00", "27-02-28 07:00", "2027-02-28"]
)
def test_wrong_times_of_day_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="a time must read like"):
        clock_time(text)


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    for read in (size_bytes, duration_s, clock_time):
        with suppress(ValueError):
            assert read(text) is not None
