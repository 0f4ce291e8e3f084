"""The picture of a sweep."""

from itertools import combinations
from pathlib import Path

import pytest
from matplotlib.figure import Figure

from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tuner.prediction.intervals import Interval
from tuner.prediction.predicting import Prediction
from tuner.present.report import sweep_picture


@pytest.mark.parametrize(
    ("swept", "shown"),
    [
        (["10000000", "1000", "100000", "400000", "520000", "600000"], ["10000000", "1000", "100000", "400000"]),
        (["0", "5", "20", "100"], ["0", "5", "20", "100"]),
        ([*map(str, range(1, 13))], [*map(str, range(1, 13))]),
    ],
)
def test_the_labels_of_a_sweep_do_not_overlap(
    swept: list[str], shown: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    figures: list[Figure] = []
    monkeypatch.setattr(sweep_picture, "save", lambda figure, path: figures.append(figure))
    value = Prediction(
        ProducerConfig.parse({}),
        Workload(RecordSizes.fixed(1000)),
        1,
        {"mb_per_s": Interval(5, 4, 6)},
        "",
        None,
        False,
        "",
    )
    sweep_picture.draw_sweep("rate", dict.fromkeys(swept, value), tmp_path / "sweep.png")
    (figure,) = figures
    assert figure.axes[0].get_xlabel() == "rate, records/s"
    figure.draw_without_rendering()
    labels = [each for each in figure.axes[0].get_xticklabels() if each.get_text()]
    assert [each.get_text() for each in labels] == shown
    boxes = [each.get_window_extent() for each in labels]
    assert not any(one.overlaps(other) for one, other in combinations(boxes, 2))
