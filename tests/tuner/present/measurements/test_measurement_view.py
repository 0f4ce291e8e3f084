"""What is shown of a measurement's cluster, and of one without a latency."""

import pytest

from runners.measurements.histogram import Histogram
from tests.helpers.measurements import measurement, window
from tuner.present.measurements.live_windows import live_windows
from tuner.present.measurements.measurement_view import CELLS, print_spread, rest_of_line
from tuner.present.measurements.resource_words import cluster_text


def test_an_unmeasured_latency_is_a_dash(capsys: pytest.CaptureFixture[str]) -> None:
    with live_windows("load", rest_of_line, CELLS) as watch:
        watch(window(latency=Histogram.of([])))
        watch(window())
    empty, measured = capsys.readouterr().err.splitlines()
    assert "p50        - ms  p99        - ms" in empty
    assert "p50     2.00 ms" in measured


def test_the_spread_leaves_out_what_no_run_measured(capsys: pytest.CaptureFixture[str]) -> None:
    without = measurement(latency=Histogram.of([]))
    print_spread([without, without])
    assert "p99" not in capsys.readouterr().out
    print_spread([without, measurement()])
    shown = capsys.readouterr().out
    assert "p99 ms" in shown
    assert "nan" not in shown


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("embedded", "local cluster"),
        ("embedded (2 ms each way)", "local cluster (2 ms each way)"),
        ("existing", "existing cluster"),
    ],
)
def test_a_cluster_that_the_tuner_started_is_called_local(label: str, shown: str) -> None:
    assert cluster_text(label) == shown
