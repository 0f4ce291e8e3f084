"""Topics that a run left behind: found, judged, deleted."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from runners.clusters.cluster import RunningCluster
from runners.clusters.processes import records
from runners.clusters.topic_admin import TopicAdmin
from runners.clusters.topics import RECORD_KIND, run_of

RunState = Literal["live", "dead", "unknown"]


@dataclass(frozen=True, slots=True)
class Leftover:
    """A topic with a name that only we give.

    Attributes:
        topic: Its name.
        run_id: Of the run that created it.
        state: Of that run: `live` or `dead` on this host, or `unknown`: another host's, or its record is
            lost.
    """

    topic: str
    run_id: str
    state: RunState


def find_leftovers(cluster: RunningCluster) -> list[Leftover]:
    """All owned topics on a cluster, of any run.

    Args:
        cluster: As `Cluster.start` gave it.

    Raises:
        BrokerLost: No answer.
    """
    return _find(TopicAdmin(cluster.connection))


def remove_leftovers(cluster: RunningCluster, leftovers: Iterable[Leftover]) -> list[str]:
    """Delete leftovers; whether a live or unknown run's may go is the caller's decision.

    Args:
        cluster: Where they are.
        leftovers: As `find_leftovers` gave them.

    Returns:
        Names of the deleted topics.

    Raises:
        ValueError: A name is not one that we give; nothing is deleted then.
        TargetRefused: We may not.
        BrokerLost: No answer.
    """
    names = [leftover.topic for leftover in leftovers]
    for name in names:
        if run_of(name) is None:
            raise ValueError(f"Only topics with a name of ours may be deleted, but got {name!r}.")
    TopicAdmin(cluster.connection).delete(names)
    return names


def sweep_dead_runs(cluster: RunningCluster) -> list[str]:
    """Delete what dead runs of this host left on a cluster, and forget those runs.

    Args:
        cluster: As `Cluster.start` gave it.

    Returns:
        Names of the deleted topics.

    Raises:
        TargetRefused: We may not delete.
        BrokerLost: No answer.
    """
    admin = TopicAdmin(cluster.connection)
    dead = [leftover for leftover in _find(admin) if leftover.state == "dead"]
    deleted = remove_leftovers(cluster, dead)
    cluster_id, _ = admin.cluster()
    for record in records(RECORD_KIND):
        # An embedded cluster takes its topics with it.
        gone = record.facts.get("cluster_kind") == "embedded" or record.facts.get("cluster_id") == cluster_id
        if gone and record.state == "dead":
            record.remove()
    return deleted


def _find(admin: TopicAdmin) -> list[Leftover]:
    cluster_id, _ = admin.cluster()
    states: dict[str, RunState] = {
        record.run_id: record.state for record in records(RECORD_KIND) if record.facts.get("cluster_id") == cluster_id
    }
    return [
        Leftover(name, run_id, states.get(run_id, "unknown"))
        for name in admin.names()
        if (run_id := run_of(name)) is not None
    ]
