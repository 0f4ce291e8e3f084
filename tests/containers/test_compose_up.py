"""With everything in compose.yaml started, a study runs in the service and appears in PostgreSQL and in MLflow."""

import json
import secrets
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.containers.composing import Project, compose, startable
from tests.containers.studies import short_study
from tuner.client import Client

pytestmark = [pytest.mark.docker, pytest.mark.campaign]

_STUDY_S: Final = 240.0
_STUDY: Final = short_study("composed", "kafka")


@pytest.fixture(scope="module")
def password() -> str:
    return secrets.token_hex(24)


@pytest.fixture(scope="module")
def project(own_image: Any, engine: Any, password: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    compose()  # skips the test before images are made for it
    folder: Path = tmp_path_factory.mktemp("compose")
    environment = folder / "env"
    environment.write_text(f"POSTGRES_PASSWORD={password}\n", encoding="utf-8")
    found = Project(f"kafka-tuner-{secrets.token_hex(4)}", startable(engine, folder), environment)
    try:
        yield found
    finally:
        found.run("down", "--volumes", "--timeout", "30")


def test_a_study_goes_through_all_services(project: Project, password: str) -> None:
    token = project.checked(
        "run", "--rm", "--no-deps", "-T", "tuner", "serve", "token", "add", "me", "--role", "submit"
    )
    project.checked("up", "--detach")
    client = Client(f"http://{address(project, 'tuner', 8080)}", token=token.strip())
    deadline = time.monotonic() + _STUDY_S
    while not is_ready(client):
        assert time.monotonic() < deadline, project.run("logs", "tuner").stdout
        time.sleep(0.5)
    client.submit(_STUDY)
    while (shown := client.study("composed"))["state"] in ("queued", "running"):
        assert time.monotonic() < deadline, shown
        time.sleep(0.5)
    logs = project.run("logs").stdout
    assert shown["state"] == "complete", (shown, logs)
    assert client.recommend("composed", record_bytes="1000", goal="balanced", form="properties").etag

    asked = ("--username=tuner", "--tuples-only", "--command", "SELECT name FROM kafka_tuner.studies")
    rows = project.checked("exec", "-T", "postgres", "psql", "--host=/var/run/postgresql", *asked)
    assert rows.split() == ["composed"]
    assert "composed" in json.dumps(runs(address(project, "mlflow", 5000)))
    assert password not in logs
    assert token.strip() not in logs


def address(project: Project, service: str, port: int) -> str:
    """Return the address at which a service's port is published."""
    return project.checked("port", service, str(port)).strip()


def is_ready(client: Client) -> bool:
    try:
        urllib.request.urlopen(f"{client.url}/readyz", timeout=5.0).close()
    except OSError:
        return False
    return True


def runs(mlflow: str) -> Any:
    """Return the runs in MLflow, requested under the host name that browsers use."""

    def ask(path: str, body: object) -> Any:
        headers = {"Content-Type": "application/json", "Host": "localhost:5000"}
        url = f"http://{mlflow}/api/2.0/mlflow/{path}"
        request = urllib.request.Request(url, json.dumps(body).encode(), headers)
        with urllib.request.urlopen(request, timeout=30.0) as answer:
            return json.load(answer)

    experiments = ask("experiments/search", {"max_results": 100})["experiments"]
    return ask("runs/search", {"experiment_ids": [each["experiment_id"] for each in experiments]})
