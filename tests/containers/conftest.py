"""The Docker engine, our own image, and a starter of containers that are removed after each test."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.helpers.container_engine import OWN_IMAGE, docker_engine, has_image

Starter = Callable[..., Any]


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    with docker_engine() as client:
        yield client


@pytest.fixture(scope="session")
def own_image(engine: Any) -> Any:
    """Our image, as an object of Docker's client."""
    if not has_image(engine, OWN_IMAGE):
        pytest.skip(f"the engine does not have the image {OWN_IMAGE}: build it with scripts/image build")
    return engine.images.get(OWN_IMAGE)


@pytest.fixture
def start(engine: Any, own_image: Any) -> Iterator[Starter]:
    """Return a function that starts a container of our image; its options are those of Docker's client."""
    started: list[Any] = []

    def run(*words: str, **options: Any) -> Any:
        container = engine.containers.create(own_image.id, list(words), **options)
        started.append(container)
        container.start()
        return container

    yield run
    import docker.errors  # type: ignore[import-untyped]

    for container in started:
        # The test itself may have removed the container.
        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True, v=True)
