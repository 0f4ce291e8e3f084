"""The content of our image, and that it runs unprivileged, without a network, and on a read-only file system."""

import json
import re
import time
from pathlib import Path
from typing import Any, Final

import pytest

from tests.containers.conftest import Starter
from tests.containers.studies import short_study

pytestmark = [pytest.mark.docker, pytest.mark.campaign]

_STUDY: Final = "/mine/short.yaml"
_LARGEST_BYTES: Final = 1_600_000_000
_SAFELY: Final = {
    "network_mode": "none",
    "read_only": True,
    "tmpfs": {"/tmp": "exec,mode=1777", "/var/lib/kafka-tuner": "mode=1777"},
    "cap_drop": ["ALL"],
    "security_opt": ["no-new-privileges:true"],
}
"""The options of a careful operator.

`exec` is needed because Java unpacks native libraries into /tmp and executes them.
"""
_INTERRUPTED: Final = 130
_BASELINE: Final = re.compile(rb"baseline +1/")


def ended(container: Any, timeout_s: float = 300.0) -> tuple[int, str]:
    """Wait until the container has ended, and return its exit status and its output."""
    status = int(container.wait(timeout=timeout_s)["StatusCode"])
    return status, container.logs().decode()


def shell(start: Starter, script: str) -> str:
    status, out = ended(start("-c", script, entrypoint=["sh"], network_mode="none"))
    assert status == 0, out
    return out


def test_the_image_has_its_labels_and_settings(own_image: Any) -> None:
    config = own_image.attrs["Config"]
    labels = config["Labels"]
    assert labels["org.opencontainers.image.title"] == "kafka-tuner"
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert "unknown" not in (labels["org.opencontainers.image.version"], labels["org.opencontainers.image.revision"])
    assert config["User"] == "10001:10001"
    assert "/var/lib/kafka-tuner/studies" in config["Volumes"]
    assert "container_health.py" in " ".join(config["Healthcheck"]["Test"])
    assert own_image.attrs["Size"] < _LARGEST_BYTES


def test_its_history_contains_no_mirror_address_and_no_secret(own_image: Any) -> None:
    history = json.dumps(own_image.history()) + json.dumps(own_image.attrs["Config"]["Env"])
    for word in ("PIP_INDEX_URL", "MAVEN_REPOSITORY", "PASSWORD", "TOKEN="):
        assert word not in history


def test_packages_for_builds_and_tests_are_left_out(start: Starter) -> None:
    out = shell(
        start,
        "cd /opt/kafka-tuner && id -u && ls bin lib/python3*/site-packages",
    )
    found = out.split()
    assert found[0] == "10001"
    assert {"tuner", "mlflow", "ray", "psutil"} <= set(found)
    assert not {"pip", "pytest", "mypy", "hypothesis", "testcontainers", "pyarrow", "tests"} & set(found)


def test_all_needed_packages_can_be_imported(start: Starter) -> None:
    """The image is slimmed down, but every command and the libraries behind it must still work."""
    out = shell(
        start,
        "tuner --help && tuner serve --help && python3 -c '"
        "import fastapi, matplotlib.pyplot, mlflow.server, optuna, pandas, plotly.graph_objects, psycopg; "
        "import ray, scipy.stats, sklearn.ensemble; print(chr(111) + chr(107))'",
    )
    assert out.rstrip().endswith("ok")


@pytest.fixture
def study(tmp_path: Path) -> dict[str, dict[str, str]]:
    """The mount of a study file."""
    file = tmp_path / "short.yaml"
    file.write_text(short_study("short", "{brokers: 1}"), encoding="utf-8")
    file.chmod(0o644)
    return {str(file): {"bind": _STUDY, "mode": "ro"}}


@pytest.mark.parametrize("user", [pytest.param("10001:10001", marks=pytest.mark.long), "54321:54321"])
def test_a_study_needs_no_network_and_no_privileges(
    start: Starter, study: dict[str, dict[str, str]], user: str
) -> None:
    status, out = ended(start("run", _STUDY, user=user, volumes=study, **_SAFELY))
    assert status == 0, out
    assert "study short, 1000 B records, goal " in out


@pytest.mark.long
def test_a_stopped_study_is_continued_from_its_volume(
    engine: Any, start: Starter, study: dict[str, dict[str, str]]
) -> None:
    volume = engine.volumes.create()
    mounts = {volume.name: {"bind": "/var/lib/kafka-tuner/studies", "mode": "rw"}, **study}
    try:
        first = start("run", _STUDY, network_mode="none", volumes=mounts)
        deadline = time.monotonic() + 180.0
        while not _BASELINE.search(first.logs()):
            assert time.monotonic() < deadline, first.logs()
            time.sleep(0.2)
        first.stop(timeout=60)  # SIGTERM, and SIGKILL after a minute, which would give exit status 137
        status, out = ended(first)
        assert status == _INTERRUPTED, out
        assert "no topic and no process is left behind" in out
        status, went_on = ended(start("run", _STUDY, network_mode="none", volumes=mounts))
        assert status == 0, went_on
        assert "study short, 1000 B records, goal " in went_on
        # Trials that were finished before the stop are not measured again.
        assert not _BASELINE.search(went_on.encode())
    finally:
        for container in engine.containers.list(all=True, filters={"volume": volume.name}):
            container.remove(force=True)
        volume.remove()


@pytest.mark.long
def test_the_java_client_needs_no_network_and_no_privileges(start: Starter) -> None:
    words = ("bench", "--client", "java", "--seconds", "1", "--warmup", "0", "--json")
    status, out = ended(start(*words, user="54321:54321", **_SAFELY))
    assert status == 0, out
    assert '"kafka-clients 4.3.1"' in out
