"""The process that reads studies: nobody waits for ever for one that is lost or hangs."""

import multiprocessing
import os
import signal
from collections.abc import Iterator
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest

from tuner.service.cache.query import CachedResponse, ResultQuery
from tuner.service.cache.response_cache import ReadingProcess

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


def test_one_that_is_killed_is_replaced(reading: ReadingProcess) -> None:
    signalled(signal.SIGKILL)
    assert asked(reading).status == 404


def test_one_that_hangs_is_ended_and_replaced(reading: ReadingProcess) -> None:
    reading.longest_s = 0.05
    hanging = signalled(signal.SIGSTOP)
    refused = asked(reading)
    assert refused.status == 503
    assert b"nobody was not" in refused.body
    assert not hanging.is_alive()
    reading.longest_s = TIMEOUT_S
    assert asked(reading).status == 404


def test_ctrl_c_is_not_for_it(reading: ReadingProcess) -> None:
    interrupted = signalled(signal.SIGINT)
    assert asked(reading).status == 404
    assert multiprocessing.active_children() == [interrupted]


def test_after_the_end_questions_are_refused(reading: ReadingProcess) -> None:
    reading.close()
    assert asked(reading).status == 503
