"""Runs Docker Compose, with compose.yaml changed so that it starts on this engine."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest
import yaml

from tests.helpers.container_engine import OWN_IMAGE, has_image
from tests.helpers.repository import ROOT

FILE: Final = ROOT / "compose.yaml"
POSTGRES_STAND_IN: Final = "kafka-tuner-test/postgres:stand-in"
_KAFKA_STAND_IN: Final = ["broker", "run", "--listen", "0.0.0.0:9092", "--advertise", "kafka:9092"]


def compose() -> list[str]:
    """Return the command of Docker's Compose plug-in or of the older program; skip the test if there is neither."""
    for words in (["docker", "compose"], ["docker-compose"]):
        if shutil.which(words[0]) and not subprocess.run([*words, "version"], capture_output=True).returncode:
            return words
    pytest.skip("neither `docker compose` nor `docker-compose` is installed")


@dataclass(frozen=True, slots=True)
class Project:
    """A Compose project, which is one start of a compose file.

    Attributes:
        name: The project's name, which keeps its containers apart from those of other projects.
        file: The compose file.
        environment: The file with its variables, in place of `.env`.
    """

    name: str
    file: Path
    environment: Path

    def run(self, *words: str, timeout_s: float = 300.0) -> subprocess.CompletedProcess[str]:
        """Run a Compose command to its end."""
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "HOME", "DOCKER_HOST")}
        before = [*compose(), "--project-directory", str(ROOT), "--project-name", self.name]
        before += ["--env-file", str(self.environment), "--file", str(self.file)]
        return subprocess.run(
            [*before, *words],
            capture_output=True,
            text=True,
            cwd=ROOT,
            env={**kept, "KAFKA_TUNER_IMAGE": OWN_IMAGE},
            stdin=subprocess.DEVNULL,
            timeout=timeout_s,
            check=False,
        )

    def checked(self, *words: str, timeout_s: float = 300.0) -> str:
        """Run a Compose command that must succeed, and return its standard output."""
        ran = self.run(*words, timeout_s=timeout_s)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        return ran.stdout


def startable(engine: Any, folder: Path) -> Path:
    """Write a copy of compose.yaml that starts here, and return its path.

    It has stand-ins for the images that this engine lacks, and it publishes free ports.
    """
    found: dict[str, Any] = yaml.safe_load(FILE.read_text(encoding="utf-8"))
    services = found["services"]
    services["tuner"].pop("build")
    if not has_image(engine, services["kafka"]["image"]):
        services["kafka"].update(image=OWN_IMAGE, command=_KAFKA_STAND_IN)
    if not has_image(engine, services["postgres"]["image"]):
        if not has_image(engine, POSTGRES_STAND_IN):
            context = Path(__file__).parent / "postgres"
            engine.images.build(path=str(context), tag=POSTGRES_STAND_IN, rm=True, network_mode="host")
        services["postgres"]["image"] = POSTGRES_STAND_IN
    for service in services.values():
        if "ports" in service:
            service["ports"] = [f"127.0.0.1::{port.rpartition(':')[2]}" for port in service["ports"]]
    file = folder / "compose.yaml"
    file.write_text(yaml.safe_dump(found), encoding="utf-8")
    return file
