"""One secured broker for all of these tests, and the ways to log in."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from runners.clusters.topics.topic_admin import TopicAdmin
from tests.security.secured import TOPIC, Secured, secured_broker


@pytest.fixture(scope="session")
def secured(own_places: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """A broker with one listener for each way to log in. Nobody has any permission before a test grants it."""
    with secured_broker(tmp_path_factory.mktemp("keys")) as broker:
        TopicAdmin(broker.admin.connection).create(TOPIC, 1, 1, {"retention.bytes": str(64 * 1024 * 1024)})
        yield broker


@pytest.fixture
def client_file(tmp_path: Path) -> Path:
    """The path to which a test may write the properties of a client."""
    return tmp_path / "client.properties"
