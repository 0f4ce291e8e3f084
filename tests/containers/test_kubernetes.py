"""The Kubernetes manifests match Kubernetes' own schemas, and each other."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import kubernetes_validate
import pytest
import yaml

from tests.helpers.repository import ROOT
from tuner.service.config import load_config

FOLDER: Final = ROOT / "deploy" / "kubernetes"
_VERSIONS: Final = ("1.31", "1.37")
_SECRETS: Final = {"kafka-tuner-postgres": {"PGPASSWORD"}, "kafka-tuner-tokens": {"tokens.json"}}
"""The secrets that docs/how-to/containers.md tells the operator to create, and their keys."""


def manifests(kind: str | None = None) -> list[dict[str, Any]]:
    found = [each for file in sorted(FOLDER.glob("*.yaml")) for each in yaml.safe_load_all(file.read_text("utf-8"))]
    return [each for each in found if kind in (None, each["kind"])]


def name_of(manifest: dict[str, Any]) -> str:
    return f"{manifest['kind']} {manifest['metadata']['name']}"


def pods() -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Yield the labels and the specification of each kind of pod."""
    for each in manifests("Deployment"):
        template = each["spec"]["template"]
        assert each["spec"]["selector"]["matchLabels"] == template["metadata"]["labels"]
        yield template["metadata"]["labels"], template["spec"]


@pytest.mark.parametrize("version", _VERSIONS)
@pytest.mark.parametrize("manifest", manifests(), ids=name_of)
def test_kubernetes_knows_every_key(manifest: dict[str, Any], version: str) -> None:
    kubernetes_validate.validate(manifest, version, strict=True)


def test_a_misspelt_key_would_be_found() -> None:
    (manifest,) = manifests("NetworkPolicy")
    with pytest.raises(kubernetes_validate.ValidationError, match="podSelectr"):
        kubernetes_validate.validate(
            {**manifest, "spec": {**manifest["spec"], "podSelectr": {}}}, _VERSIONS[0], strict=True
        )


def test_pods_run_unprivileged_and_write_only_to_their_volumes() -> None:
    found = list(pods())
    assert len(found) == 2
    for _, spec in found:
        assert spec["securityContext"]["runAsNonRoot"] is True
        assert spec["securityContext"]["runAsUser"] == 10001
        assert spec["automountServiceAccountToken"] is False
        # Otherwise Kubernetes would set variables such as KAFKA_TUNER_PORT, which look like ours.
        assert spec["enableServiceLinks"] is False
        (container,) = spec["containers"]
        for each in (container, *spec.get("initContainers", [])):
            assert each["securityContext"]["readOnlyRootFilesystem"] is True
            assert each["securityContext"]["allowPrivilegeEscalation"] is False
            assert each["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert {"startupProbe", "livenessProbe", "readinessProbe"} <= set(container)


def test_everything_that_pods_refer_to_exists() -> None:
    claims = {each["metadata"]["name"] for each in manifests("PersistentVolumeClaim")}
    maps = {each["metadata"]["name"]: set(each["data"]) for each in manifests("ConfigMap")}
    accounts = {each["metadata"]["name"] for each in manifests("ServiceAccount")}
    for _, spec in pods():
        assert spec["serviceAccountName"] in accounts
        volumes = {}
        for volume in spec["volumes"]:
            volumes[volume["name"]] = volume
            if "persistentVolumeClaim" in volume:
                assert volume["persistentVolumeClaim"]["claimName"] in claims
            if "configMap" in volume:
                assert volume["configMap"]["name"] in maps
            if "secret" in volume:
                assert volume["secret"]["secretName"] in _SECRETS
        (container,) = spec["containers"]
        mounts = [mount for each in (container, *spec.get("initContainers", [])) for mount in each["volumeMounts"]]
        assert {mount["name"] for mount in mounts} == set(volumes)
        ports = {port["name"] for port in container["ports"]}
        assert {container[probe]["httpGet"]["port"] for probe in ("startupProbe", "livenessProbe")} <= ports
        for variable in container["env"]:
            source = variable.get("valueFrom", {})
            if "secretKeyRef" in source:
                assert source["secretKeyRef"]["key"] in _SECRETS[source["secretKeyRef"]["name"]]
            elif "configMapKeyRef" in source:
                assert source["configMapKeyRef"]["key"] in maps[source["configMapKeyRef"]["name"]]
            else:
                assert "PASSWORD" not in variable["name"]


def test_services_and_the_policy_select_the_pods() -> None:
    labels = [found for found, _ in pods()]
    for service in manifests("Service"):
        assert service["spec"]["selector"] in labels
    (policy,) = manifests("NetworkPolicy")
    assert policy["spec"]["podSelector"]["matchLabels"] in labels


def test_the_service_s_file_is_valid(tmp_path: Path) -> None:
    (config_map,) = manifests("ConfigMap")
    file = tmp_path / "service.yaml"
    file.write_text(config_map["data"]["service.yaml"], encoding="utf-8")
    config = load_config(file, {})
    assert (config.host, config.port) == ("0.0.0.0", 8080)
    assert config.tokens == Path("/var/lib/kafka-tuner/tokens.json")
    services = {each["metadata"]["name"]: each["spec"]["ports"][0]["port"] for each in manifests("Service")}
    assert config.mlflow_uri in [f"http://{name}:{port}" for name, port in services.items()]
