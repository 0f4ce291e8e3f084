"""The engine, our own image on it, and containers that are gone after each test."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.container_tests.engine import OWN_IMAGE, docker_engine, has_image

Starter = Callable[..., Any]


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    with docker_engine() as client:
        yield client


@pytest.fixture(scope="session")
def own_image(engine: Any) -> Any:
    """The image under test; Docker's object for it."""
    if not has_image(engine, OWN_IMAGE):
        pytest.skip(f"the image {OWN_IMAGE} is not on this engine: scripts/image build makes it")
    return engine.images.get(OWN_IMAGE)


@pytest.fixture
def start(engine: Any, own_image: Any) -> Iterator[Starter]:
    """Starts containers of our image in the background; takes what `docker run` takes, by the names of its client."""
    started: list[Any] = []

    def run(*words: str, **options: Any) -> Any:
        container = engine.containers.create(own_image.id, list(words), **options)
        started.append(container)
        container.start()
        return container

    yield run
    import docker.errors  # type: ignore[import-untyped]

    for container in started:
        # A test may have removed its own.
        with contextlib.suppress(docker.errors.NotFound):
            container.remove(force=True, v=True)
