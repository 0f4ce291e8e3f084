"""Which nodes producers may run on, by what the nodes offer."""

import pytest

from runners.errors import RayUnfit
from runners.pools.placement import ANYWHERE, Placement
from runners.pools.ray_cluster import RayCluster
from runners.pools.ray_reservations import RayNode, crowding_warning, fit, missing_zones, one_node_each

HEAD = RayNode("h", "head", 0.0)
A1 = RayNode("1", "node-a1", 2.0, frozenset({"zone:a"}))
A2 = RayNode("2", "node-a2", 2.0, frozenset({"zone:a"}))
B = RayNode("3", "node-b", 2.0, frozenset({"zone:b"}))
BOTH = RayNode("4", "node-ab", 8.0, frozenset({"zone:a", "zone:b"}))


def test_zones_are_assigned_to_producers_in_turn() -> None:
    assert Placement(("a", "b")).zones_of_workers(5) == ["a", "b", "a", "b", "a"]
    assert ANYWHERE.zones_of_workers(3) == [None, None, None]


def test_consumers_have_a_worker_of_their_own_only_in_a_zone_of_their_own() -> None:
    assert Placement(("a",), "b").zones_of_workers(2) == ["a", "a", "b"]
    assert Placement(consumer_zone="b").zones_of_workers(1) == [None, "b"]


def test_a_node_without_cores_takes_no_producer() -> None:
    assert fit([HEAD, A1, B], None) == [A1, B]
    assert fit([HEAD, A1, B], "b") == [B]
    assert missing_zones([HEAD], [None]) == "no core (num_cpus) is offered by its 1 node"
    assert missing_zones([HEAD, A1], [None]) is None


def test_each_zone_must_have_a_node() -> None:
    assert missing_zones([A1, A2, B], ["a", "b"]) is None
    assert missing_zones([A1, A2, B], ["b", "c", "d"]) == (
        "no node with cores offers zone:c or zone:d; its nodes offer zone:a (2 nodes), zone:b (1 node)"
    )
    without_cores = RayNode("5", "x", 0.0, frozenset({"zone:c"}))
    assert missing_zones([without_cores], ["c"]) == "no node with cores offers zone:c; its nodes offer no zone"


@pytest.mark.parametrize(
    ("nodes", "zones", "producers", "enough"),
    [
        ([A1, B], (), 2, True),
        ([A1, B], (), 3, False),
        ([HEAD, A1], (), 2, False),
        ([A1, A2, B], ("a", "b"), 2, True),
        ([A1, A2, B], ("a", "b"), 3, True),
        ([A1, A2, B], ("a", "b"), 4, False),
        ([A1, A2, B], ("b",), 2, False),
        ([BOTH], ("a", "b"), 2, False),  # one node that lies in both zones is still one node
    ],
)
def test_producers_run_on_separate_nodes_if_there_are_enough(
    nodes: list[RayNode], zones: tuple[str, ...], producers: int, enough: bool
) -> None:
    assert one_node_each(nodes, Placement(zones).zones_of_workers(producers)) is enough


def test_the_warning_names_shared_nodes() -> None:
    assert crowding_warning([HEAD, A1, A2, B], ["a", "a", "a"]) == (
        "3 workers share 2 nodes of the Ray cluster (node-a1, node-a2), because it has no other suitable nodes: "
        "their clients compete for cores"
    )


def test_the_address_of_ray_client_is_refused() -> None:
    with pytest.raises(RayUnfit, match=r"must be host:port or auto, but got ray://head:10001"):
        RayCluster("ray://head:10001")
