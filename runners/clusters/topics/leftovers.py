"""Finds and deletes the topics that earlier runs have left on a cluster."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import RECORD_KIND, run_of
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.host_processes.clean_up import clean_up_lists

RunState = Literal["live", "dead", "unknown"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A topic whose name shows that this program created it.

    Attributes:
        topic: Name of the topic.
        run_id: The id of the run that created it.
        state: `live` if that run is still going on, and `dead` if the process of that run has ended. `unknown` if
            another host started the run, or if the run's file in the state folder is lost.
    """

    topic: str
    run_id: str
    state: RunState


def find_leftovers(cluster: RunningCluster) -> list[Leftover]:
    """Return all topics that this program created on a cluster, including the topics of runs that are still running.

    Args:
        cluster: A cluster from `Cluster.start`.

    Raises:
        BrokerLost: The cluster did not answer.
    """
    return _find(TopicAdmin(cluster.connection))


def remove_leftovers(cluster: RunningCluster, leftovers: Iterable[Leftover]) -> list[str]:
    """Delete the given topics, even if the runs that created them are still running.

    The caller decides whether topics of live or unknown runs may be deleted.

    Args:
        cluster: The cluster that has the topics.
        leftovers: Topics from `find_leftovers`.

    Returns:
        Names of the deleted topics.

    Raises:
        ValueError: A name does not have the form of the topics that we create. No topic is deleted then.
        TargetRefused: We have no permission to delete a topic.
        BrokerLost: The cluster did not answer.
    """
    names = [leftover.topic for leftover in leftovers]
    for name in names:
        if run_of(name) is None:
            raise ValueError(
                f"only topics that kafka-tuner created (tuner-TIME-ID-NUMBER) may be deleted, but got {name!r}"
            )
    TopicAdmin(cluster.connection).delete(names)
    return names


def sweep_dead_runs(cluster: RunningCluster) -> list[str]:
    """Delete the topics that ended runs of this host left on a cluster.

    The files in the state folder that list what these runs created are deleted too.

    Args:
        cluster: A cluster from `Cluster.start`.

    Returns:
        Names of the deleted topics.

    Raises:
        TargetRefused: We have no permission to delete a topic.
        BrokerLost: The cluster did not answer.
    """
    admin = TopicAdmin(cluster.connection)
    dead = [leftover for leftover in _find(admin) if leftover.state == "dead"]
    deleted = remove_leftovers(cluster, dead)
    cluster_id, _ = admin.cluster_id_and_brokers()
    for record in clean_up_lists(RECORD_KIND):
        # The topics of an embedded cluster were removed together with the cluster.
        gone = record.facts.get("cluster_kind") == "embedded" or record.facts.get("cluster_id") == cluster_id
        if gone and record.state == "dead":
            record.remove()
    return deleted


def _find(admin: TopicAdmin) -> list[Leftover]:
    cluster_id, _ = admin.cluster_id_and_brokers()
    states: dict[str, RunState] = {
        record.run_id: record.state
        for record in clean_up_lists(RECORD_KIND)
        if record.facts.get("cluster_id") == cluster_id
    }
    return [
        Leftover(name, run_id, states.get(run_id, "unknown"))
        for name in admin.names()
        if (run_id := run_of(name)) is not None
    ]
