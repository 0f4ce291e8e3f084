"""A Ray cluster of several nodes: zones, the code that reaches the workers, secrets, and a node that leaves."""

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from tests.conftest import TopicMaker
from tests.helpers.clients import CLIENTS, holders
from tests.helpers.mock_cluster import running_mock_cluster
from tests.helpers.ray_nodes import AHEAD_S, Nodes, running_nodes
from tests.helpers.studies import of_kind, on_record
from tests.helpers.waiting import eventually
from tuner.model.trial import State, TrialKind
from tuner.storage.sqlite import SqliteStore

pytestmark = pytest.mark.campaign

HERE = Path(__file__).parent
SECRET = "a-password-that-must-not-be-seen"


@pytest.fixture(scope="module")
def nodes() -> Iterator[Nodes]:
    """A head node and two nodes in the zones a and b. All tests share them, because they take long to start."""
    with running_nodes() as nodes:
        yield nodes


def drive(nodes: Nodes, *asked: Mapping[str, Any], environ: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Run some jobs, each on its own pool, and return their results."""
    jobs = [{"address": nodes.address, "producers": 2, **each} for each in asked]
    run = subprocess.run(
        [sys.executable, str(HERE / "jobs_driver.py"), json.dumps(jobs)],
        env=nodes.environ if environ is None else dict(environ),
        cwd=nodes.folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    assert nodes.token not in run.stdout + run.stderr
    return [json.loads(line) for line in run.stdout.splitlines()]


@pytest.mark.long
def test_jobs_run_in_their_zones_or_say_what_they_lack(nodes: Nodes) -> None:
    """Several cases share one driver, because connecting takes seconds."""
    with running_mock_cluster() as cluster:
        connection = {**cluster.connection, "sasl.username": "somebody", "sasl.password": SECRET}
        real, installed, nowhere, full = drive(
            nodes,
            {"zones": ["b", "a"], "connection": connection},
            {"code": "installed", "zones": ["a"], "producers": 1},
            {"zones": ["a", "c"], "wait_s": 0.5},
            {"zones": ["b"], "producers": 3, "wait_s": 0.5},
        )
    # Two producers ran a real load on two nodes, each in the requested zone, and gave one measurement.
    assert "error" not in real, real
    first, second = real["worker"].split(", ")
    assert first.endswith(" in b")
    assert second.endswith(" in a")
    assert real["generator"] == "native"
    assert real["handed_over"] == real["acknowledged"] > real["records"] > 0
    assert real["told"] == []
    assert installed["records"] > 0
    # The messages say what is missing and what the cluster has.
    assert nowhere["error"] == "RayUnfit"
    assert "no node with cores offers zone:c; its nodes offer zone:a (1 node), zone:b (1 node)" in nowhere["message"]
    assert full["error"] == "RayUnfit"
    assert "not have a free core for each worker (3 in zone:b); 4 cores are free in total" in full["message"]
    # No file of Ray on any node holds a secret.
    assert nodes.files_with("py_modules"), "the search must find what Ray writes"
    assert nodes.files_with(SECRET, nodes.token) == []


@pytest.mark.long
@pytest.mark.broker
def test_consumers_on_another_host_have_another_clock(
    nodes: Nodes, broker: RunningCluster, new_topic: TopicMaker
) -> None:
    asked = {"zones": ["a"], "producers": 1, "consumers": 2, "connection": broker.connection}
    beside, apart = drive(
        nodes,
        {**asked, "topic": new_topic(4).name},
        {**asked, "topic": new_topic(4).name, "consumer_zone": "b"},
    )
    assert "error" not in apart, apart
    assert "consumers" not in beside["worker"]
    producer, consumers = apart["worker"].split(", consumers ")
    assert (producer[-5:], consumers[-5:]) == (" in a", " in b")
    assert beside["end_to_end"]["clock_error_ms"] is None
    if nodes.clocks_differ:
        assert 0 < apart["end_to_end"]["clock_error_ms"] < 1_000
    else:
        assert apart["end_to_end"]["clock_error_ms"] is None
    for each in (beside, apart):
        seen = each["end_to_end"]
        assert (seen["missing"], seen["consumers"]) == (0, 2)
        assert seen["taken"] == each["acknowledged"] > each["records"]
        assert 20 < seen["latency"]["percentiles"]["0.5"] < AHEAD_S * 1e6 / 100, "in microseconds, on one clock"


@pytest.mark.long
@pytest.mark.broker
def test_consumers_whose_node_leaves_are_missed(nodes: Nodes, broker: RunningCluster, new_topic: TopicMaker) -> None:
    job = {
        "address": nodes.address,
        "zones": ["a"],
        "producers": 1,
        "consumers": 1,
        "consumer_zone": "b",
        "connection": broker.connection,
        "topic": new_topic(4).name,
        "measured_s": 20.0,
        "wait_s": 0.5,
        "tell_windows": True,
    }
    nodes.revive("a")
    try:
        with subprocess.Popen(
            [sys.executable, str(HERE / "jobs_driver.py"), json.dumps([job])],
            env=nodes.environ,
            cwd=nodes.folder,
            stdout=subprocess.PIPE,
            text=True,
        ) as driver:
            assert driver.stdout is not None
            assert driver.stdout.readline().startswith("window")
            nodes.kill_raylet("b")
            answer = json.loads(driver.stdout.readlines()[-1])
    finally:
        nodes.revive("b")
    assert answer["error"] == "RayUnfit"
    assert "zone:b" in answer["message"], "whether or not Ray has noticed that the node is gone"


@pytest.mark.long
@pytest.mark.broker
def test_an_experiment_compares_zones(nodes: Nodes, broker: RunningCluster, tmp_path: Path) -> None:
    file = tmp_path / "zones.yaml"
    file.write_text(
        """
        about: What a consumer in another zone costs.
        load: {partitions: 2, consumers: 1, rate_records_per_s: 500, warmup: 0.5s, measured: 1s}
        rows:
          - {row: same zone, placement: a}
          - {row: consumers elsewhere, placement: a, consumer_zone: b}
          - {row: producers elsewhere, placement: b}
        rounds: 1
        metrics: [end_to_end_p50_ms]
        """
    )
    nodes.revive("a")
    run = subprocess.run(
        [
            *(sys.executable, "-m", "tuner.cli", "experiment", "run", str(file), "--ray-address", nodes.address),
            *("--bootstrap", broker.bootstrap, "--no-mlflow", "--json"),
        ],
        env={**nodes.environ, "KAFKA_TUNER_STUDIES": str(tmp_path)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    trials = [trial for trial in on_record(tmp_path / "zones") if trial.kind is TrialKind.MEASUREMENT]
    assert {trial.row: re.sub(r"\S+/\d+", "HOST", trial.worker) for trial in trials} == {
        "same zone": "HOST in a",
        "consumers elsewhere": "HOST in a, consumers HOST in b",
        "producers elsewhere": "HOST in b",
    }
    assert all(0 < trial.metrics["end_to_end_p50_ms"] < AHEAD_S * 1e3 / 100 for trial in trials)


@pytest.mark.long
def test_a_driver_without_the_right_token_is_refused(nodes: Nodes) -> None:
    rest = {name: value for name, value in nodes.environ.items() if not name.startswith("RAY_AUTH")}
    wrong = {**rest, "RAY_AUTH_TOKEN": "0" * 64}
    none = {**rest, "HOME": str(nodes.folder / "nobody")}
    for environ, sent in (
        (wrong, "accepts the token that was found here"),
        (none, "accepts clients without a token"),
    ):
        (refused,) = drive(nodes, {}, environ=environ)
        assert refused["error"] == "GeneratorError"
        assert sent in refused["message"]


@pytest.mark.long
def test_a_node_with_another_client_library_is_refused(nodes: Nodes) -> None:
    odd = nodes.folder / "odd" / "confluent_kafka"
    odd.mkdir(parents=True)
    (odd / "__init__.py").write_text("raise ImportError('an odd library')\n")
    nodes.start("odd", environ={"PYTHONPATH": str(odd.parent)})
    try:
        (refused,) = drive(nodes, {"zones": ["odd"], "producers": 1})
    finally:
        nodes.leave("odd")
    assert refused["error"] == "RayUnfit"
    assert "can't: ImportError: an odd library" in refused["message"]
    assert "install the same versions there" in refused["message"]


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("client", CLIENTS)
def test_a_node_that_leaves_costs_one_attempt_and_duplicates_nothing(
    nodes: Nodes, broker: RunningCluster, tmp_path: Path, client: str
) -> None:
    nodes.revive("a")
    before = {process.pid for process in holders("java", psutil.process_iter())}
    file, folder = tmp_path / "leaving.yaml", tmp_path / "study"
    file.write_text(
        f"""
        target: {{bootstrap: "{broker.bootstrap}"}}
        client: {client}
        workload:
          {{record_bytes: 1000, producers: 2, partitions: 2, saturate: {{warmup: 0.5s, measured: 2s}}}}
        objectives: throughput
        search: {{method: random, trials: 1, burn_in_max: 0}}
        confirm: {{rounds: 0}}
        safety: {{min_free_disk: 100MB}}
        executor: {{kind: ray, ray_address: "{nodes.address}"}}
        """
    )
    command = [sys.executable, str(HERE / "study_driver.py"), str(file), str(folder)]
    environ = {**nodes.environ, "PYTHONUNBUFFERED": "1"}
    with subprocess.Popen(command, env=environ, cwd=nodes.folder, stdout=subprocess.PIPE, text=True) as driver:
        assert driver.stdout is not None
        lines = []
        for line in driver.stdout:
            lines.append(line)
            if line.startswith("window") and "killed" not in lines:
                nodes.kill_raylet("a")
                lines.append("killed")
    assert driver.returncode == 0, lines
    assert any(line.startswith("say a Ray worker was lost") for line in lines), lines
    assert any(line.startswith("say 2 workers share 1 node of the Ray cluster") for line in lines), lines
    trials = on_record(folder)
    assert {trial.state for trial in trials} == {State.COMPLETE}, [trial.error for trial in trials]
    assert len(of_kind(trials, TrialKind.BASELINE, TrialKind.SEARCH)) == 1
    assert max(trial.attempts for trial in trials) == 2
    store = SqliteStore(folder, create=False)
    try:
        for trial in trials:
            counts = store.attachment(trial, "saturated")["counts"]
            assert counts["stored"] == counts["acknowledged"] > 0, counts
    finally:
        store.close()
    assert not [name for name in TopicAdmin(broker.connection).names() if name.startswith("tuner-")]
    eventually(lambda: {process.pid for process in holders("java", psutil.process_iter())} <= before)
