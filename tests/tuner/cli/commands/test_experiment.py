"""`tuner experiment` on a real broker: rows with producers, with consumers beside them, and with consumers alone."""

import csv
import io
import json
import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from tests.helpers.command import arguments, tuner
from tests.helpers.small_experiment import SMALL, ToldOfExperiment, run_small
from tests.helpers.waiting import eventually

FILE = """
about: What a reader costs, and what it gets.
load: {record_bytes: 200, partitions: 2, warmup: 200ms, measured: 600ms}
config: {linger.ms: 5}
rows:
  - {row: alone}
  - {row: with a consumer, consumers: 1, rate_records_per_s: 2000}
  - {row: only the leader answers, consumers: 1, rate_records_per_s: 2000, acks: 1}
  - {row: two consumers afterwards, producers: 0, consumers: 2, stored_bytes: 20MB}
  - {row: on stored data, stored_bytes: 20MB}
  - {row: one payload, payload: one, compression.type: lz4, rate_records_per_s: 2000}
rounds: 2
metrics: [mb_per_s, end_to_end_p50_ms, consumer_records_per_s, wire_bytes_per_value_byte]
findings:
  - id: no-codec-saves-nothing  # at a rate, where such values hardly scatter, also on a busy host
    claim: Without a codec, the bytes of all values are sent.
    source: section 1
    metric: wire_bytes_per_value_byte
    of: {row: with a consumer}
    limit: 0.5
    expect: greater
safety: {max_bytes_per_trial: 2GB}
"""


def test_the_experiments_that_come_with_the_tuner_are_listed_with_their_time() -> None:
    ran = tuner("experiment", "list")
    assert ran.code == 0, ran.err
    assert "thesis-default" in ran.out
    listed = tuner("experiment", "list", "--json").json
    assert all(each["quick"]["planned_s"] < each["full"]["planned_s"] for each in listed["experiments"])


def test_a_plan_has_no_traffic_and_its_file_can_be_changed(tmp_path: Path) -> None:
    shown = tuner("experiment", "show", "thesis-default", "--quick")
    assert shown.code == 0, shown.err
    assert "cluster: 1 local broker\n" in shown.out
    assert "record_bytes=100000" in shown.out
    mine = tmp_path / "mine.yaml"
    mine.write_text(tuner("experiment", "show", "thesis-default", "--yaml").out.replace("100000]", "100000, 50000]"))
    assert "record_bytes=50000" in tuner("experiment", "show", str(mine)).out
    words = arguments("experiment", "show", "/dev/stdin")
    piped = subprocess.run(words, input=mine.read_text(), capture_output=True, text=True, check=False)
    assert "experiment: this must be given in a file that is read from a pipe" in piped.stderr
    named = f"experiment: mine\n{mine.read_text()}"
    assert "record_bytes=50000" in subprocess.run(words, input=named, capture_output=True, text=True, check=True).stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["show", "thesis-defualt"], "did you mean thesis-default?"),
        (["show", "missing.yaml"], "missing.yaml: there is no such file"),
        (["show", "."], "this is a folder; name a file in it"),
        (["show", "papers"], "only `run` and `report` take all experiments of the papers"),
        (["run", "thesis-default", "--rounds", "1001"], "must be less than or equal to 1000"),
        (["report", ""], "there is no experiment ''"),
        (["report", "--", "-quick"], "there is no experiment '-quick'"),
    ],
)
@pytest.mark.usefixtures("studies")
def test_a_wrong_name_or_number_is_refused_at_once(words: list[str], said: str) -> None:
    refused = tuner("experiment", *words)
    assert refused.code == 2
    assert said in refused.complaint


@pytest.mark.broker
@pytest.mark.campaign
def test_rows_of_all_kinds_are_measured_and_reported(broker: RunningCluster, tmp_path: Path, studies: Path) -> None:
    file = tmp_path / "reader.yaml"
    file.write_text(FILE)
    ran = tuner("experiment", "run", str(file), "--bootstrap", broker.bootstrap, timeout_s=300)
    assert ran.code == 0, ran.err
    assert "12 of 12 measurements" in ran.out
    assert "holds here" in ran.out
    assert (studies / "reader" / "report.html").is_file()

    found = tuner("experiment", "report", "reader", "--json").json
    rows = {row["row"]: row["metrics"] for row in found["rows"]}
    assert rows["alone"]["mb_per_s"]["rounds"] == 2
    assert rows["with a consumer"]["end_to_end_p50_ms"]["value"] > 0
    assert rows["with a consumer"]["consumer_records_per_s"]["value"] > 0
    assert rows["two consumers afterwards"]["mb_per_s"] is None
    assert rows["on stored data"]["mb_per_s"]["value"] > 0
    assert rows["one payload"]["wire_bytes_per_value_byte"]["value"] < 0.5 * plain_wire_bytes(rows)
    (parts,) = found["latency_parts"]
    assert (parts["row"], parts["of_leader"]) == ("with a consumer", "only the leader answers")
    named = ("leader_ms", "replication_ms", "fetch_ms", "end_to_end_ms")
    leader, replication, fetch, whole = (parts[each]["value"] for each in named)
    assert leader > 0
    assert leader + replication + fetch == pytest.approx(whole)
    # The counts of the producers, of the topic and of the consumers agree, or a warning would say so.
    assert not [said for row in found["rows"] for said in row["warnings"] if "LOSS" in said or "came twice" in said]

    lines = list(csv.DictReader(io.StringIO(tuner("experiment", "report", "reader", "--csv").out)))
    assert len(lines) == 12
    assert "| alone (control) |" in tuner("experiment", "report", "reader", "--format", "markdown").out
    assert "reader (experiment)" in tuner("studies").out
    assert tuner("sync", "reader").code == 0
    again = tuner("experiment", "run", str(file), "--bootstrap", broker.bootstrap)
    assert "reader is finished" in again.err
    assert "is an experiment, not a study" in tuner("report", "reader").complaint


