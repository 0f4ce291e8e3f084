"""Our own image as a broker: clients outside its container get an address that they can reach."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from testcontainers.core.container import DockerContainer

from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from runners.errors import TargetError
from tests.containers.studies import short_study
from tests.helpers.command import arguments
from tests.helpers.container_engine import OWN_IMAGE
from tests.helpers.ports import free_port

pytestmark = [pytest.mark.docker, pytest.mark.campaign]

_PORT: Final = 9092
_START_S: Final = 120.0
_STUDY_S: Final = 300.0


@pytest.fixture(scope="module")
def bootstrap(own_image: Any) -> Iterator[str]:
    port = free_port()
    address = f"127.0.0.1:{port}"
    container = DockerContainer(OWN_IMAGE).with_bind_ports(_PORT, port)
    container.with_command(["broker", "run", "--listen", f"0.0.0.0:{_PORT}", "--advertise", address])
    try:
        container.start()
        deadline = time.monotonic() + _START_S
        while True:
            try:
                ExistingCluster(address, timeout_s=3.0).start()
                break
            except TargetError:
                assert time.monotonic() < deadline, container.get_logs()
        yield address
    finally:
        container.stop()


def test_the_health_check_succeeds(bootstrap: str, engine: Any) -> None:
    listed = engine.containers.list(filters={"ancestor": OWN_IMAGE})
    port = bootstrap.rpartition(":")[2]
    (container,) = (each for each in listed if port in str(each.ports))  # other tests start containers meanwhile
    looked = container.exec_run(["python3", "-I", "-S", "/opt/kafka-tuner/container_health.py"])
    assert (looked.exit_code, looked.output.decode().strip()) == (0, f"listens at 0.0.0.0:{_PORT}")


@pytest.mark.long
@pytest.mark.usefixtures("studies")
def test_a_study_succeeds_on_the_container(bootstrap: str, tmp_path: Path) -> None:
    study = tmp_path / "short.yaml"
    study.write_text(short_study("short", f"{{bootstrap: '{bootstrap}'}}"), encoding="utf-8")
    words = arguments("run", str(study), "--no-mlflow")
    ran = subprocess.run(words, capture_output=True, text=True, timeout=_STUDY_S, stdin=subprocess.DEVNULL, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "study short, 1000 B records, goal " in ran.stdout
    found = ExistingCluster(bootstrap).start()
    assert [name for name in TopicAdmin(found.connection).names() if name.startswith("tuner-")] == []
