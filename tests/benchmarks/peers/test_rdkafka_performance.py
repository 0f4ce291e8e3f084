"""librdkafka's own tool in C: its printed counters are read, and the benchmark says how to get it."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from benchmarks.peers.rdkafka_performance import consumed_summary, records_per_s
from runners.errors import GeneratorError

# The output of librdkafka 2.0.2.
WARNING = "%4|1795444759.258|CONFWARN|rdkafka#producer-1| [thrd:app]: Configuration property session.timeout.ms is ..."
HEADS = ("elapsed", "msgs", "bytes", "rtt", "dr", "dr_m/s", "dr_MB/s", "dr_err", "tx_err", "outq", "offset")
ROWS = (
    (104, 6840, 68400, 5, 5840, 55989, 0.56, 0, 13, 1000, 3042),
    (204, 12840, 128400, 8, 12000, 58656, 0.59, 0, 26, 840, 3362),
    (304, 20840, 208400, 8, 20000, 65660, 0.66, 0, 43, 840, 3525),
    (994, 82841, 830010, 5, 82840, 83278, 0.83, 0, 175, 0, 19234),
)


def printed(*rows: Sequence[float | str]) -> str:
    return "\n".join([WARNING, *("".join(f"| {cell:>10} " for cell in row) for row in (HEADS, *rows))])


def test_the_rate_covers_only_the_seconds_after_the_warm_up() -> None:
    assert records_per_s(printed(*ROWS), 0.1, 0.9) == pytest.approx((20_000 - 5_840) / 0.2)
    assert records_per_s(printed(*ROWS), 0.2, 0.9) == pytest.approx(8_000 / 0.1)


@pytest.mark.parametrize(
    ("said", "from_s"),
    [
        pytest.param(printed(*ROWS), 1.0, id="nothing printed in these seconds"),
        pytest.param(printed(*ROWS, (*ROWS[-1][:7], 3, *ROWS[-1][8:])), 0.1, id="lost"),
        pytest.param("% Failed to create Kafka producer: no such property", 0.0, id="failed"),
    ],
)
def test_a_run_that_gives_no_rate_is_quoted(said: str, from_s: float) -> None:
    with pytest.raises(GeneratorError, match="must print its counters") as raised:
        records_per_s(said, from_s, 2.0)
    assert said.splitlines()[-1] in str(raised.value)


def test_without_the_c_tool_the_benchmark_names_the_script_that_builds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TUNER_CACHE", str(tmp_path))
    run = subprocess.run(
        [sys.executable, "-m", "benchmarks.generator", "--peers", "c"], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (1, "")
    assert "scripts/get-rdkafka-performance" in run.stderr
    assert "Traceback" not in run.stderr


def test_a_source_folder_without_the_tool_is_refused(tmp_path: Path) -> None:
    run = subprocess.run(
        ["scripts/get-rdkafka-performance", "--source", tmp_path], capture_output=True, text=True, check=False
    )
    assert run.returncode == 1
    assert f"'{tmp_path}' has no examples/rdkafka_performance.c" in run.stderr


def test_the_summary_of_a_consumer_is_read() -> None:
    said = "% 0 messages (0 bytes) consumed in 0ms: 0 msgs/s (0.00 MB/s)\n"
    said += "% 300000 messages (30000000 bytes) consumed in 621ms: 483090 msgs/s (48.31 MB/s)\n"
    assert consumed_summary(said + "% Average application fetch latency: 3us\n") == (300_000, 0.621)
    with pytest.raises(GeneratorError, match="no such property"):
        consumed_summary("% Failed to create Kafka consumer: no such property")
    with pytest.raises(GeneratorError, match="consumed in 0ms"):
        consumed_summary(said.splitlines()[0])
