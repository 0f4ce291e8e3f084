"""compose.yaml is correct, read as Compose reads it."""

import re
import subprocess
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from runners.clusters.brokers.container import DEFAULT_IMAGE
from tests.containers.composing import FILE, Project
from tests.helpers.container_engine import OWN_IMAGE
from tests.helpers.repository import ROOT
from tuner.service.config import load_config

_OWN: Final = "${KAFKA_TUNER_IMAGE:-kafka-tuner}"
_SECRET_NAME: Final = re.compile(r"PASSWORD|SECRET|TOKEN|KEY$")
_PINNED: Final = re.compile(r"[\w./-]+:\d+\.\d+(\.\d+)?(-\w+)?")


@pytest.fixture(scope="module")
def services() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = yaml.safe_load(FILE.read_text(encoding="utf-8"))["services"]
    return found


def test_all_services_are_there_with_pinned_images(services: dict[str, dict[str, Any]]) -> None:
    assert set(services) == {"kafka", "postgres", "mlflow", "tuner"}
    assert services["kafka"]["image"] == DEFAULT_IMAGE
    for name, service in services.items():
        assert service["image"] == _OWN if name in ("mlflow", "tuner") else _PINNED.fullmatch(service["image"])


def test_services_have_health_checks_and_wait_for_each_other(services: dict[str, dict[str, Any]]) -> None:
    assert all(service["healthcheck"]["test"] for service in services.values())
    needs = {name: service.get("depends_on", {}) for name, service in services.items()}
    assert set(needs["tuner"]) == {"kafka", "postgres", "mlflow"}
    assert set(needs["mlflow"]) == {"postgres"}
    assert all(how == {"condition": "service_healthy"} for need in needs.values() for how in need.values())


def test_no_secret_has_a_value_or_a_default(services: dict[str, dict[str, Any]]) -> None:
    secret = [
        (name, value)
        for service in services.values()
        for name, value in service.get("environment", {}).items()
        if _SECRET_NAME.search(name)
    ]
    assert len(secret) == 3
    for name, value in secret:
        assert re.fullmatch(r"\$\{\w+:\?[^}]*\.env[^}]*\}", value), name
    # No address contains a password either.
    assert not re.search(r"://[^/\s]*:[^/\s]*@", FILE.read_text(encoding="utf-8"))


def test_ports_are_only_published_on_this_host(services: dict[str, dict[str, Any]]) -> None:
    published = [port for service in services.values() for port in service.get("ports", [])]
    assert published == ["127.0.0.1:5000:5000", "127.0.0.1:8080:8080"]


def test_mlflow_allows_the_host_names_that_are_used_for_it(services: dict[str, dict[str, Any]]) -> None:
    (hosts,) = [word for word in services["mlflow"]["command"] if word.startswith("--allowed-hosts=")]
    allowed = hosts.partition("=")[2].split(",")
    config = load_config(ROOT / "deploy" / "service.yaml", {})
    for address in (config.mlflow_uri, config.mlflow_url):
        assert address is not None
        assert address.removeprefix("http://") in allowed


def test_the_service_s_file_fits_the_other_services(services: dict[str, dict[str, Any]]) -> None:
    config = load_config(ROOT / "deploy" / "service.yaml", {})
    assert config.host == "0.0.0.0"
    assert f"127.0.0.1:{config.port}:{config.port}" in services["tuner"]["ports"]
    assert config.targets["kafka"].bootstrap == "kafka:9092"
    assert services["kafka"]["environment"]["KAFKA_ADVERTISED_LISTENERS"] == "PLAINTEXT://kafka:9092"


def test_all_mounted_files_and_volumes_exist(services: dict[str, dict[str, Any]]) -> None:
    volumes = set(yaml.safe_load(FILE.read_text(encoding="utf-8"))["volumes"])
    for service in services.values():
        for mount in service.get("volumes", []):
            source = mount.split(":")[0]
            assert (ROOT / source).is_file() if source.startswith("./") else source in volumes


def configured(tmp_path: Path, environment: str) -> subprocess.CompletedProcess[str]:
    # Do not use the .env file of the user who runs the tests.
    (tmp_path / "env").write_text(environment, encoding="utf-8")
    return Project("kafka-tuner", FILE, tmp_path / "env").run("config")


def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    ran = configured(tmp_path, "POSTGRES_PASSWORD=a-word\n")
    assert ran.returncode == 0, ran.stderr
    found = yaml.safe_load(ran.stdout)["services"]
    assert found["tuner"]["image"] == OWN_IMAGE
    assert found["mlflow"]["environment"]["PGPASSWORD"] == "a-word"


def test_without_a_password_compose_says_what_to_do(tmp_path: Path) -> None:
    ran = configured(tmp_path, "")
    assert ran.returncode != 0
    assert "POSTGRES_PASSWORD" in ran.stderr
    assert "docs/how-to/containers.md" in ran.stderr
