"""The child process ends when its work or its owner ends, and its errors arrive as they were raised."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from runners.errors import BrokerLost, DiskTooFull, GeneratorError
from runners.load.isolated import Isolated, end_reused_processes
from runners.measurements.measurement import Window
from runners.runner import Runner, WatchDecision
from runners.simulated import SimulatedRunner
from search_spaces.errors import InvalidValue, RuleBroken
from tests.helpers.children import (
    CONFIG,
    WORKLOAD,
    DetailedError,
    Endless,
    Failing,
    Prepared,
    Stuck,
    child_of,
    running_owner,
)
from tests.helpers.waiting import eventually


def kill(_: Window) -> WatchDecision:
    os.kill(child_of(psutil.Process()).pid, signal.SIGKILL)
    return WatchDecision.GO_ON


@pytest.mark.parametrize("runner", [Endless(), Stuck()])
def test_a_child_that_is_killed_gives_its_exit_code(runner: Runner) -> None:
    with pytest.raises(GeneratorError, match=r"load process ended without a result, with exit code -9"):
        Isolated(runner).run(CONFIG, WORKLOAD, kill)


def test_a_child_ends_when_its_owner_is_killed() -> None:
    with running_owner() as (owner, child):
        owner.kill()
        eventually(lambda: not child.is_running() or child.status() == psutil.STATUS_ZOMBIE)


def test_a_child_that_hangs_is_ended_when_the_watcher_gives_up() -> None:
    children: list[psutil.Process] = []

    def watch(_: Window) -> WatchDecision:
        children.append(child_of(psutil.Process()))
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Isolated(Stuck()).run(CONFIG, WORKLOAD, watch)
    assert not children[0].is_running()


@pytest.mark.parametrize(
    "error",
    [
        BrokerLost("no deliveries came for 3 s"),
        DiskTooFull("the disk must keep 1 GB free"),
        DetailedError("a < b", 5),
        RuleBroken("some-rule", "values go together", "a=1, b=2"),
        InvalidValue("linger.ms", "a number", "abc"),
    ],
)
def test_an_error_arrives_as_it_was_raised(error: Exception) -> None:
    with pytest.raises(type(error)) as caught:
        Isolated(Failing(error)).run(CONFIG, WORKLOAD)
    assert str(caught.value) == str(error)
    assert vars(caught.value) == vars(error)


@pytest.mark.parametrize("error", [ValueError("a defect"), KeyError("a defect"), AssertionError("a defect")])
def test_a_defect_of_the_runner_becomes_a_generator_error(error: Exception) -> None:
    with pytest.raises(GeneratorError, match=f"{type(error).__name__}.*a defect"):
        Isolated(Failing(error)).run(CONFIG, WORKLOAD)


def test_an_isolated_runner_gives_the_same_measurement() -> None:
    alone, isolated = SimulatedRunner().run(CONFIG, WORKLOAD), Isolated(SimulatedRunner()).run(CONFIG, WORKLOAD)
    assert (isolated.records, isolated.latency, isolated.counts) == (alone.records, alone.latency, alone.counts)


@pytest.fixture
def none_kept() -> Iterator[None]:
    end_reused_processes()
    yield
    end_reused_processes()


@pytest.mark.usefixtures("none_kept")
class TestKept:
    def test_the_same_child_serves_run_after_run(self) -> None:
        assert len({self._served(Isolated(SimulatedRunner(), reuses_process=True)) for _ in range(3)}) == 1

    def test_a_child_that_died_while_it_waited_is_replaced(self) -> None:
        before = self._served(Isolated(SimulatedRunner(), reuses_process=True))
        os.kill(before, signal.SIGKILL)
        eventually(lambda: not psutil.pid_exists(before) or _is_zombie(before))
        assert self._served(Isolated(SimulatedRunner(), reuses_process=True)) != before

    def test_a_kept_child_that_is_killed_in_a_run_gives_its_exit_code(self) -> None:
        with pytest.raises(GeneratorError, match="load process ended without a result"):
            Isolated(Endless(), reuses_process=True).run(CONFIG, WORKLOAD, kill)

    def test_a_child_is_not_kept_after_a_run_without_measurement(self) -> None:
        before = self._served(Isolated(SimulatedRunner(), reuses_process=True))
        with pytest.raises(BrokerLost):
            Isolated(Failing(BrokerLost("gone")), reuses_process=True).run(CONFIG, WORKLOAD)
        assert not psutil.pid_exists(before)

    def test_the_child_that_was_prepared_serves_the_next_run(self, tmp_path: Path) -> None:
        runner = Isolated(Prepared(tmp_path, "only", "only"), reuses_process=True)
        runner.prepare(CONFIG, WORKLOAD)
        assert runner.run(CONFIG, WORKLOAD).records

    def test_a_child_is_not_kept_after_a_failed_preparation(self) -> None:
        before = self._served(Isolated(SimulatedRunner(), reuses_process=True))
        with pytest.raises(BrokerLost):
            Isolated(Failing(BrokerLost("gone")), reuses_process=True).prepare(CONFIG, WORKLOAD)
        assert not psutil.pid_exists(before)

    def test_waiting_children_can_be_ended(self) -> None:
        before = self._served(Isolated(SimulatedRunner(), reuses_process=True))
        end_reused_processes()
        assert not psutil.pid_exists(before)

    @staticmethod
    def _served(runner: Runner) -> int:
        """Run, and return the id of the process that ran."""
        seen: list[int] = []

        def watch(_: Window) -> WatchDecision:
            seen.append(child_of(psutil.Process()).pid)
            return WatchDecision.GO_ON

        runner.run(CONFIG, WORKLOAD, watch)
        return seen[0]


def _is_zombie(pid: int) -> bool:
    return psutil.Process(pid).status() == psutil.STATUS_ZOMBIE
