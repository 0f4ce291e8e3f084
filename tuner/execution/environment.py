"""The environment of a study: this host, the client and the clusters.

It is stored with the results. A study is resumed only in the environment in which its trials were measured.
"""

import hashlib
import platform
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from runners.clusters.brokers.memory import in_memory
from runners.clusters.topics.owned_topics import Topic
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import RunnerError
from runners.java_runtime.pinned_jars import KAFKA_VERSION
from runners.librdkafka import capi
from runners.reporting import counted
from search_spaces.client import Client, ClientKind
from tuner.execution.open_target import OpenTarget
from tuner.model.errors import StudyChanged
from tuner.model.facts import BROKER_VERSION, CLIENT_VERSION, CLUSTER, CLUSTER_IDS, HOST, LOADS_RUN_ON, MACHINE, MIXED
from tuner.storage.protocols import ResultsStore


def cluster_facts(opened: OpenTarget) -> dict[str, str]:
    """Return the kind, the id and the number of brokers of the cluster, and whether local brokers log to disk."""
    facts = {"kind": opened.cluster.kind}
    try:
        cluster_id, brokers = TopicAdmin(opened.cluster.connection).cluster_id_and_brokers()
    except RunnerError:
        return facts
    # A broker that we start gets a new cluster id in each run. With this id, equal clusters would seem to differ.
    own = opened.cluster.kind != "existing"
    facts |= {"brokers": str(brokers), **({} if own else {"cluster_id": cluster_id})}
    if logs := [broker.log_dir for broker in opened.cluster.local_brokers if broker.log_dir is not None]:
        facts["log"] = "in memory" if all(map(in_memory, logs)) else "on disk"
    return facts


def topic_shape(topic: Topic) -> dict[str, int]:
    """Return the partitions and the replication of a topic, by the names of a load's settings."""
    return {"partitions": topic.partitions, "replication": topic.replication}


def environment_facts(targets: Sequence[OpenTarget], *, on_ray: bool = False) -> dict[str, Any]:
    """Return facts about the environment in which a study is measured, by the names that the results store uses.

    Two studies can be compared only if these facts are equal. Two facts may differ: `machine`, which names this host,
    and `cluster_ids`, which has the id of each target's cluster.

    Args:
        targets: The open targets; none for a simulation.
        on_ray: Whether the nodes of an existing Ray cluster run the loads.
    """
    if not targets:
        return {CLIENT_VERSION: "simulated", BROKER_VERSION: "simulated", HOST: {}, CLUSTER: {}}
    opened, clusters = targets[0], [cluster_facts(each) for each in targets]
    # A broker does not say its version, so we know the version only of brokers that we started.
    ours = {"embedded": KAFKA_VERSION, "container": opened.target.container}
    return {
        LOADS_RUN_ON: "nodes of a Ray cluster" if on_ray else "this host",
        CLIENT_VERSION: ", ".join(map(_client_version, (opened.client, *opened.others))),
        BROKER_VERSION: ours.get(opened.cluster.kind) or "unknown",
        # The host's name is left out, because it says nothing about the host's speed.
        HOST: {
            "processor": processor(),
            "cores": str(psutil.cpu_count() or 1),
            "memory_gb": f"{psutil.virtual_memory().total / 1e9:.0f}",
            "system": f"{platform.system()} {platform.release()}",
            "python": platform.python_version(),
        },
        CLUSTER: clusters[0],
        MACHINE: {"name": socket.gethostname(), "id": _machine_id()},
        CLUSTER_IDS: [each.get("cluster_id") for each in clusters],
    }


def check_environment(name: str, store: ResultsStore, facts: Mapping[str, Any], *, loads_here: bool, mix: bool) -> str:
    """Check that the stored trials were measured on this host, with this client and on this cluster.

    Args:
        name: The name of the study or experiment.
        store: The results store.
        facts: The facts about the environment of this run.
        loads_here: Whether this host runs the loads.
        mix: Whether a changed environment is allowed; the change is then stored.

    Returns:
        What has changed since the stored trials; "" if nothing has.

    Raises:
        StudyChanged: The environment has changed, and `mix` is False.
    """
    stored, trials = store.facts(), len(store.trials())
    changes = environment_changes(facts, stored, loads_here=loads_here) if trials else []
    if changes and not mix:
        raise StudyChanged(
            f"all trials of {name} must be measured in the same environment, but {'; '.join(changes)}; give the "
            "study another name to start over, or add --mix-environments to continue although its trials can't be "
            "compared well"
        )
    if not changes:
        return ""
    message = f"after {counted(trials, 'trial')}, {'; '.join(changes)}"
    store.set_fact(MIXED, [*stored.get(MIXED, []), message])
    return message


def environment_changes(now: Mapping[str, Any], stored: Mapping[str, Any], *, loads_here: bool) -> list[str]:
    """Return how this environment differs from the one in which a study was measured, as parts of a sentence.

    Values are compared only if they are known for both environments. Older releases stored fewer values, a host may
    have no id, and a broker that we start has a new cluster id each time.

    Args:
        now: What `environment_facts` returns now.
        stored: The facts from the results store.
        loads_here: Whether this host runs the loads. If not, they run on a Ray cluster, which chooses its nodes.
    """

    def of(facts: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        machine, host = facts.get(MACHINE) or {}, facts.get(HOST) or {}
        ids = facts.get(CLUSTER_IDS) or [(facts.get(CLUSTER) or {}).get("cluster_id")]
        of_host = {
            "host": (machine.get("id"), f"{machine.get('name')} (id {machine.get('id')})"),
            "processor": (host.get("processor"),) * 2,
            "number of cores": (host.get("cores"),) * 2,
        }
        return {
            **(of_host if loads_here else {}),
            "location of the load generators": (facts.get(LOADS_RUN_ON),) * 2,
            "client": (facts.get(CLIENT_VERSION),) * 2,
            "broker's version": (facts.get(BROKER_VERSION),) * 2,
            **{f"cluster id of target {number}": (each, each) for number, each in enumerate(ids, 1)},
        }

    ours, theirs = of(now), of(stored)
    return [
        f"the {name} is {shown} but was {theirs[name][1]}"
        for name, (value, shown) in ours.items()
        if name in theirs and value != theirs[name][0] and not {value, theirs[name][0]} & {None, "", "unknown"}
    ]


def _client_version(client: Client) -> str:
    """Return name and version of the client library that is measured."""
    match client.kind:
        case ClientKind.LIBRDKAFKA:
            return f"librdkafka {capi.version()}"
        case ClientKind.JAVA:
            return f"kafka-clients {client.version}"


def machine_name() -> str | None:
    """Return the name of this host; None if it has no lasting id, as in most containers, whose names are random."""
    return None if _machine_id() is None else socket.gethostname()


def _machine_id() -> str | None:
    """Return an id of this host that does not change with a restart; None if there is none, as in most containers.

    The result is a hash of the host's machine id, because the machine id must not be shown. Source: machine-id(5).
    """
    try:
        own = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return hashlib.sha256(f"kafka-tuner {own}".encode()).hexdigest()[:16] if own else None


def processor() -> str:
    """Return the name of this host's processor, or only its architecture if the name is unknown."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
