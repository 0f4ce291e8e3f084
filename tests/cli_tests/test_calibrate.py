"""`tuner calibrate` on a real broker, and a prediction from it."""

from pathlib import Path

import pytest

from runners.clusters.cluster import RunningCluster
from tests.cli_tests.command import tuner


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.campaign
def test_a_few_probes_calibrate_the_model(
    broker: RunningCluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    ran = tuner("calibrate", "--probes", "4", "--rate", "2000", "--bootstrap", broker.bootstrap, "--json")
    assert ran.code == 0, ran.err
    assert ran.json["experiment"] == "calibration-1"
    assert ran.json["measurements"] >= 6
    assert all(each["low"] < each["value"] < each["high"] for each in ran.json["constants"].values())
    told = tuner("predict", "calibration-1", "--json").json["predictions"]["defaults"]
    measured = tuner("experiment", "report", "calibration-1", "--json").json["rows"][0]["metrics"]["mb_per_s"]["value"]
    assert told["metrics"]["mb_per_s"]["low"] < measured < told["metrics"]["mb_per_s"]["high"]
