"""A driver that can't reach the database stops measuring when its lease would end, by a clock of its own."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from runners.measurements.measurement import Window
from runners.pools.local_pool import LocalPool
from runners.workload import RecordSizes, Workload
from tests.helpers.cutting_proxy import CuttingProxy
from tests.helpers.postgres_server import PostgresServer
from tests.helpers.shared_storage import SHORT_LEASE_S, opened
from tests.helpers.studies import BASELINE, Steady
from tuner.execution.trial_keeper import utc_now
from tuner.execution.trials.bench import Bench
from tuner.execution.trials.early_end import ToTheEnd
from tuner.execution.trials.trial_job import StartedTrial, TrialJob
from tuner.execution.trials.trial_target import SimulatedTarget
from tuner.model.errors import StudyTakenOver
from tuner.model.trial import SATURATED, Proposal, TrialKind
from tuner.storage.protocols import ResultsStore
from tuner.storage.sqlite import SqliteStore

pytestmark = pytest.mark.campaign
WINDOWS = 80


class Trying:
    """Measures one long trial of a driver whose way to the database leads through a proxy."""

    def __init__(self, store: ResultsStore, proxy: CuttingProxy) -> None:
        self.seen: list[int] = []
        self._proxy = proxy
        self._pool = LocalPool()
        self.bench = Bench([SimulatedTarget(Steady(0.1))], self._pool, store.lost_leases, store.await_lease)
        workload = Workload(RecordSizes.fixed(1000), warmup_s=1.0, measured_s=WINDOWS - 1)
        started = StartedTrial(RecordSizes.fixed(1000), 0, TrialKind.BASELINE, Proposal(BASELINE), utc_now(), 0.0)
        self.bench.submit(TrialJob(started, ((SATURATED, workload),), 10**9, 0, self._on_window, ToTheEnd()))

    def close(self) -> None:
        self.bench.close()
        self._pool.close()

    def _on_window(self, phase: str, window: Window) -> None:
        self.seen.append(window.number)
        if self.seen == [0, 1, 2]:
            self._proxy.silent.set()


@pytest.fixture
def proxy(postgres: PostgresServer) -> Iterator[CuttingProxy]:
    with CuttingProxy(postgres.port) as proxy:
        yield proxy


@pytest.fixture
def cut_off(proxy: CuttingProxy, postgres: PostgresServer, database: str, tmp_path: Path) -> Iterator[ResultsStore]:
    url = database.replace(f":{postgres.port}/", f":{proxy.port}/")
    with opened(url, tmp_path / "night", lease_s=SHORT_LEASE_S, patience_s=60.0) as stores:
        yield stores.drive()


def test_a_driver_that_is_cut_off_measures_nothing_beside_the_next_one(
    cut_off: ResultsStore, proxy: CuttingProxy, database: str, tmp_path: Path
) -> None:
    with ExitStack() as stack:
        trying, seen_when_replaced = stack.enter_context(closing(Trying(cut_off, proxy))), list[int]()

        def replace() -> None:
            assert proxy.silent.wait(60)
            stack.enter_context(opened(database, tmp_path / "night", lease_s=SHORT_LEASE_S)).drive()
            seen_when_replaced.append(len(trying.seen))
            proxy.silent.clear()

        other = threading.Thread(target=replace)
        other.start()
        with pytest.raises(StudyTakenOver):
            trying.bench.next_done()
        other.join(60)
    assert seen_when_replaced == [len(trying.seen)]
    assert len(trying.seen) < WINDOWS


@pytest.mark.long
def test_a_trial_that_spans_the_end_of_a_lease_is_measured_again(cut_off: ResultsStore, proxy: CuttingProxy) -> None:
    def back_again() -> None:
        assert proxy.silent.wait(60)
        while cut_off.lost_leases() is not None:
            time.sleep(0.02)
        proxy.silent.clear()

    with closing(Trying(cut_off, proxy)) as trying:
        other = threading.Thread(target=back_again)
        other.start()
        done = trying.bench.next_done()
        other.join(60)
    assert trying.seen.count(0) > 1, "the trial must begin again"
    assert len(trying.seen) > WINDOWS
    assert not done.measurements[SATURATED].stopped_early
    assert done.stops == {}


def test_a_folder_has_no_lease_that_could_end(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path)
    store.await_lease()
    assert store.lost_leases() == 0
    store.close()
