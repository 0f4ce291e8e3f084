"""Seats for workers on the nodes of a Ray cluster: reserved together, in their zones, apart where possible."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from runners.errors import RayUnfit
from runners.ray_cluster import RayCluster, check_alike, check_here, facts_here, resource_of
from runners.reporting import Say

_LOOK_S: Final = 0.2
_TRY_S: Final = 5.0
_ANSWER_S: Final = 120.0
_TINY: Final = 0.001
"""Of a zone's resource for each worker, so that a node with 1 of it takes a thousand."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node of the cluster that is there.

    Attributes:
        id: Ray's.
        host: Its name.
        cpus: That it offers Ray.
        zones: Resources by which it says in which zones it lies.
    """

    id: str
    host: str
    cpus: float
    zones: frozenset[str] = frozenset()

    @classmethod
    def all_of(cls, ray: Any) -> "list[Node]":
        """Those that live."""
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


def fit(nodes: Sequence[Node], zone: str | None) -> list[Node]:
    """The nodes with cores on which a worker of a zone may sit."""
    return [node for node in nodes if node.cpus >= 1 and (zone is None or resource_of(zone) in node.zones)]


def missing(nodes: Sequence[Node], cluster: RayCluster) -> str | None:
    """Which zone no node lies in, in words; None where each has one."""
    wanted: list[str | None] = list(dict.fromkeys(cluster.zones)) or [None]
    without = [resource_of(zone) for zone in wanted if zone is not None and not fit(nodes, zone)]
    if without:
        offered = Counter(name for node in nodes if node.cpus >= 1 for name in node.zones)
        there = ", ".join(f"{name} ({count} nodes)" for name, count in sorted(offered.items())) or "no zone"
        return f"no node with cores offers {' or '.join(without)}: there is {there}"
    if not fit(nodes, None):
        return f"none of its {len(nodes)} nodes offers a core (num_cpus)"
    return None


def apart(nodes: Sequence[Node], cluster: RayCluster, producers: int) -> bool:
    """Whether each producer of a job can have a node of its own."""
    seats = cluster.seats(producers)
    enough = all(len(fit(nodes, zone)) >= wanted for zone, wanted in seats.items())
    return enough and len({node.id for zone in seats for node in fit(nodes, zone)}) >= producers


def crowd(nodes: Sequence[Node], cluster: RayCluster, producers: int) -> str:
    """What to say where producers share nodes."""
    hosts = sorted({node.host for zone in cluster.seats(producers) for node in fit(nodes, zone)})
    return (
        f"{producers} producers share {len(hosts)} nodes of the Ray cluster ({', '.join(hosts)}), as it has no "
        "more that fit: they take cores from each other"
    )


@dataclass(slots=True)
class Seats:
    """Reserves seats, one group for each slot.

    Attributes:
        ray: The module, connected.
        cluster: What was asked.
        producers: Of a job.
        tell: Told where things are not as they should be.
    """

    ray: Any
    cluster: RayCluster
    producers: int
    tell: Say
    _checked: set[str] = field(default_factory=set)
    _told: set[str] = field(default_factory=set)

    def nodes(self, deadline: float | None = None) -> list[Node]:
        """The nodes that live, once there are some in each zone, and all that fit measure with what we have.

        Args:
            deadline: By the monotonic clock; None gives the cluster its whole time.

        Raises:
            RayUnfit: No node lies in a zone, or a node has other versions or can't reach the target.
        """
        deadline = time.monotonic() + self.cluster.wait_s if deadline is None else deadline
        while lack := missing(nodes := Node.all_of(self.ray), self.cluster):
            self._await(lack, deadline)
        self._check([node for zone in self.cluster.seats(self.producers) for node in fit(nodes, zone)])
        return nodes

    def reserve(self) -> Any:
        """A placement group with a bundle for each producer, on nodes that are fit to measure.

        Raises:
            RayUnfit: As `nodes`, or there is no room.
        """
        deadline = time.monotonic() + self.cluster.wait_s
        while True:
            nodes = self.nodes(deadline)
            group = self._try(nodes, min(deadline, time.monotonic() + _TRY_S))
            if group is not None:
                return group
            self._await(self._no_room(), deadline)

    def release(self, group: Any) -> None:
        """Give a group back; what still runs in it is killed."""
        self.ray.util.remove_placement_group(group)

    def _check(self, nodes: Sequence[Node]) -> None:
        """Ask nodes that were not asked before what they have."""
        new = {node.id: node for node in nodes if node.id not in self._checked}
        if not new:
            return
        ours = facts_here()
        for facts in self._facts(list(new.values())):
            check_alike(ours, facts, self.cluster.code)
            if self.cluster.this_host_only:
                check_here(ours, facts)
        self._checked |= new.keys()

    def _facts(self, nodes: Sequence[Node]) -> list[dict[str, str]]:
        from runners import ray_cluster

        by_value = self.ray.cloudpickle
        by_value.register_pickle_by_value(ray_cluster)
        try:
            asked = self.ray.remote(num_cpus=0, max_retries=0)(facts_here)
            pinned = self.ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy
            asking = [asked.options(scheduling_strategy=pinned(node.id, soft=False)).remote() for node in nodes]
        finally:
            by_value.unregister_pickle_by_value(ray_cluster)
        _, silent = self.ray.wait(asking, num_returns=len(asking), timeout=_ANSWER_S)
        if silent:
            hosts = ", ".join(node.host for node, each in zip(nodes, asking, strict=True) if each in silent)
            raise RayUnfit(f"each node must tell within {_ANSWER_S:g} s what it has, but nothing came from {hosts}")
        try:
            answers: list[dict[str, str]] = self.ray.get(asking)
        except self.ray.exceptions.RayError as error:
            raise RayUnfit(f"each node must tell what it has, but Ray says: {reason(error)}") from error
        return answers

    def _try(self, nodes: Sequence[Node], deadline: float) -> Any | None:
        strict = apart(nodes, self.cluster, self.producers)
        bundles = [
            {"CPU": 1.0} | ({} if zone is None else {resource_of(zone): _TINY})
            for zone in map(self.cluster.zone_of, range(self.producers))
        ]
        group = self.ray.util.placement_group(bundles, strategy="STRICT_SPREAD" if strict else "SPREAD")
        # A short wait at a time, as signals are not served within one.
        while not group.wait(_LOOK_S):
            if time.monotonic() >= deadline:
                self.release(group)
                return None
        if not strict:
            self._once(crowd(nodes, self.cluster, self.producers))
        return group

    def _no_room(self) -> str:
        free = self.ray.available_resources().get("CPU", 0.0)
        asked = ", ".join(
            f"{count} in {resource_of(zone)}" if zone else f"{count} anywhere"
            for zone, count in self.cluster.seats(self.producers).items()
        )
        return f"it has no free core for each producer ({asked}): {free:g} cores are free in all"

    def _await(self, lack: str, deadline: float) -> None:
        if time.monotonic() >= deadline:
            raise RayUnfit(
                f"the Ray cluster must have what a study asks for within {self.cluster.wait_s:g} s, but {lack}; start "
                "nodes with it, or ask for what is there (executor.placement, workload.producers)"
            )
        self._once(f"waiting up to {self.cluster.wait_s:g} s for the Ray cluster: {lack}")
        time.sleep(_LOOK_S)

    def _once(self, sentence: str) -> None:
        if sentence not in self._told:
            self._told.add(sentence)
            self.tell(sentence)


def reason(error: Exception) -> str:
    """An error of Ray's in one line."""
    return " ".join((str(error) or type(error).__name__).split())[:300]