def plain_wire_bytes(rows: Mapping[str, Mapping[str, Any]]) -> float:
    """Return the bytes on the wire per byte of value of the row without compression."""
    value = rows["alone"]["wire_bytes_per_value_byte"]["value"]
    assert isinstance(value, float)
    return value


def test_only_the_measurements_that_are_left_are_announced(tmp_path: Path, studies: Path) -> None:
    text = f"target: {{bootstrap: '127.0.0.1:1'}}\n{SMALL}"
    (tmp_path / "small.yaml").write_text(text)
    words = ("experiment", "run", str(tmp_path / "small.yaml"), "--no-mlflow")
    assert "20 measurements take about " in tuner(*words).err
    with pytest.raises(KeyboardInterrupt):
        run_small(studies / "small", ToldOfExperiment(stop_after=8), text)
    assert "16 measurements take about " in tuner(*words).err
    run_small(studies / "small", text=text)
    finished = tuner(*words, "--rounds", "2")
    assert finished.code == 0
    assert "small is finished" in finished.err
    (tmp_path / "small.yaml").write_text(text.replace("acks: [1, all]", "acks: [1, all, 0]"))
    refused = tuner(*words)
    assert "can only be resumed with the rows" in refused.complaint
    assert "measurements take" not in finished.err + refused.err


