"""A trial that sends much more than expected fails alone; only a limit of the study ends the study."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runners.errors import ByteBudgetExceeded
from runners.measurements.measurement import Measurement, Window
from runners.runner import Watch, budget_exceeded, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.shared_storage import storage_of
from tests.helpers.studies import Told, simulated_study
from tuner.execution.budgets.budget import Budget
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.model.facts import RESERVED_BYTES
from tuner.model.spec import StudySpec
from tuner.model.trial import State
from tuner.storage.protocols import ResultsStore


@dataclass
class SendsMuch:
    """A runner whose first run sends more than it may."""

    runs: int = 0

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate, except in the first run."""
        self.runs += 1
        if self.runs == 1:
            error = budget_exceeded(10**10, 10**10)
            error.sent_bytes = 10**10
            raise error
        return SimulatedRunner().run(config, workload, watch)


def test_a_trial_that_sends_much_more_than_expected_fails_and_the_study_continues(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    done = measure_study(spec, "", tmp_path, SilentReporter(), simulated=SendsMuch())
    assert done.finished
    first = done.sizes[0].trials[0]
    assert (first.state, first.sent_bytes) == (State.FAILED, 10**10)


def test_a_trial_that_exceeds_a_limit_of_the_study_ends_it(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    limited = replace(spec, safety=replace(spec.safety, max_bytes_per_trial=10**10))
    with pytest.raises(ByteBudgetExceeded):
        measure_study(limited, "", tmp_path, SilentReporter(), simulated=SendsMuch())


class EndsTheServer(Told):
    """A reporter that in the first window ends the storage's server, and raises what Ctrl-C raises."""

    def __init__(self, server: PostgresServer) -> None:
        super().__init__()
        self.server, self.has_ended = server, False

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        self.server.end()
        raise KeyboardInterrupt


class StopsTheWaiting(EndsTheServer):
    """A reporter that ends the server in the first window, and raises what Ctrl-C raises when the storing waits."""

    def window(self, progress: SizeProgress, phase: str, window: Window) -> None:
        if not self.has_ended:
            self.has_ended = True
            self.server.end()

    def say(self, sentence: str) -> None:
        super().say(sentence)
        if "retrying" in sentence:
            raise KeyboardInterrupt


@contextmanager
def interrupted(told: EndsTheServer, spec: StudySpec, database: str, folder: Path) -> Iterator[ResultsStore]:
    """Run a study until the reporter interrupts it, start the server again, and open what was stored."""
    storage = storage_of(database, patience_s=90.0)
    try:
        with pytest.raises(KeyboardInterrupt):
            measure_study(spec, "", folder, told, storage=storage)
    finally:
        told.server.start()
    with closing(storage.read(folder)) as store:
        yield store


def test_ctrl_c_during_an_outage_of_the_storage_ends_soon_and_keeps_the_reservation(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    told = EndsTheServer(postgres)
    with interrupted(told, spec, database, tmp_path / "night") as store:
        stored = store.facts()[RESERVED_BYTES]
    assert not any("for up to 90 s" in sentence for sentence in told.sentences), "it waits a few seconds only"
    assert any("count against search.max_bytes: the storage at" in sentence for sentence in told.sentences)
    assert stored == {"running": {"1000/0000": 10 * 10**9}, "interrupted": 0}
    assert Budget(spec.search, (), reserved=stored).left_bytes() == 30 * 10**9


@pytest.mark.campaign
def test_ctrl_c_while_a_trial_waits_for_the_storage_says_that_the_trial_is_not_stored(
    postgres: PostgresServer, database: str, tmp_path: Path
) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    told = StopsTheWaiting(postgres)
    with interrupted(told, spec, database, tmp_path / "night") as store:
        assert store.trials() == []
        assert store.facts()[RESERVED_BYTES]["running"] == {"1000/0000": 10 * 10**9}
    assert "trial 0 of 1000 B was measured, but could not be stored" in told.sentences[-1]
