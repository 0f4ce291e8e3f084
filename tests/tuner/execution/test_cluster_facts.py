"""The facts that a study stores about the cluster that it was measured on."""

from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from runners.clusters.cluster import RunningCluster
from tuner.execution.environment import cluster_facts
from tuner.execution.open_target import OpenTarget


class _TargetOf:
    """Stands in for an `OpenTarget`, of which only the cluster is needed."""

    def __init__(self, cluster: RunningCluster) -> None:
        self.cluster = cluster


@pytest.mark.broker
@pytest.mark.parametrize(("log_dir", "told"), [("/dev/shm/x/log", "in memory"), ("/var/x/log", "on disk")])
def test_facts_say_where_a_local_broker_keeps_its_log(broker: RunningCluster, log_dir: str, told: str) -> None:
    moved = [replace(local, log_dir=Path(log_dir)) for local in broker.local_brokers]
    opened = cast(OpenTarget, _TargetOf(replace(broker, local_brokers=tuple(moved))))
    assert cluster_facts(opened) == {"kind": "embedded", "brokers": "1", "log": told}


@pytest.mark.broker
def test_facts_say_nothing_about_the_log_of_other_brokers(broker: RunningCluster) -> None:
    facts = cluster_facts(cast(OpenTarget, _TargetOf(replace(broker, kind="existing", local_brokers=()))))
    assert set(facts) == {"kind", "brokers", "cluster_id"}
