"""Reserves cores for workers on the nodes of a Ray cluster.

The cores for the workers of a job are reserved together, in the requested zones, and on different nodes if possible. A
list of zones has one entry per worker: its zone, or None if the worker may run on any node.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runners.errors import RayUnfit
from runners.pools.ray_cluster import RayCluster, check_alike, check_same_host, facts_of_this_host, resource_of
from runners.reporting import Say, counted

_CHECK_S: Final = 0.2
_TRY_S: Final = 5.0
_ANSWER_S: Final = 120.0
_TINY: Final = 0.001
"""Share of a zone's resource that each worker takes. So 1 unit of the resource is enough for a thousand workers."""


@dataclass(frozen=True, slots=True)
class RayNode:
    """A live node of the Ray cluster.

    Attributes:
        id: Ray's id of the node.
        host: Host name of the node.
        cpus: Number of cores that the node offers to Ray.
        zones: Names of the Ray resources with which the node declares its zones, such as `zone:a`.
    """

    id: str
    host: str
    cpus: float
    zones: frozenset[str] = frozenset()

    @classmethod
    def all_of(cls, ray: Any) -> "list[RayNode]":
        """Return all live nodes of the cluster."""
        return [
            cls(
                each["NodeID"],
                each["NodeManagerHostname"],
                each["Resources"].get("CPU", 0.0),
                frozenset(name for name in each["Resources"] if name.startswith(resource_of(""))),
            )
            for each in ray.nodes()
            if each["Alive"]
        ]


def fit(nodes: Sequence[RayNode], zone: str | None) -> list[RayNode]:
    """Return the nodes that offer at least one core to Ray and lie in `zone`; None means any zone."""
    return [node for node in nodes if node.cpus >= 1 and (zone is None or resource_of(zone) in node.zones)]


def missing_zones(nodes: Sequence[RayNode], zones: Sequence[str | None]) -> str | None:
    """Return the part of a message that names the requested zones (groups of nodes) in which no node offers a core.

    The result is None if every requested zone has a node that offers a core.
    """
    wanted = [zone for zone in dict.fromkeys(zones) if zone is not None]
    without = [resource_of(zone) for zone in wanted if not fit(nodes, zone)]
    if without:
        offered = Counter(name for node in nodes if node.cpus >= 1 for name in node.zones)
        there = ", ".join(f"{name} ({counted(count, 'node')})" for name, count in sorted(offered.items())) or "no zone"
        return f"no node with cores offers {' or '.join(without)}; its nodes offer {there}"
    if not fit(nodes, None):
        return f"no core (num_cpus) is offered by its {counted(len(nodes), 'node')}"
    return None


def one_node_each(nodes: Sequence[RayNode], zones: Sequence[str | None]) -> bool:
    """Return whether each worker of a job can have a node of its own."""
    enough = all(len(fit(nodes, zone)) >= wanted for zone, wanted in Counter(zones).items())
    return enough and len({node.id for zone in set(zones) for node in fit(nodes, zone)}) >= len(zones)


def crowding_warning(nodes: Sequence[RayNode], zones: Sequence[str | None]) -> str:
    """Return the warning that the workers of a job have to share nodes."""
    hosts = sorted({node.host for zone in set(zones) for node in fit(nodes, zone)})
    return (
        f"{len(zones)} workers share {counted(len(hosts), 'node')} of the Ray cluster ({', '.join(hosts)}), because "
        "it has no other suitable nodes: their clients compete for cores"
    )


