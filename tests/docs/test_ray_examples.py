"""The examples that docs/how-to/ray.md refers to are well-formed, and their zones, versions and token fit together."""

import json
import re
from importlib.metadata import version
from typing import Any

import pytest
import yaml

from runners.pools.ray_cluster import resource_of
from tests.helpers.repository import ROOT
from tuner.study_file import read_study_file

DOCS = (ROOT / "docs" / "how-to" / "ray.md").read_text()
CLUSTER: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "kuberay" / "raycluster.yaml").read_text())["spec"]
GROUPS: list[dict[str, Any]] = CLUSTER["workerGroupSpecs"]


def containers() -> list[dict[str, Any]]:
    return [
        container
        for group in (CLUSTER["headGroupSpec"], *GROUPS)
        for container in group["template"]["spec"]["containers"]
    ]


def zones_of(group: dict[str, Any]) -> set[str]:
    """Parse the resources as `ray start --resources` gets them from a shell: quoted JSON."""
    quoted: str = group["rayStartParams"]["resources"]
    return set(json.loads(json.loads(quoted)))


def test_the_manifest_is_a_raycluster() -> None:
    whole = yaml.safe_load((ROOT / "examples" / "kuberay" / "raycluster.yaml").read_text())
    assert (whole["apiVersion"], whole["kind"]) == ("ray.io/v1", "RayCluster")
    assert re.fullmatch(r"[a-z0-9]([a-z0-9-]*[a-z0-9])?", whole["metadata"]["name"])
    assert CLUSTER["headGroupSpec"].keys() == {"rayStartParams", "template"}
    for group in GROUPS:
        assert group.keys() == {"groupName", "replicas", "minReplicas", "maxReplicas", "rayStartParams", "template"}
        assert group["minReplicas"] <= group["replicas"] <= group["maxReplicas"]
    for parameters in (CLUSTER["headGroupSpec"]["rayStartParams"], *(group["rayStartParams"] for group in GROUPS)):
        assert all(isinstance(value, str) for value in parameters.values()), "KubeRay accepts only strings"


def test_each_pod_has_the_token_from_the_secret_and_one_image() -> None:
    for container in containers():
        environ = {each["name"]: each for each in container["env"]}
        assert environ["RAY_AUTH_MODE"]["value"] == "token"
        assert environ["RAY_AUTH_TOKEN"]["valueFrom"]["secretKeyRef"] == {
            "name": "kafka-tuner-ray",
            "key": "auth_token",
        }
        assert container["resources"]["requests"] == container["resources"]["limits"]
    assert len({container["image"] for container in containers()}) == 1
    assert "generic kafka-tuner-ray --from-literal=auth_token=" in DOCS


@pytest.mark.parametrize("group", GROUPS, ids=lambda group: group["groupName"])
def test_a_group_lies_in_the_zone_that_it_offers(group: dict[str, Any]) -> None:
    spec = group["template"]["spec"]
    assert zones_of(group) == {resource_of(spec["nodeSelector"]["topology.kubernetes.io/zone"])}
    cores = int(spec["containers"][0]["resources"]["limits"]["cpu"])
    assert int(group["rayStartParams"]["num-cpus"]) < cores


def test_the_example_study_uses_the_zones_of_the_manifest() -> None:
    spec, _ = read_study_file(ROOT / "examples" / "zones.yaml", {})
    assert {resource_of(zone) for zone in spec.placement.zones} == set().union(*map(zones_of, GROUPS))
    assert spec.workload.producers == sum(group["replicas"] for group in GROUPS)


def test_versions_are_the_pinned_ones() -> None:
    assert CLUSTER["rayVersion"] == version("ray")
    assert f"FROM rayproject/ray:{version('ray')}-py3" in DOCS


def test_links_of_the_page_exist() -> None:
    links = re.findall(r"\]\((\.\./\.\./[^)#]+)\)", DOCS)
    assert links
    assert [link for link in links if not (ROOT / "docs" / "how-to" / link).exists()] == []
