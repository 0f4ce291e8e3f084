"""How numbers are written for people."""

import pytest

from objectives.ratios import Ratio, ratio_text
from runners.reporting import counted, duration, in_bytes
from tuner.present.number_text import gain, gain_headings, number
from tuner.present.recommendations.recommendation_words import chance_of_wrong_claim


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 topics"), (1, "1 topic"), (2, "2 topics"), (1_200, "1,200 topics")]
)
def test_a_number_of_things_has_the_right_plural(number: int, text: str) -> None:
    assert counted(number, "topic") == text


@pytest.mark.parametrize(
    ("sizes", "text"),
    [
        ("1000", "1000 B"),
        ("100:0.7,1000:0.3", "100 B (70 %) and 1000 B (30 %)"),
        ("100:0.333333,200:0.333333,300:0.333333", "100 B (33.3 %), 200 B (33.3 %) and 300 B (33.3 %)"),
    ],
)
def test_a_mix_of_record_sizes_is_told_in_words(sizes: str, text: str) -> None:
    assert in_bytes(sizes) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(1_419_977.4, "1,420,000"), (99.97, "100"), (142.4, "142"), (4.1666, "4.17"), (0.0, "0"), (None, "-")],
)
def test_a_measured_value_has_three_digits(value: float | None, text: str) -> None:
    assert number(value) == text


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (60_712.57, "over 1000"),
        (241.3, "241"),
        (24.13, "24.1"),
        (1.317, "1.32"),
        (0.0412, "0.041"),
        (0.00017, "under 0.01"),
    ],
)
def test_a_ratio_has_three_digits_or_a_bound(ratio: float, text: str) -> None:
    assert ratio_text(ratio) == text


def test_the_level_of_an_interval_stands_once_in_the_heading_or_with_each_gain() -> None:
    usual, strict = (Ratio(0.8, 0.7, 0.9, 8, 0.6, 1.0, level=level) for level in (0.95, 0.975))
    assert gain_headings([strict, strict])[0] == "gain (97.5 % interval)"
    assert gain_headings([])[0] == "gain (95 % interval)"
    assert gain_headings([usual, strict])[0] == "gain (interval; its level)"
    assert gain(strict, with_level=True) == "0.80 (0.70 to 0.90; 97.5 %): worse"


def test_the_errors_of_several_record_sizes_add_up() -> None:
    assert chance_of_wrong_claim(1) == ""
    assert chance_of_wrong_claim(5).endswith("at most 5 % for each record size, and 25 % for at least one of 5 sizes")


def test_an_uncertain_ratio_has_two_digits() -> None:
    assert str(Ratio(1.732, 0.418, 7.234, 8, 0.2, 10.0)) == "1.7 (0.42 to 7.2)"
    assert str(Ratio(1.732, 1.018, 7.234, 8, 0.2, 10.0)) == "1.73 (1.02 to 7.23)"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(0.4, "0 s"), (40, "40 s"), (59.6, "1 min"), (720, "12 min"), (3_570, "1 h 00 min"), (7_500, "2 h 05 min")],
)
def test_a_duration_has_the_unit_that_fits(seconds: float, text: str) -> None:
    assert duration(seconds) == text
