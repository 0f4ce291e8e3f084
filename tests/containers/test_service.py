"""Our own image as the service: it accepts a study over HTTP, runs it, and returns the recommended config."""

import time
from collections.abc import Iterator
from typing import Any, Final

import pytest
from testcontainers.core.container import DockerContainer

from tests.containers.studies import short_study
from tests.helpers.container_engine import OWN_IMAGE
from tuner.client import Client, ServiceRefused, ServiceUnreachable

pytestmark = [pytest.mark.docker, pytest.mark.campaign]

_PORT: Final = 8080
_START_S: Final = 120.0
_STUDY_S: Final = 240.0
_FOLDER: Final = "/var/lib/kafka-tuner/studies"
_STUDY: Final = short_study("in-a-container", "embedded")


@pytest.fixture(scope="module")
def volume(engine: Any) -> Iterator[Any]:
    found = engine.volumes.create()
    yield found
    found.remove(force=True)


@pytest.fixture(scope="module")
def token(engine: Any, own_image: Any, volume: Any) -> str:
    words = ["serve", "token", "add", "tests", "--role", "submit"]
    mounts = {volume.name: {"bind": _FOLDER, "mode": "rw"}}
    out = engine.containers.run(own_image.id, words, remove=True, volumes=mounts, stderr=False)
    return str(out.decode().strip())


@pytest.fixture(scope="module")
def service(own_image: Any, volume: Any, token: str) -> Iterator[tuple[Client, DockerContainer]]:
    container = DockerContainer(OWN_IMAGE).with_exposed_ports(_PORT).with_volume_mapping(volume.name, _FOLDER, "rw")
    container.with_command(["serve", "--host", "0.0.0.0"])
    try:
        container.start()
        client = Client(f"http://127.0.0.1:{container.get_exposed_port(_PORT)}", token=token)
        deadline = time.monotonic() + _START_S
        while True:
            try:
                list(client.studies())
                break
            except ServiceUnreachable:
                assert time.monotonic() < deadline, container.get_logs()
                time.sleep(0.2)
        yield client, container
    finally:
        container.stop()


def test_without_tokens_it_does_not_start(engine: Any, own_image: Any) -> None:
    container = engine.containers.create(own_image.id, ["serve", "--host", "0.0.0.0"])
    try:
        container.start()
        assert container.wait(timeout=60)["StatusCode"] == 1
        assert "tuner serve token add" in container.logs().decode()
    finally:
        container.remove(force=True, v=True)


def test_a_request_without_a_token_is_refused(service: tuple[Client, DockerContainer]) -> None:
    client, _ = service
    with pytest.raises(ServiceRefused) as refused:
        list(Client(client.url).studies())
    assert refused.value.status == 401


def test_the_health_check_succeeds(service: tuple[Client, DockerContainer]) -> None:
    _, container = service
    looked = container.exec(["python3", "-I", "-S", "/opt/kafka-tuner/container_health.py"])
    assert looked.exit_code == 0
    assert b"/healthz answers 200" in looked.output


def test_a_study_ends_with_a_recommendation(service: tuple[Client, DockerContainer], token: str) -> None:
    client, container = service
    client.submit(_STUDY)
    deadline = time.monotonic() + _STUDY_S
    while (shown := client.study("in-a-container"))["state"] in ("queued", "running"):
        assert time.monotonic() < deadline, shown
        time.sleep(0.5)
    assert shown["state"] == "complete", (shown, container.get_logs())
    reply = client.recommend("in-a-container", record_bytes="1000", goal="balanced", form="properties")
    assert reply.etag
    out, err = container.get_logs()
    assert token.encode() not in out + err
