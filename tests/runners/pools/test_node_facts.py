"""What nodes must have in common with the host of the driver."""

import pytest

from runners.errors import RayUnfit
from runners.pools.ray_cluster import Code, check_alike, check_same_host, facts_of_this_host, packages
from runners.pools.ray_session import NOT_SHIPPED

OURS = {
    "host": "here",
    "network": "boot 1",
    "Python": "3.11",
    "kafka-tuner": "code 0a1b",
    "confluent-kafka": "2.16.1",
    "librdkafka": "2.16.0",
}


def test_a_host_agrees_with_its_own_facts() -> None:
    facts = facts_of_this_host([])
    assert facts.keys() == OURS.keys()
    check_alike(facts, facts_of_this_host([]), Code.SHIP)
    check_same_host(facts, facts_of_this_host([]))


def test_a_host_that_cant_import_a_module_of_the_jobs_says_so() -> None:
    facts = facts_of_this_host(["runners.pools.pool", "runners.pools.no_such_module"])
    assert facts["trouble"] == "ModuleNotFoundError: No module named 'runners.pools.no_such_module'"


@pytest.mark.parametrize("name", ["Python", "kafka-tuner", "confluent-kafka", "librdkafka"])
def test_other_versions_are_refused_with_both(name: str) -> None:
    with pytest.raises(RayUnfit, match=rf"{name} is 9.9 on there and {OURS[name]} here; install the same"):
        check_alike(OURS, {**OURS, "host": "there", name: "9.9"}, Code.SHIP)
    with pytest.raises(RayUnfit, match="give all nodes the same image"):
        check_alike(OURS, {**OURS, "host": "there", name: "9.9"}, Code.INSTALLED)


def test_a_node_that_cant_run_our_code_says_why() -> None:
    there = {
        "host": "there",
        "network": "x",
        "Python": "3.11",
        "trouble": "ModuleNotFoundError: No module named 'numpy'",
    }
    with pytest.raises(RayUnfit, match=r"there can't: ModuleNotFoundError: No module named 'numpy'"):
        check_alike(OURS, there, Code.SHIP)


def test_a_target_that_only_this_host_reaches_is_refused_elsewhere() -> None:
    check_same_host(OURS, {**OURS, "host": "a node of the same host"})
    with pytest.raises(RayUnfit, match="the Ray cluster's node there is another host than here"):
        check_same_host(OURS, {**OURS, "host": "there", "network": "boot 2"})


def test_the_shipped_packages_are_small_and_contain_only_code() -> None:
    shipped = [
        path
        for folder in packages()
        for path in folder.rglob("*")
        if path.is_file()
        and not any(path.match(pattern) for pattern in NOT_SHIPPED)
        and "__pycache__" not in path.parts
    ]
    known = {".py", ".json", ".typed", ".html", ".css", ".js", ".svg", ".sql", ".java", ".yaml"}
    assert {path.suffix for path in shipped} <= known
    assert sum(path.stat().st_size for path in shipped) < 4_000_000
    assert not [path for path in shipped if "tests" in path.parts]
