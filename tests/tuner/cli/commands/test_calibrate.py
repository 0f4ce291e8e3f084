"""`tuner calibrate` on a real broker, and a prediction from it."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from runners.clusters.cluster import RunningCluster
from runners.workload import RecordSizes, Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.command import tuner
from tuner.cli.commands import calibrate
from tuner.cli.commands.calibrate import warning_of_missed_rate
from tuner.model.spec import RATE_RATIO
from tuner.model.target import Target
from tuner.prediction.observations import Observation


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("studies")
def test_a_few_probes_calibrate_the_model(broker: RunningCluster) -> None:
    ran = tuner("calibrate", "--probes", "4", "--rate", "2000", "--bootstrap", broker.bootstrap, "--json")
    assert ran.code == 0, ran.err
    assert "fixed rate" not in ran.err
    assert ran.json["experiment"] == "calibration-1"
    assert ran.json["means"] >= 6
    assert all(each["low"] < each["value"] < each["high"] for each in ran.json["constants"].values())
    told = tuner("predict", "calibration-1", "--json").json["predictions"]["defaults"]
    measured = tuner("experiment", "report", "calibration-1", "--json").json["rows"][0]["metrics"]["mb_per_s"]["value"]
    assert told["metrics"]["mb_per_s"]["low"] < measured < told["metrics"]["mb_per_s"]["high"]


@pytest.mark.broker
@pytest.mark.campaign
def test_without_a_rate_it_is_a_share_of_the_throughput_that_is_measured_first(
    broker: RunningCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    load = Workload(RecordSizes.fixed(1000), warmup_s=0.0, measured_s=0.5)
    monkeypatch.setattr(calibrate, "_LONG_WARMUP_S", 0.5)
    rate = calibrate.measured_rate(ProducerConfig.parse({}), Target(bootstrap=broker.bootstrap), load, said.append)
    reached = re.search(r"they reach ([\d,]+) records/s, so the fixed rate is ([\d,]+) records/s", said[-1])
    assert reached is not None, said
    throughput, told = (float(each.replace(",", "")) for each in reached.groups())
    assert told == rate
    assert rate == pytest.approx(RATE_RATIO * throughput, rel=0.06), "two digits"


def test_records_that_the_defaults_forbid_are_refused_with_the_rule(studies: Path) -> None:
    refused = tuner("calibrate", "--record-bytes", "2000000")
    assert refused.code == 2
    assert "message.max.bytes" in refused.err
    assert "2000000 bytes" in refused.err
    assert "give a --record-bytes of at most 999964" in refused.err
    assert "rows[" not in refused.err
    assert not studies.exists()


def test_the_output_says_how_many_configs_did_not_hold_the_rate() -> None:
    load = Workload(RecordSizes.fixed(1000))
    fast = Observation(ProducerConfig.parse({}), load, {"records_per_s": 1e5})
    held = Observation(fast.config, replace(load, rate_records_per_s=3e4), {"latency_p50_ms": 2.0})
    assert warning_of_missed_rate("calibration-1", [fast, held], 3e4) is None
    assert warning_of_missed_rate("calibration-1", [fast, held, fast], 3e4) == (
        "1 of 2 configs did not hold 30,000 records/s, so their latencies are left out"
    )
    assert warning_of_missed_rate("calibration-1", [fast, held, fast, fast], 3e4) == (
        "2 of 3 configs did not hold 30,000 records/s, so their latencies are left out; calibrate again with a lower "
        "--rate"
    )
    assert warning_of_missed_rate("calibration-1", [fast], 5e6) == (
        "no config held 5,000,000 records/s, so `tuner predict calibration-1` can't predict latencies; calibrate again "
        "with a lower --rate"
    )
