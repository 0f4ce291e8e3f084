"""A reading process that crashes or hangs is replaced, and no client waits forever."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tuner.service.responses.query import QueryResponse, ResultQuery
from tuner.service.responses.reading_process import ReadingProcess

QUERY = ResultQuery.of("nobody", "summary")
TIMEOUT_S = 120.0


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[ReadingProcess]:
    found = ReadingProcess(tmp_path)
    yield found
    found.close()


@pytest.fixture
def child(reading: ReadingProcess) -> BaseProcess:
    """The process that `reading` has started. Tests before this one may have children that still run."""
    others = multiprocessing.active_children()
    assert asked(reading).status == 404
    (found,) = [each for each in multiprocessing.active_children() if each not in others]
    return found


def asked(reading: ReadingProcess) -> QueryResponse:
    return reading.ask(QUERY).result(TIMEOUT_S)[QUERY]


def send(number: signal.Signals, child: BaseProcess) -> None:
    assert child.pid is not None
    os.kill(child.pid, number)


@pytest.mark.campaign
def test_a_killed_process_is_replaced(reading: ReadingProcess, child: BaseProcess) -> None:
    send(signal.SIGKILL, child)
    assert asked(reading).status == 404


def test_a_hanging_process_is_killed_and_replaced(reading: ReadingProcess, child: BaseProcess) -> None:
    reading.longest_s = 0.05
    send(signal.SIGSTOP, child)
    refused = asked(reading)
    assert refused.status == 503
    assert b"reading the study nobody took longer than" in refused.body
    assert not child.is_alive()
    reading.longest_s = TIMEOUT_S
    assert asked(reading).status == 404


def test_the_process_ignores_ctrl_c(reading: ReadingProcess, child: BaseProcess) -> None:
    send(signal.SIGINT, child)
    assert asked(reading).status == 404
    assert child.is_alive()


def test_queries_are_refused_after_closing(reading: ReadingProcess) -> None:
    reading.close()
    assert asked(reading).status == 503