@pytest.mark.usefixtures("studies")
def test_a_report_of_papers_that_were_not_run_says_how_to_run_them() -> None:
    ran = tuner("experiment", "report", "papers-quick")
    assert ran.code == 2
    assert "tuner experiment run papers --quick" in ran.complaint


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("studies")
def test_an_experiment_that_was_killed_continues(broker: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "reader.yaml"
    file.write_text(FILE)
    words = ("experiment", "run", str(file), "--bootstrap", broker.bootstrap, "--no-mlflow")
    with subprocess.Popen(arguments(*words), stderr=subprocess.PIPE, text=True, start_new_session=True) as killed:
        assert killed.stderr is not None
        for line in killed.stderr:
            if line.startswith("round 1,   2/18"):
                break
        children = psutil.Process(killed.pid).children(recursive=True)
        os.killpg(killed.pid, signal.SIGKILL)
    eventually(lambda: not any(child.is_running() for child in children))
    ran = tuner(*words)
    assert ran.code == 0, ran.err
    found = json.loads(tuner("experiment", "report", "reader", "--json").out)
    assert found["finished"]
    assert found["rows"][0]["rounds"] == 3


ZONES = """
about: What a delay to the brokers costs.
target: {zone_delay: 20ms}
load: {record_bytes: 200, partitions: 1, warmup: 300ms, measured: 700ms, rate_records_per_s: 500}
vary: {zone: [same, other]}
rounds: 2
metrics: [latency_p50_ms]
safety: {max_bytes_per_trial: 2GB}
"""


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("studies")
def test_clients_in_another_zone_wait_for_the_way_there_and_back(own_places: None, tmp_path: Path) -> None:
    file = tmp_path / "zones.yaml"
    file.write_text(ZONES)
    ran = tuner("experiment", "run", str(file), "--no-mlflow", "--json")
    assert ran.code == 0, ran.err
    same, other = (row["metrics"]["latency_p50_ms"]["value"] for row in ran.json["rows"])
    assert other > same + 20
    assert other > 40


def test_zones_without_a_ray_cluster_are_refused_before_anything_is_started(tmp_path: Path, studies: Path) -> None:
    file = tmp_path / "placed.yaml"
    file.write_text(
        "about: Zones.\nsearches: {one: {search: {method: random, trials: 1}}}\n"
        "rows: [{row: a, placement: a}, {row: best, search: one, goal: throughput}]\n"
    )
    ran = tuner("experiment", "run", str(file), "--no-mlflow")
    assert ran.code == 1
    assert "executor.ray_address is missing" in ran.err
    assert not studies.exists(), "neither the search nor the experiment has begun"


def test_a_study_with_zones_and_without_a_ray_cluster_leaves_nothing(tmp_path: Path, studies: Path) -> None:
    file = tmp_path / "placed.yaml"
    file.write_text("workload: {record_bytes: 100, consumers: 1}\nexecutor: {consumer_zone: b}\n")
    ran = tuner("run", str(file), "--no-mlflow")
    assert ran.code == 1
    assert "executor.ray_address is missing for b" in ran.err
    assert not (studies / "placed").exists()


FAILOVER = """
about: What a killed broker costs.
target: {brokers: 3}
load:
  {record_bytes: 500, partitions: 3, replication: 3, min_insync_replicas: 2, rate_records_per_s: 500, consumers: 1,
  warmup: 1s, measured: 18s, broker_killed_after: 3s}
config: {linger.ms: 5, acks: all, enable.idempotence: true}
rounds: 1
metrics: [interrupted_s, lost_records, latency_max_ms]
safety: {max_bytes_per_trial: 1GB}
"""


@pytest.mark.broker
@pytest.mark.long
def test_records_go_on_after_a_broker_was_killed_and_all_counts_agree(
    own_places: None, tmp_path: Path, studies: Path
) -> None:
    file = tmp_path / "failover.yaml"
    file.write_text(FAILOVER)
    ran = tuner("experiment", "run", str(file), "--no-mlflow", "--json")
    assert ran.code == 0, ran.err
    (row,) = ran.json["rows"]
    assert row["metrics"]["lost_records"]["value"] == row["metrics"]["surplus_records"]["value"] == 0
    # The other brokers notice the end of one after 9 s. Until then, the replicas that it has are missing.
    assert 3 < row["metrics"]["interrupted_s"]["value"] < 15
    assert row["metrics"]["latency_max_ms"]["value"] > 3_000
    (moments,) = row["around_loss"]
    assert moments[0]["at_s"] == pytest.approx(-2, abs=0.1)
    assert moments[-1]["records_per_s"] > 250, "they go on at the end"
    assert not [said for said in row["warnings"] if "consumers" in said or "LOSS" in said]
    assert (studies / "failover" / "report.html").read_text().count("seconds since a broker was killed")
    picture = tmp_path / "failover.png"
    assert tuner("experiment", "report", "failover", "--format", "png", "-o", str(picture)).code == 0
    assert picture.read_bytes().startswith(b"\x89PNG")


@pytest.mark.broker
def test_too_many_replicas_on_a_users_cluster_are_refused_before_anything_is_measured(
    broker: RunningCluster, tmp_path: Path, studies: Path
) -> None:
    file = tmp_path / "copied.yaml"
    file.write_text(
        "about: Replicas.\nload: {partitions: 1}\ncontrol: {replication: 1}\n"
        "rows: [{acks: all, replication: 1}, {acks: all, replication: 3}]\n"
    )
    ran = tuner("experiment", "run", str(file), "--bootstrap", broker.bootstrap)
    assert ran.code == 2, ran.err
    assert "but replication of the row 'acks=all replication=3' is 3 and the cluster" in ran.complaint
    assert f"{broker.bootstrap} has 1 broker; lower replication, or use" in ran.complaint
    assert "copied is not kept, because its cluster could not be used" in ran.err
    assert not studies.exists()


def test_rows_that_need_a_link_are_left_out_on_a_users_cluster(tmp_path: Path, studies: Path) -> None:
    ran = tuner("experiment", "run", "linkedin-producers", "--quick", "--bootstrap", "127.0.0.1:1")
    assert ran.code == 3
    assert "only the network of brokers that it starts: no replication, network card of 1 Gbit/s" in ran.err
    assert not (studies / "mlflow.db").exists()
    file = tmp_path / "client.properties"
    file.write_text("client.id=me\n")
    lone = tuner("experiment", "run", "linkedin-producers", "--quick", "--command-config", str(file))
    assert (lone.code, "--command-config needs --bootstrap" in lone.complaint) == (2, True)


def test_a_cluster_that_can_not_be_used_leaves_no_experiment_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    studies = tmp_path / "studies"
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(studies))
    words = ("experiment", "run", "thesis-default", "--quick", "--bootstrap", "127.0.0.1:1")
    ended = tuner(*words)
    assert ended.code == 3
    assert "thesis-default-quick is not kept, because its cluster could not be used" in ended.err
    assert not studies.exists()
    (studies / "thesis-default-quick").mkdir(parents=True)  # a folder that was there before
    again = tuner(*words)
    assert (again.code, "is not kept" in again.err) == (3, False)
    assert (studies / "thesis-default-quick" / "results.db").exists()


def test_a_picture_has_the_name_of_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    refused = tuner("experiment", "report", "small", "--format", "png", "-o", str(tmp_path / "small.html"))
    assert (refused.code, "must end in .png, .svg or .pdf" in refused.complaint) == (2, True)


def test_a_broker_of_a_users_cluster_is_never_killed(studies: Path) -> None:
    ran = tuner("experiment", "run", "failover", "--bootstrap", "127.0.0.1:1")
    assert ran.code == 2
    assert "brokers that the tuner starts" in ran.complaint
    assert not studies.exists()
