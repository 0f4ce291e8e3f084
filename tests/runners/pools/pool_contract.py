"""The contract of every `Pool`, as a class of tests that the tests of each implementation inherit."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import ClassVar

import psutil
import pytest

from runners.errors import BrokerLost, GeneratorError, WorkerLost
from runners.load.isolated import Isolated
from runners.measurements.measurement import Measurement, Window
from runners.pools.pool import FinishedJob, Job, Pool
from runners.pools.producers import share_of_producer
from runners.runner import Runner, WatchDecision
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.errors import RuleBroken
from tests.helpers.children import DetailedError, Failing, Prepared, Stuck
from tests.helpers.waiting import eventually
from tests.runners.pools.pool_runners import CONFIG, ENDLESS, WORKLOAD, Dying, Meeting, Slow

PATIENCE_S = 15.0
"""Longer than a worker takes to start on a busy host."""


def job(*runners: Runner, workload: Workload = WORKLOAD, key: str = "a key") -> Job:
    return Job(key, runners, CONFIG, workload)


def stop(_: Window) -> WatchDecision:
    return WatchDecision.STOP


def measured(done: FinishedJob | None) -> Measurement:
    assert done is not None
    assert isinstance(done.outcome, Measurement), done.outcome
    return done.outcome


def workers() -> list[int]:
    """Return the load processes and the processes of Ray, but not the broker that other tests share."""
    return [child.pid for child in psutil.Process().children(recursive=True) if _is_ours(child)]


def _is_ours(child: psutil.Process) -> bool:
    try:
        command = " ".join(child.cmdline())
        # The broker's keeper is started by its path, which may contain any word.
        return any(word in command for word in ("spawn_main", "ray")) and "keeper.py" not in command
    except psutil.Error:  # the process has ended
        return False


class PoolContract:
    """The contract tests. A subclass names its implementation in `covers`.

    Its pools have two slots for two producers each.
    """

    covers: ClassVar[type]

    @pytest.fixture
    def pool(self) -> Pool:
        """A pool that tests may share. Each test leaves it idle."""
        raise NotImplementedError

    @pytest.fixture
    def own_pool(self) -> Callable[[], Pool]:
        """Returns an idle pool that the test may close."""
        raise NotImplementedError

    def mortal(self, runner: Runner) -> Runner:
        """Return the runner, wrapped if necessary, so that it runs in a worker's process and not in the test's.

        A worker that gives no sign for `PATIENCE_S` is lost.
        """
        raise NotImplementedError

    def test_a_job_comes_back_with_its_measurement(self, pool: Pool) -> None:
        asked = job(SimulatedRunner())
        pool.submit(asked)
        done = pool.next_done()
        assert done is not None
        assert (done.job.key, done.job.workload, done.attempts) == ("a key", WORKLOAD, 1)
        alone = SimulatedRunner().run(CONFIG, WORKLOAD)
        seen = measured(done)
        assert (seen.records, seen.latency, seen.series) == (alone.records, alone.latency, alone.series)
        assert int(done.worker.rpartition("/")[2]) > 0
        assert pool.next_done() is None

    def test_windows_are_shown_in_order_in_the_waiting_thread(self, pool: Pool) -> None:
        windows: list[Window] = []
        threads: set[int] = set()

        def watch(window: Window) -> WatchDecision:
            windows.append(window)
            threads.add(threading.get_ident())
            return WatchDecision.GO_ON

        pool.submit(job(SimulatedRunner()), watch)
        seen = measured(pool.next_done())
        assert [window.number for window in windows] == [0, 1, 2]
        assert [window.records_per_s for window in windows] == [point.records_per_s for point in seen.series]
        assert threads == {threading.get_ident()}

    def test_a_stop_ends_the_run_and_no_more_windows_are_shown(self, pool: Pool) -> None:
        windows: list[Window] = []

        def watch(window: Window) -> WatchDecision:
            windows.append(window)
            return WatchDecision.STOP if window.number == 2 else WatchDecision.GO_ON

        pool.submit(job(Slow(), workload=ENDLESS), watch)
        assert measured(pool.next_done()).stopped_early
        assert [window.number for window in windows] == [0, 1, 2]

    def test_a_stop_ends_only_one_job(self, pool: Pool) -> None:
        for _ in range(2):
            pool.submit(job(Slow(), workload=ENDLESS), stop)
            assert measured(pool.next_done()).stopped_early
            pool.submit(job(SimulatedRunner()))
            assert not measured(pool.next_done()).stopped_early

    @pytest.mark.parametrize(
        "error",
        [
            BrokerLost("no deliveries came for 3 s"),
            DetailedError("a < b", 5),
            RuleBroken("some-rule", "values go together", "a=1, b=2"),
        ],
    )
    def test_an_error_comes_back_unchanged(self, pool: Pool, error: Exception) -> None:
        pool.submit(job(Failing(error)))
        done = pool.next_done()
        assert done is not None
        assert type(done.outcome) is type(error)
        assert (str(done.outcome), vars(done.outcome)) == (str(error), vars(error))
        assert done.attempts == 1

    def test_a_defect_becomes_a_generator_error_that_names_it(self, pool: Pool) -> None:
        pool.submit(job(Failing(KeyError("a defect"))))
        done = pool.next_done()
        assert done is not None
        assert isinstance(done.outcome, GeneratorError)
        assert "KeyError: 'a defect'" in str(done.outcome)

    def test_as_many_jobs_as_slots_run_at_once(self, pool: Pool, tmp_path: Path) -> None:
        assert pool.capacity == 2
        pool.submit(job(Meeting(tmp_path, "a", "b"), key="a"))
        pool.submit(job(Meeting(tmp_path, "b", "a"), key="b"))
        done = [pool.next_done(), pool.next_done()]
        assert {each.job.key for each in done if each} == {"a", "b"}
        assert all(measured(each).records for each in done)

    def test_a_job_is_refused_without_a_free_slot(self, pool: Pool) -> None:
        for key in ("a", "b"):
            pool.submit(job(Slow(), workload=ENDLESS, key=key), stop)
        with pytest.raises(ValueError, match="at most 2 jobs may run at the same time"):
            pool.submit(job(SimulatedRunner()))
        done = [pool.next_done(), pool.next_done()]
        assert {each.job.key for each in done if each} == {"a", "b"}

    def test_producers_share_the_load_and_give_one_measurement(self, pool: Pool) -> None:
        windows: list[Window] = []

        def watch(window: Window) -> WatchDecision:
            windows.append(window)
            return WatchDecision.GO_ON

        pool.submit(job(SimulatedRunner(), SimulatedRunner()), watch)
        seen = measured(pool.next_done())
        parts = [SimulatedRunner().run(CONFIG, share_of_producer(WORKLOAD, 2, producer)) for producer in range(2)]
        assert seen.workload == WORKLOAD
        assert seen.records == sum(part.records for part in parts) == 2_000
        assert seen.latency.count == sum(part.latency.count for part in parts)
        assert [(window.number, window.records) for window in windows] == [(0, 1_000), (1, 1_000), (2, 1_000)]

    def test_producers_run_at_the_same_time(self, pool: Pool, tmp_path: Path) -> None:
        pool.submit(job(Meeting(tmp_path, "a", "b"), Meeting(tmp_path, "b", "a")))
        assert measured(pool.next_done()).records

    def test_all_producers_are_prepared_before_one_starts(self, pool: Pool, tmp_path: Path) -> None:
        """New Java processes take seconds, and not the same time on each node; a lost node makes them necessary."""
        runners = (Prepared(tmp_path, "a", "b", takes_s=0.5), Prepared(tmp_path, "b", "a"))
        pool.submit(job(*(Isolated(each, reuses_process=True) for each in runners)))
        done = pool.next_done()
        assert measured(done).records
        assert done is not None
        assert done.attempts == 1

    def test_a_producer_that_fails_ends_the_others(self, pool: Pool) -> None:
        pool.submit(job(Slow(), Failing(BrokerLost("gone")), workload=ENDLESS))
        done = pool.next_done()
        assert done is not None
        assert isinstance(done.outcome, BrokerLost)

    def test_a_worker_that_dies_is_replaced_and_its_job_repeated(
        self, pool: Pool, tmp_path: Path, capfd: pytest.CaptureFixture[str]
    ) -> None:
        numbers: list[int] = []

        def watch(window: Window) -> WatchDecision:
            numbers.append(window.number)
            return WatchDecision.GO_ON

        pool.submit(job(self.mortal(Dying(tmp_path, 1))), watch)
        done = pool.next_done()
        assert measured(done).records == 2_000
        assert done is not None
        assert done.attempts == 2
        assert numbers[-3:] == [0, 1, 2]
        assert capfd.readouterr() == ("", "")

    def test_a_worker_that_dies_again_is_lost(self, pool: Pool, tmp_path: Path) -> None:
        pool.submit(job(self.mortal(Dying(tmp_path, 2))))
        done = pool.next_done()
        assert done is not None
        assert isinstance(done.outcome, WorkerLost)
        assert "there were 2 attempts" in str(done.outcome)
        assert done.attempts == 2
        pool.submit(job(SimulatedRunner()))
        assert measured(pool.next_done()).records

    @pytest.mark.long
    def test_a_worker_that_stands_still_is_replaced(self, pool: Pool, tmp_path: Path) -> None:
        pool.submit(job(self.mortal(Dying(tmp_path, 1, signal.SIGSTOP))))
        done = pool.next_done()
        assert measured(done).records == 2_000
        assert done is not None
        assert done.attempts == 2

    def test_an_error_of_the_watch_stops_the_job(self, pool: Pool) -> None:
        class Enough(Exception):
            pass

        def watch(_: Window) -> WatchDecision:
            raise Enough

        pool.submit(job(Slow(), workload=ENDLESS), watch)
        with pytest.raises(Enough):
            pool.next_done()
        assert measured(pool.next_done()).stopped_early

    def test_a_pool_closes_with_all_its_processes_after_an_interrupt(self, own_pool: Callable[[], Pool]) -> None:
        waiting = threading.Event()

        def watch(_: Window) -> WatchDecision:
            waiting.set()
            return WatchDecision.GO_ON

        def interrupt() -> None:
            waiting.wait()
            os.kill(os.getpid(), signal.SIGINT)

        thread = threading.Thread(target=interrupt)
        with closing(own_pool()) as pool:
            pool.submit(job(Isolated(Stuck())), watch)
            pool.submit(job(Isolated(Slow()), workload=ENDLESS))
            thread.start()
            with pytest.raises(KeyboardInterrupt):
                pool.next_done()
            assert workers()
        thread.join()
        pool.close()
        eventually(lambda: not workers())
