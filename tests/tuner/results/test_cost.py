"""What a terabyte costs: the arithmetic, and the file of prices."""

from pathlib import Path

import pytest

from tuner.results.cost import cost_of
from tuner.study_file.errors import StudyFileError
from tuner.study_file.prices import Prices, read_prices

METRICS = {"broker_cpu_ms_per_mb": 3.6, "wire_bytes_per_value_byte": 0.5}


def test_a_terabyte_costs_cpu_network_and_disk() -> None:
    found = cost_of(METRICS, 3, Prices(core_hour=0.04, disk_gb_month=0.1, network_gb=0.01, retention_days=15))
    assert found.broker_cpu == pytest.approx(0.04)  # 3.6 ms for each of 10^6 MB is an hour
    assert found.network == pytest.approx(15.0)  # 0.5 TB goes to three replicas
    assert found.disk == pytest.approx(75.0)  # 1,500 GB for half a month
    assert found.total == pytest.approx(90.04)


def test_what_is_not_known_is_not_counted() -> None:
    found = cost_of({"wire_bytes_per_value_byte": 1.0}, 1, Prices(core_hour=1.0, network_gb=0.02))
    assert (found.broker_cpu, found.disk) == (None, None)
    assert found.total == pytest.approx(20.0)


def test_prices_are_read(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("core_hour: 0.04\ncurrency: EUR\n")
    assert read_prices(file) == Prices(core_hour=0.04, currency="EUR")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("core_hours: 1", "core_hour"),
        ("core_hour: -1", "core_hour"),
        ("retention_days: 3", "at least one of core_hour"),
        ("", "core_hour: 0.04"),
        ("core_hour: 1\n---\ncore_hour: 2", "prices.yaml, line 2: the file must be one YAML document"),
        ("retention_days: 0\ncore_hour: 1", "retention_days"),
    ],
)
def test_a_wrong_file_of_prices_is_refused(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(text)
    with pytest.raises(StudyFileError, match=said):
        read_prices(file)
