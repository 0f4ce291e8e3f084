"""A worker that dies is replaced, and its trial is measured again; so is the process that holds the client."""

from dataclasses import dataclass, field, replace
from pathlib import Path

import psutil
import pytest

from runners.clusters.cluster import RunningCluster
from runners.measurements.measurement import Window, WindowKind
from search_spaces import ProducerConfig, client_of
from tests.campaign.brokers import our_topics
from tests.helpers.clients import holders, left_by_java
from tests.helpers.studies import THROUGHPUT, Told, of_kind, on_record, real_study, simulated_study
from tests.helpers.waiting import eventually
from tests.runners.pools.pool_runners import Dying
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.spec import Executor
from tuner.model.trial import State, TrialKind


@pytest.mark.usefixtures("short_temporary")
def test_a_trial_whose_worker_dies_is_measured_again(tmp_path: Path) -> None:
    deaths = tmp_path / "deaths"
    deaths.mkdir()
    spec = replace(simulated_study((100,), trials=4, burn_in_max=1), executor=Executor.RAY, objectives=THROUGHPUT)
    results = measure_study(spec, "", tmp_path / "study", Told(), simulated=Dying(deaths, 1))
    assert results.finished
    assert len(list(deaths.iterdir())) == 1
    trials = on_record(tmp_path / "study")
    assert {trial.state for trial in trials} == {State.COMPLETE}
    assert [trial.attempts for trial in trials] == [2, *[1] * (len(trials) - 1)]
    assert len(of_kind(trials, TrialKind.BASELINE, TrialKind.SEARCH)) == 4


@dataclass(slots=True)
class KillingTheClient(Told):
    """A reporter that kills the processes that hold the client once, during the first trial of the search.

    Attributes:
        client: The client.
        killed: The processes that were killed.
    """

    client: str = ""
    killed: list[psutil.Process] = field(default_factory=list)

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        # The warm-up has only one window, so the measured window is running now.
        if not self.killed and progress.kind is TrialKind.SEARCH and window.phase is WindowKind.WARMUP:
            self.killed += holders(self.client, psutil.Process().children(recursive=True))
            for process in self.killed:
                process.kill()


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.usefixtures("short_temporary")
@pytest.mark.parametrize(
    ("client", "executor"),
    [
        ("java", Executor.LOCAL),
        pytest.param("java", Executor.RAY, marks=pytest.mark.long),
        pytest.param("librdkafka", Executor.LOCAL, marks=pytest.mark.long),
        pytest.param("librdkafka", Executor.RAY, marks=pytest.mark.long),
    ],
)
def test_a_trial_whose_client_is_killed_is_measured_again(
    tmp_path: Path, broker: RunningCluster, client: str, executor: Executor
) -> None:
    baseline = ProducerConfig.parse({}, client_of(client))
    spec = replace(real_study(broker.bootstrap, trials=2), baseline=baseline, executor=executor)
    topics, show = our_topics(broker), KillingTheClient(client=client)
    assert measure_study(spec, "", tmp_path / "study", show).finished
    assert show.killed
    eventually(lambda: not [process for process in show.killed if process.is_running()])
    trials = on_record(tmp_path / "study")
    assert {trial.state for trial in trials} == {State.COMPLETE}
    assert [(trial.kind, trial.attempts) for trial in trials] == [
        (TrialKind.BURN_IN, 1),
        (TrialKind.BASELINE, 1),
        (TrialKind.SEARCH, 2),
    ]
    assert our_topics(broker) == topics
    assert left_by_java() == []