@dataclass(slots=True)
class CoreReservations:
    """Reserves cores for Ray workers, with one placement group for the workers of each job.

    Attributes:
        ray: The module `ray`, connected.
        cluster: Address and settings of the Ray cluster.
        tell: Called with a sentence if we have to wait for nodes or cores, or if workers share nodes.
        job_modules: The modules that each node must be able to import, as the jobs need them.
    """

    ray: Any
    cluster: RayCluster
    tell: Say
    job_modules: Sequence[str] = ()
    _checked: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def nodes(self, zones: Sequence[str | None], deadline: float | None = None) -> list[RayNode]:
        """Wait until each requested zone (group of nodes) has a node, check the software, and return all live nodes.

        Each node on which a worker may run must have the same versions as this host.

        Args:
            zones: The zone of each worker.
            deadline: Time on the monotonic clock at which to stop waiting; None means `cluster.wait_s` from now.

        Raises:
            RayUnfit: A zone has no node, or a node has other versions or can't reach the Kafka cluster.
        """
        deadline = time.monotonic() + self.cluster.wait_s if deadline is None else deadline
        while lack := missing_zones(nodes := RayNode.all_of(self.ray), zones) or self._checked_for(nodes, zones):
            self._wait_or_refuse(lack, deadline)
        return nodes

    def reserve(self, zones: Sequence[str | None]) -> Any:
        """Wait until the nodes have free cores for all workers of a job, and reserve them as a placement group.

        Args:
            zones: The zone of each worker.

        Raises:
            RayUnfit: The nodes have too few free cores, or they don't pass the checks of the method `nodes`.
        """
        deadline = time.monotonic() + self.cluster.wait_s
        while True:
            nodes = self.nodes(zones, deadline)
            group = self._try_to_reserve(nodes, zones, min(deadline, time.monotonic() + _TRY_S))
            if group is not None:
                return group
            self._wait_or_refuse(self._no_room(zones), deadline)

    def release(self, group: Any) -> None:
        """Release the cores of a placement group. Ray kills workers that still run in the group."""
        self.ray.util.remove_placement_group(group)

    def _checked_for(self, nodes: Sequence[RayNode], zones: Sequence[str | None]) -> str | None:
        """Check the software of each node on which a worker may run, once for each node.

        Returns:
            None if all these nodes fit; a part of a message if a node has left meanwhile.
        """
        wanted = (node for zone in dict.fromkeys(zones) for node in fit(nodes, zone))
        new = {node.id: node for node in wanted if node.id not in self._checked}
        if not new:
            return None
        ours, answers = facts_of_this_host(self.job_modules), self._ask_for_facts(list(new.values()))
        if answers is None:
            return "one of its nodes has just left"
        for facts in answers:
            check_alike(ours, facts, self.cluster.code)
            if self.cluster.this_host_only:
                check_same_host(ours, facts)
        self._checked |= new.keys()
        return None

    def _ask_for_facts(self, nodes: Sequence[RayNode]) -> list[dict[str, str]] | None:
        """Return the facts that the nodes report; None if one of them has left."""
        from runners.pools import ray_cluster

        by_value = self.ray.cloudpickle
        by_value.register_pickle_by_value(ray_cluster)
        try:
            task = self.ray.remote(num_cpus=0, max_retries=0)(facts_of_this_host)
            pinned = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            on_nodes = [task.options(scheduling_strategy=pinned(node.id, soft=False)) for node in nodes]
            asking = [each.remote(self.job_modules) for each in on_nodes]
        finally:
            by_value.unregister_pickle_by_value(ray_cluster)
        _, silent = self.ray.wait(asking, num_returns=len(asking), timeout=_ANSWER_S)
        if silent:
            hosts = ", ".join(node.host for node, each in zip(nodes, asking, strict=True) if each in silent)
            raise RayUnfit(f"these Ray nodes did not report their versions within {_ANSWER_S:g} s: {hosts}; check them")
        try:
            answers: list[dict[str, str]] = self.ray.get(asking)
        except (self.ray.exceptions.TaskUnschedulableError, self.ray.exceptions.NodeDiedError):
            return None
        except self.ray.exceptions.RayError as error:
            raise RayUnfit(f"a Ray node did not report its software versions; Ray says: {reason(error)}") from error
        return answers

    def _try_to_reserve(self, nodes: Sequence[RayNode], zones: Sequence[str | None], deadline: float) -> Any | None:
        strict = one_node_each(nodes, zones)
        bundles = [{"CPU": 1.0} | ({} if zone is None else {resource_of(zone): _TINY}) for zone in zones]
        group = self.ray.util.placement_group(bundles, strategy="STRICT_SPREAD" if strict else "SPREAD")
        # Each wait is short, because signals are not handled during a wait.
        while not group.wait(_CHECK_S):
            if time.monotonic() >= deadline:
                self.release(group)
                return None
        if not strict:
            self._tell_once(crowding_warning(nodes, zones))
        return group

    def _no_room(self, zones: Sequence[str | None]) -> str:
        free = self.ray.available_resources().get("CPU", 0.0)
        asked = ", ".join(
            f"{count} in {resource_of(zone)}" if zone else f"{count} anywhere" for zone, count in Counter(zones).items()
        )
        return f"it does not have a free core for each worker ({asked}); {free:g} cores are free in total"

    def _wait_or_refuse(self, lack: str, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise RayUnfit(
                f"within {self.cluster.wait_s:g} s, the Ray cluster did not offer what the study needs: {lack}; start "
                "suitable nodes, or change what the study needs (placement, consumer_zone, producers)"
            )
        self._tell_once(f"waiting up to {self.cluster.wait_s:g} s for the Ray cluster: {lack}")
        time.sleep(_CHECK_S)

    def _tell_once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self.tell(sentence)


def reason(error: Exception) -> str:
    """Return the text of an error of Ray as one line, of at most 300 characters."""
    return " ".join((str(error) or type(error).__name__).split())[:300]
