"""Fixtures for all tests: separate folders, a real broker, topics on it, a mock cluster, and a PostgreSQL server."""

import contextlib
import itertools
import signal
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final
from urllib.parse import quote

import pytest
from hypothesis import settings

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics, Topic
from runners.errors import JavaNotFound
from runners.host_processes.folders import cache_root
from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.mock_cluster import running_mock_cluster
from tests.helpers.postgres_server import PostgresServer, served
from tests.helpers.quick_java import quick_java

TopicMaker = Callable[..., Topic]

_LONGEST_MODULES: Final = (
    "tests/security/test_secured_studies.py",
    "tests/tuner/tracking/test_mirror.py",
    "tests/tuner/tracking/test_passwords_in_uris.py",
    "tests/docs/test_commands.py",
    "tests/tuner/service/http/test_study_actions.py",
    "tests/tuner/service/test_lifecycle.py",
    "tests/tuner/cli/commands/test_experiment.py",
    "tests/tuner/cli/commands/test_study_commands.py",
    "tests/tuner/tracking/test_written_once.py",
    "tests/tuner/prediction/test_calibration.py",
    "tests/campaign/test_site_in_a_browser.py",
    "tests/campaign/test_killed_driver.py",
    "tests/runners/test_real_broker.py",
    "tests/tuner/present/export/test_java_programs.py",
    "tests/security/test_secured_reading.py",
    "tests/campaign/test_service_in_a_browser.py",
    "tests/runners/pools/test_ray_pool.py",
    "tests/runners/pools/test_ray_session.py",
    "tests/campaign/test_endings.py",
    "tests/runners/test_runners.py",
    "tests/tuner/execution/budgets/test_byte_budget.py",
    "tests/tuner/cli/commands/test_verify.py",
    "tests/runners/consumer_runs/test_topic_consumption.py",
    "tests/tuner/cli/commands/test_on_a_real_broker.py",
    "tests/tuner/cli/commands/test_inspect.py",
)
"""Modules that take over half a minute. They begin first, because a long one that begins last keeps only one processor
busy. The others follow, those with the most tests first.

The first start of a broker in a new clone takes half a minute, so modules without a broker run beside it.
"""

_NUMBERS = itertools.count()

# Hypothesis must not fail a test because the machine was busy.
settings.register_profile("any machine", deadline=None, max_examples=100 if LONG_CAMPAIGN else 40)
settings.load_profile("any machine")


def pytest_configure() -> None:
    """Restore the default for Ctrl-C, which the processes that tests start inherit.

    A shell makes the commands that it runs in the background ignore Ctrl-C.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark every test in `tests/campaign`, and every test marked `long`, as `campaign`, and put the longest first.

    Tests marked `long` run only with `KAFKA_TUNER_CAMPAIGN=long`.
    """
    for item in items:
        if "tests/campaign/" in item.nodeid or item.get_closest_marker("long"):
            item.add_marker(pytest.mark.campaign)
    left_out = [] if LONG_CAMPAIGN else [item for item in items if item.get_closest_marker("long")]
    if left_out:
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if item not in left_out]
    ranks = {module: rank for rank, module in enumerate(_LONGEST_MODULES)}
    tests = Counter(_module(item) for item in items)
    items.sort(key=lambda item: (ranks.get(module := _module(item), len(ranks)), -tests[module], module))


def _module(item: pytest.Item) -> str:
    return item.nodeid.partition("::")[0]


@pytest.fixture
def short_temporary() -> Iterator[None]:
    """Give Ray a temporary folder with a short path, which its sockets need, and bytecode, so that it starts fast."""
    with tempfile.TemporaryDirectory(prefix="k") as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(tempfile, "tempdir", folder)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "")
        patch.setenv("PYTHONPYCACHEPREFIX", str(cache_root() / "bytecode"))
        yield


@pytest.fixture(scope="session", autouse=True)
def own_places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Keep the state of this session in its own folders, but use the user's cache, which holds Kafka's jars."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_CACHE", str(cache_root()))
        with contextlib.suppress(JavaNotFound):  # many tests need no Java
            patch.setenv("KAFKA_TUNER_JAVA", str(quick_java()))
        patch.setenv("KAFKA_TUNER_HOME", str(tmp_path_factory.mktemp("kafka-tuner-home")))
        patch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path_factory.mktemp("studies")))
        # Studies of other test processes run at the same time, because most tests do not ask for true measurements.
        patch.setenv("KAFKA_TUNER_LOCKS", uuid.uuid4().hex)
        # The user who runs the tests may have set these for their own servers.
        for variable in ("MLFLOW_TRACKING_URI", "RAY_ADDRESS", "KAFKA_TUNER_STORAGE"):
            patch.delenv(variable, raising=False)
        yield


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder in which the commands and the service of this test keep studies. It does not exist yet."""
    root = tmp_path / "studies"
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(root))
    return root


@pytest.fixture(scope="session")
def broker(own_places: None) -> Iterator[RunningCluster]:
    """Start one real broker for all tests of the session.

    Mark a test that uses it with `broker`, and write only to topics from `new_topic`.
    """
    cluster = EmbeddedCluster()
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.fixture
def new_topic(broker: RunningCluster) -> Iterator[TopicMaker]:
    """Give a function that creates topics on `broker`, which are deleted after the test."""
    with OwnedTopics(broker) as topics:

        def make(partitions: int = 1, configs: Mapping[str, str] | None = None) -> Topic:
            return topics.create(partitions, 1, configs)

        yield make


@pytest.fixture(scope="session")
def mock_cluster() -> Iterator[RunningCluster]:
    """Start one mock cluster for all tests of the session. Each test uses its own topic name."""
    with running_mock_cluster() as cluster:
        yield cluster


@pytest.fixture(scope="session")
def postgres(own_places: None) -> Iterator[PostgresServer]:
    """Start one PostgreSQL server for all tests of the session. A test may restart it, but must leave it running."""
    yield from served()


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """Create an empty database, give its URL with the password, and drop it after the test."""
    name = f"test {next(_NUMBERS)}"
    postgres.execute(f'CREATE DATABASE "{name}"')
    yield postgres.url(quote(name))
    postgres.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
