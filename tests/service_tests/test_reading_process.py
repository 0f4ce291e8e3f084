"""A reading process that crashes or hangs is replaced, and no client waits forever."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tuner.service.cache.query import CachedResponse, ResultQuery
from tuner.service.cache.reading_process import ReadingProcess

QUERY = ResultQuery.of("nobody", "summary")
TIMEOUT_S = 120.0


@pytest.fixture
def reading(tmp_path: Path) -> Iterator[ReadingProcess]:
    found = ReadingProcess(tmp_path)
    assert asked(found).status == 404
    yield found
    found.close()


def asked(reading: ReadingProcess) -> CachedResponse:
    return reading.ask(QUERY).result(TIMEOUT_S)[QUERY]


def signalled(number: signal.Signals) -> BaseProcess:
    (child,) = multiprocessing.active_children()
    assert child.pid is not None
    os.kill(child.pid, number)
    return child


@pytest.mark.campaign
def test_a_killed_process_is_replaced(reading: ReadingProcess) -> None:
    signalled(signal.SIGKILL)
    assert asked(reading).status == 404


def test_a_hanging_process_is_killed_and_replaced(reading: ReadingProcess) -> None:
    reading.longest_s = 0.05
    hanging = signalled(signal.SIGSTOP)
    refused = asked(reading)
    assert refused.status == 503
    assert b"nobody was not" in refused.body
    assert not hanging.is_alive()
    reading.longest_s = TIMEOUT_S
    assert asked(reading).status == 404


def test_the_process_ignores_ctrl_c(reading: ReadingProcess) -> None:
    interrupted = signalled(signal.SIGINT)
    assert asked(reading).status == 404
    assert multiprocessing.active_children() == [interrupted]


def test_queries_are_refused_after_closing(reading: ReadingProcess) -> None:
    reading.close()
    assert asked(reading).status == 503
