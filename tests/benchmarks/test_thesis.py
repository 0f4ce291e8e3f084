"""The benchmark that repeats a thesis takes its points from the stored tables, and judges directions by intervals."""

import pytest

from benchmarks.thesis import DEFAULTS, SIZES, direction, points
from objectives.ratios import ratio_of
from search_spaces.client import java
from search_spaces.configs.producer_config import ProducerConfig


def test_every_size_begins_with_the_defaults_and_has_the_points_of_the_thesis() -> None:
    found = points()
    assert len(found) == 54, "60 rows, of which 6 are below 2 MB/s"
    by_size = {size: [each for each in found if each.record_bytes == size] for size in SIZES}
    for here in by_size.values():
        assert not here[0].changes
        assert all(each.changes for each in here[1:])
    thousand = {each.changes: each.mb_per_s for each in by_size[1_000]}
    # The thesis prints megabytes of 1,048,576 bytes: 119.42, 150.74, 269.33 and 90.5.
    assert thousand[()] == pytest.approx(125.221, abs=0.001)
    assert thousand[(("acks", "0"),)] == pytest.approx(158.062, abs=0.001)
    assert thousand[(("batch.size", "1000000"), ("linger.ms", "10"))] == pytest.approx(282.413, abs=0.001)
    assert thousand[(("max.in.flight.requests.per.connection", "1"),)] == pytest.approx(94.896, abs=0.001)


def test_the_configs_are_configs_of_the_java_client() -> None:
    config = points()[0].config(java("3.9.1"))
    assert config == ProducerConfig.parse(DEFAULTS, client=java("3.9.1"))
    assert all(each.config(java()) for each in points())


@pytest.mark.parametrize(
    ("here", "thesis", "verdict"),
    [
        ([1.5, 1.51, 1.52], 1.6, "holds here"),
        ([1.5, 1.51, 1.52], 0.6, "does not hold here"),
        ([0.5, 0.51, 0.52], 0.6, "holds here"),
        ([0.5, 1.0, 2.0], 0.6, "undecided"),
        ([1.5, 1.51, 1.52], 1.01, "no direction"),
    ],
)
def test_a_direction_holds_if_the_whole_interval_is_on_the_side_of_the_thesis(
    here: list[float], thesis: float, verdict: str
) -> None:
    assert direction(ratio_of(here, [1.0, 1.0, 1.0]), thesis) == verdict
