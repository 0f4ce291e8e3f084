"""The lock on a target is that of its cluster, by whatever address the cluster is reached."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack

import pytest

from runners.clusters.cluster import RunningCluster
from runners.host_processes.locks import target_lock
from tuner.execution.open_target import lock_key
from tuner.model.target import Target


def test_brokers_that_we_start_share_one_lock() -> None:
    assert lock_key(Target()) == lock_key(Target(brokers=3)) == lock_key(Target(container="apache/kafka"))


@pytest.mark.broker
def test_a_cluster_has_one_lock_by_all_its_addresses(broker: RunningCluster) -> None:
    spellings = [broker.bootstrap, broker.bootstrap.replace("127.0.0.1", "localhost"), f" {broker.bootstrap},"]
    assert len({lock_key(Target(bootstrap)) for bootstrap in spellings}) == 1
    assert lock_key(Target(broker.bootstrap)) != lock_key(Target())


@pytest.mark.broker
def test_bench_waits_for_another_load_on_its_cluster(broker: RunningCluster) -> None:
    address = broker.bootstrap.replace("127.0.0.1", "localhost")
    words = ["bench", "--bootstrap", address, "--seconds", "1", "--warmup", "0.3", "--json"]
    with ExitStack() as stack:
        held = stack.enter_context(ExitStack())
        held.enter_context(target_lock(lock_key(Target(broker.bootstrap)), "nightly"))
        bench = stack.enter_context(
            subprocess.Popen(
                [sys.executable, "-m", "tuner.cli", *words],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
                env={**os.environ, "COLUMNS": "200"},
            )
        )
        stack.callback(bench.kill)
        assert bench.stderr is not None
        assert f"in use by nightly (process {os.getpid()}); waiting" in bench.stderr.readline()
        assert bench.poll() is None
        held.close()
        printed, _ = bench.communicate()
        assert bench.returncode == 0
        assert json.loads(printed)["kind"] == "measurement"
