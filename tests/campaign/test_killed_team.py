"""The parts of a team's installation are killed in turn while studies run, and all studies still complete.

The parts are the service, the processes of studies, a node of a Ray cluster, PostgreSQL, and the MLflow server. The
studies measure on a real broker.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from itertools import cycle
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.topic_admin import TopicAdmin
from tests.helpers.campaign_form import LONG_CAMPAIGN
from tests.helpers.mlflow_server import kill as kill_mlflow
from tests.helpers.mlflow_server import server as mlflow_server
from tests.helpers.ports import free_port
from tests.helpers.postgres_server import PASSWORD, PostgresServer, served
from tests.helpers.ray_nodes import Nodes, running_nodes
from tests.helpers.serving import Serving, at_work, serving, state_of
from tests.helpers.shared_storage import storage_of
from tests.helpers.waiting import eventually
from tuner.model.errors import StudyError
from tuner.model.spec import TrackingSpec
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.study_results import load_results
from tuner.storage.protocols import Storage
from tuner.tracking import TrackingLocation, sync
from tuner.tracking.connection import connect

if TYPE_CHECKING:
    from mlflow import MlflowClient

pytestmark = [
    pytest.mark.broker,
    pytest.mark.long,
    # MLflow uses deprecated functions of SQLAlchemy when this process creates its store.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::ResourceWarning"),
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]

KILLS = 30 if LONG_CAMPAIGN else 5
NAMES = ("one", "two", "three")
TRIALS = 4 * KILLS // len(NAMES)
SEED = 20261122
PATIENCE_S = 240.0

CONFIG = """\
targets: {{lab: {{bootstrap: "{bootstrap}"}}}}
executor: {{ray_address: "{ray}"}}
mlflow: {{uri: "{mlflow}"}}
"""
STUDY = """\
study: {name}
target: lab
workload: {{record_bytes: 1000, partitions: 2, saturate: {{warmup: 0.3s, measured: 1s}}}}
objectives: throughput
search: {{method: random, trials: {trials}, burn_in_max: 1, racing: false}}
confirm: {{rounds: 0}}
safety: {{min_free_disk: 100MB}}
"""


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    with running_nodes() as nodes:
        yield nodes


@pytest.fixture(scope="module")
def postgres(own_places: None) -> Iterator[PostgresServer]:
    """Start a server that waits for its disk at each commit, so that it can be killed."""
    yield from served(durable=True)


class Team:
    """A team's installation, with functions that kill its parts.

    Args:
        folder: Folder for studies, MLflow's files and settings.
        broker: The broker to measure on.
        nodes: The Ray cluster that runs the load.
        postgres: The server that keeps the studies.
        stack: Ends the service and the MLflow server when it is closed.
    """

    def __init__(
        self, folder: Path, broker: RunningCluster, nodes: Nodes, postgres: PostgresServer, stack: ExitStack
    ) -> None:
        self.root, self._nodes, self._postgres, self._stack = folder / "studies", nodes, postgres, stack
        postgres.execute('CREATE DATABASE "team"')
        self.url = postgres.url(quote("team"))
        self.storage: Storage = storage_of(self.url)
        self._port = free_port()
        self.tracking_uri = f"http://127.0.0.1:{self._port}"
        self._tracked = folder / "mlflow"
        self._tracked.mkdir()
        # The MLflow server is only started if its store exists, so create it.
        connect(TrackingLocation.of(TrackingSpec(), self._tracked)).search_experiments()
        self._config = folder / "service.yaml"
        self._config.write_text(CONFIG.format(bootstrap=broker.bootstrap, ray=nodes.address, mlflow=self.tracking_uri))
        self._chance = Random(SEED)
        self._start_mlflow()
        self._start_service()

    def kill_service(self) -> None:
        self.serving.kill()
        self._start_service()

    def kill_study(self) -> None:
        (process,) = eventually(lambda: at_work(self.root))
        process.kill()

    def kill_node(self) -> None:
        self._nodes.kill_raylet("a")
        self._nodes.leave("a")
        self._nodes.start("a")

    def kill_postgres(self) -> None:
        self._postgres.kill()
        time.sleep(self._chance.choice([0.0, 1.0, 3.0]))
        self._postgres.start()

    def kill_mlflow(self) -> None:
        kill_mlflow(self._mlflow)
        time.sleep(self._chance.choice([0.0, 2.0]))
        self._start_mlflow()

    def trials(self) -> list[Trial]:
        """Return all stored trials of the studies, and check that none is there twice."""
        found: list[Trial] = []
        for name in NAMES:
            try:
                with closing(self.storage.read(self.root / name)) as store:
                    of_study = [trial for _, trial in store.trials()]
            except StudyError:
                continue
            assert len({trial.key for trial in of_study}) == len(of_study)
            found += of_study
        return found

    def more_trials(self) -> None:
        """Wait until one more trial is stored."""
        before = len(self.trials())
        eventually(lambda: len(self.trials()) > before, PATIENCE_S)

    def _start_service(self) -> None:
        environ = {**self._nodes.environ, "KAFKA_TUNER_STUDIES": str(self.root), "KAFKA_TUNER_STORAGE": self.url}
        self.serving: Serving = self._stack.enter_context(
            serving(self.root, "--config", str(self._config), environ=environ)
        )

    def _start_mlflow(self) -> None:
        self._mlflow = self._stack.enter_context(mlflow_server(self._tracked, self._port))


def trials_in(client: "MlflowClient") -> list[tuple[str, str]]:
    """Return the parent run and the number of each trial in MLflow."""
    experiments = [each.experiment_id for each in client.search_experiments()]
    tags = [run.data.tags for run in client.search_runs(experiments, max_results=5_000)]
    return [(of["mlflow.parentRunId"], of["tuner.trial"]) for of in tags if "tuner.trial" in of]


def test_killing_each_part_of_an_installation_loses_nothing(
    broker: RunningCluster, nodes: Nodes, postgres: PostgresServer, tmp_path: Path
) -> None:
    kills: Counter[str] = Counter()
    with ExitStack() as stack:
        team = Team(tmp_path, broker, nodes, postgres, stack)
        for name in NAMES:
            team.serving.client.submit(STUDY.format(name=name, trials=TRIALS))
        parts: tuple[tuple[str, Callable[[], None]], ...] = (
            ("service", team.kill_service),
            ("study", team.kill_study),
            ("node", team.kill_node),
            ("postgres", team.kill_postgres),
            ("mlflow", team.kill_mlflow),
        )
        for part, kill in cycle(parts):
            if sum(kills.values()) == KILLS:
                break
            team.more_trials()
            kill()
            kills[part] += 1
        for name in NAMES:
            eventually(lambda name=name: state_of(team.serving, name) == "complete", 600)  # type: ignore[misc]
        assert set(kills.values()) == {KILLS // len(parts)}
        for name in NAMES:
            results = load_results(team.root / name, team.storage)
            assert results.finished
            (size,) = results.sizes
            searched = [trial for trial in size.trials if trial.kind in (TrialKind.BASELINE, TrialKind.SEARCH)]
            assert [trial.state for trial in searched] == [State.COMPLETE] * TRIALS
            outcome = sync(team.root / name, TrackingSpec(uri=team.tracking_uri), storage=team.storage)
            assert outcome.error is None
        client = connect(TrackingLocation.of(TrackingSpec(uri=team.tracking_uri), team.root / NAMES[0]))
        mirrored = trials_in(client)
        assert len(set(mirrored)) == len(mirrored) == len(team.trials())
        said = team.serving.said()
    assert PASSWORD not in said
    assert nodes.token not in said
    assert [name for name in TopicAdmin(broker.connection).names() if name.startswith("tuner-")] == []
