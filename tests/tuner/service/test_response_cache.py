"""Clients that follow or poll the same study share what is read, and names of studies that don't exist are not kept."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from tests.helpers.stored_studies import write_study
from tuner.service.config import load_config
from tuner.service.http.event_streams import EventStreams
from tuner.service.http.studies import Studies
from tuner.service.queue.job import Submission
from tuner.service.queue.job_queue import open_queue
from tuner.service.response_cache import ResponseCache
from tuner.service.responses.query import ResultQuery
from tuner.service.responses.reading_process import ReadingProcess
from tuner.service.worker.supervisor import Supervisor

FOLLOWERS = 50


def queries(reading: ReadingProcess) -> int:
    assert reading._child is not None
    return reading._child.asked


async def begun(stream: AsyncIterator[str]) -> str:
    """Return all events up to the first `status`."""
    events = ""
    while "event: status" not in events:
        events += await anext(stream)
    return events


def test_all_followers_of_a_study_share_one_reading(tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")

    async def run() -> None:
        answers = ResponseCache(tmp_path)
        try:
            studies = Studies(config, queue, answers, Supervisor(config, queue, None, print))
            streams = EventStreams(studies, asyncio.Event())
            following = [streams.follow("overnight") for _ in range(FOLLOWERS)]
            events = await asyncio.gather(*map(begun, following))
            assert len(set(events)) == 1
            assert "event: trial" in events[0]
            assert streams.open == FOLLOWERS
            later = [asyncio.ensure_future(anext(stream)) for stream in following]
            await asyncio.sleep(1.5)  # three times the time between two readings
            assert queries(answers._quick) < FOLLOWERS
            for each in later:
                each.cancel()
            await asyncio.gather(*later, return_exceptions=True)
            await asyncio.gather(*(stream.aclose() for stream in following))
            assert streams.open == 0
        finally:
            answers.close()

    config = replace(load_config(None), root=tmp_path)
    with closing(open_queue(tmp_path)) as queue:
        queue.submit(Submission("overnight", "digest", "text", ("embedded",)))
        asyncio.run(run())


def test_names_that_are_no_studies_are_not_kept(tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")

    async def run() -> None:
        answers = ResponseCache(tmp_path, shared=True)
        try:
            names = [f"nobody-{number}" for number in range(20)] + ["overnight"] * 20
            found = await asyncio.gather(*(answers.get(ResultQuery.of(name, "summary")) for name in names))
            assert [each.status for each in found] == [404] * 20 + [200] * 20
            assert [*answers._stamps._kept] == ["overnight"]
            assert queries(answers._quick) == 1 + 2 * 20 + 2  # the first one starts the process
        finally:
            answers.close()

    asyncio.run(run())
