"""With what a study was measured: what must be equal for two studies to be compared."""

import platform
from pathlib import Path
from typing import Any

import psutil

from runners.clusters.memory import in_memory
from runners.clusters.pinned_jars import KAFKA_VERSION
from runners.clusters.topic_admin import TopicAdmin
from runners.errors import RunnerError
from runners.librdkafka import capi
from tuner.course.open_target import OpenTarget

_GB = 10**9


def host_facts() -> dict[str, str]:
    """This host: processor, cores, memory, kernel. Not its name, which tells nothing of its speed."""
    return {
        "processor": _processor(),
        "cores": str(psutil.cpu_count() or 1),
        "memory_gb": f"{psutil.virtual_memory().total / _GB:.0f}",
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
    }


def cluster_facts(opened: OpenTarget) -> dict[str, str]:
    """The target: kind, id, brokers; where its log lies, if that is this host."""
    facts = {"kind": opened.cluster.kind}
    try:
        cluster_id, brokers = TopicAdmin(opened.cluster.connection).cluster()
    except RunnerError:
        return facts
    # A broker of our own is formatted anew for each run: its id would make equals look different.
    own = opened.cluster.kind != "existing"
    facts |= {"brokers": str(brokers), **({} if own else {"cluster_id": cluster_id})}
    if logs := [broker.log_dir for broker in opened.cluster.local_brokers if broker.log_dir is not None]:
        facts["log"] = "in memory" if all(map(in_memory, logs)) else "on disk"
    return facts


def all_facts(opened: OpenTarget | None) -> dict[str, Any]:
    """Everything, by the names that the study's record uses; None is a simulation."""
    if opened is None:
        return {"client_version": "simulated", "broker_version": "simulated", "host": {}, "cluster": {}}
    # Of a broker that is not ours the version is unknown: the protocol does not tell it.
    ours = {"embedded": KAFKA_VERSION, "container": opened.target.container}
    return {
        "client_version": f"librdkafka {capi.version()}",
        "broker_version": ours.get(opened.cluster.kind) or "unknown",
        "host": host_facts(),
        "cluster": cluster_facts(opened),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
