"""What all tests share: places of their own, one real broker, owned topics on it."""

import itertools
import signal
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import quote

import pytest
from hypothesis import settings

from runners.clusters.cluster import RunningCluster
from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.topics import OwnedTopics, Topic
from runners.places import cache_root
from tests.campaign_form import LONG_CAMPAIGN
from tests.postgres_server import PostgresServer, served

TopicMaker = Callable[..., Topic]
_NUMBERS = itertools.count()

# A test must not fail because the machine was busy.
settings.register_profile("any machine", deadline=None)
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Let Ctrl-C be one, here and in what tests start: a shell has what it runs in the background ignore it."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """All of `campaign_tests` is a campaign; what is long is left out unless asked for."""
    for item in items:
        if "tests/campaign_tests/" in item.nodeid:
            item.add_marker(pytest.mark.campaign)
    left_out = [] if LONG_CAMPAIGN else [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """State below a folder of this session. The cache is the user's, so that Kafka's jars are not fetched again."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_CACHE", str(cache_root()))
        patch.setenv("KAFKA_TUNER_HOME", str(tmp_path_factory.mktemp("kafka-tuner-home")))
        patch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path_factory.mktemp("studies")))
        # Servers of whoever runs the tests.
        for variable in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS", "KAFKA_TUNER_STORAGE"):
            patch.delenv(variable, raising=False)
        yield


@pytest.fixture(scope="session")
def broker(own_places: None) -> Iterator[RunningCluster]:
    """One real broker for all tests of the session; mark them `broker`, and write to topics of `new_topic` only."""
    cluster = EmbeddedCluster()
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture
def new_topic(broker: RunningCluster) -> Iterator[TopicMaker]:
    """Makes topics on `broker` that are gone after the test; takes what `OwnedTopics.create` takes."""
    with OwnedTopics(broker) as topics:

        def make(partitions: int = 1, configs: Mapping[str, str] | None = None) -> Topic:
            return topics.create(partitions, 1, configs)

        yield make


@pytest.fixture(scope="session")
def postgres(own_places: None) -> Iterator[PostgresServer]:
    """One PostgreSQL server for all tests of the session, which may restart it but not leave it down."""
    yield from served()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of an empty database, password included; dropped after the test."""
    name = f"test {next(_NUMBERS)}"
    postgres.execute(f'CREATE DATABASE "{name}"')
    yield postgres.url(quote(name))
    postgres.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
