"""A study's progress as server-sent events.

`status` when anything changed, `trial` for each trial with its sequence number as the event's id, so that a client that
lost the connection goes on where it was, and `end` when nothing more will come.
Source: HTML, section 9.2, "Server-sent events".
"""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, Final

from tuner.service.cache.query import ResultQuery
from tuner.service.http.studies import RECORDED, Studies
from tuner.service.queue.job import JobState

_POLL_S: Final = 0.5
_HEARTBEAT_S: Final = 10.0
_TRIALS_AT_ONCE: Final = 200
_LEFT_OUT: Final = frozenset({"course", "params"})
ENDED: Final = frozenset({JobState.COMPLETE, JobState.CANCELLED, JobState.FAILED, JobState.PAUSED, RECORDED})


class EventStreams:
    """Follows studies for its clients.

    Args:
        studies: Shows them.
        stopping: Set when the service ends.

    Attributes:
        open: Streams that are open.
    """

    def __init__(self, studies: Studies, stopping: asyncio.Event) -> None:
        self._studies = studies
        self._stopping = stopping
        self.open = 0

    async def follow(self, study: str, after: int = 0) -> AsyncIterator[str]:
        """The events of a study, until it ends or the service does.

        Args:
            study: Its name.
            after: Sequence number of the last trial that the client has.
        """
        self.open += 1
        try:
            async for event in self._events(study, after):
                yield event
        finally:
            self.open -= 1

    async def _events(self, study: str, after: int) -> AsyncIterator[str]:
        yield "retry: 2000\n\n"
        shown, silent_s = None, 0.0
        while True:
            now = await self._studies.show(study)
            ended = now["state"] in ENDED
            told = False
            while True:
                page = json.loads((await self._studies.answers.fresh(_trials(study, after))).body)
                for trial in page.get("trials", ()):
                    after = trial["sequence"]
                    yield _event("trial", {k: v for k, v in trial.items() if k not in _LEFT_OUT}, after)
                    told = True
                if not page.get("next_after"):
                    break
            if now != shown:
                yield _event("status", now)
                shown, told = now, True
            if ended:
                yield _event("end", {"state": now["state"]})
                return
            silent_s = 0.0 if told else silent_s + _POLL_S
            if silent_s >= _HEARTBEAT_S:
                yield ": still here\n\n"
                silent_s = 0.0
            try:
                await asyncio.wait_for(self._stopping.wait(), _POLL_S)
            except TimeoutError:
                continue
            return


def _trials(study: str, after: int) -> ResultQuery:
    return ResultQuery.of(study, "trials", after=after, limit=_TRIALS_AT_ONCE)


def _event(name: str, data: Any, number: int | None = None) -> str:
    """One event; JSON has no line feeds, so that its data is one line."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}\n\n"
