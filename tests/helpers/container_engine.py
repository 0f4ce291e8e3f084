"""The Docker engine and its images, for tests. Without an engine, the tests are skipped."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

OWN_IMAGE: Final = os.environ.get("KAFKA_TUNER_IMAGE", "kafka-tuner")
"""The image that `scripts/image build` makes."""


@contextmanager
def docker_engine() -> Iterator[Any]:
    """Yield Docker's client of the engine, after setting up testcontainers for it."""
    docker = pytest.importorskip("docker", reason="the extra `containers` is not installed")
    # A subprocess looks for the engine, because Docker's client leaves a socket open if it finds none. The garbage
    # collector would report that socket in some later test, and make that test fail.
    if subprocess.run([sys.executable, "-c", "import docker; docker.from_env()"], capture_output=True).returncode:
        pytest.skip("no Docker engine answers")
    client = docker.from_env()
    with pytest.MonkeyPatch.context() as patch:
        from testcontainers.core.config import testcontainers_config

        if not has_image(client, testcontainers_config.ryuk_image):
            patch.setattr(testcontainers_config, "_ryuk_disabled", True)
        if testcontainers_config.tc_host_override is None:
            patch.setattr(testcontainers_config, "tc_host_override", "127.0.0.1")
        yield client
    client.close()


def has_image(client: Any, name: str) -> bool:
    """Return whether the engine has an image."""
    import docker.errors  # type: ignore[import-untyped]

    try:
        client.images.get(name)
    except docker.errors.ImageNotFound:
        return False
    return True
