"""Streams of server-sent events that report the progress of studies to clients of the service."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import suppress
from typing import Any, Final

from tuner.service.http.studies import Studies
from tuner.service.queue.job import AT_WORK
from tuner.service.response_cache import BriefCache
from tuner.service.responses.query import ResultQuery

_POLL_S: Final = 0.5
_HEARTBEAT_S: Final = 10.0
_TRIALS_AT_ONCE: Final = 200
_LEFT_OUT: Final = frozenset({"course", "params"})


class EventStreams:
    """Streams of server-sent events that report the progress of studies.

    A stream sends `status` when the study's state or progress has changed, `trial` for each trial, and `end` when the
    study has ended. The id of a `trial` event is the trial's sequence number. A client that lost its connection sends
    the last id that it received, and gets all later events.
    Source: HTML, section 9.2, "Server-sent events".

    All streams of one study share the readings: the study's state is read every 0.5 s, however many clients follow it.

    Args:
        studies: The studies of the service.
        stopping: An event that is set when the service stops.

    Attributes:
        open: The number of open streams.
    """

    def __init__(self, studies: Studies, stopping: asyncio.Event) -> None:
        self._studies = studies
        self._stopping = stopping
        self._shown = BriefCache(studies.show, _POLL_S)
        self.open = 0

    async def follow(self, study: str, after: int = 0) -> AsyncGenerator[str, None]:
        """Yield the events of a study until the study ends or the service stops.

        Args:
            study: The study's name.
            after: The sequence number of the last trial that the client has seen.
        """
        self.open += 1
        try:
            yield "retry: 2000\n\n"
            shown, silent_s = None, 0.0
            while True:
                now = await self._shown.of(study)
                ended = now["state"] not in AT_WORK
                read = self._studies.responses.fresh if ended else self._studies.responses.get
                sent = False
                while True:
                    query = ResultQuery.of(study, "trials", after=after, limit=_TRIALS_AT_ONCE)
                    page = json.loads((await read(query)).body)
                    for trial in page.get("trials", ()):
                        after = trial["sequence"]
                        yield _event("trial", {k: v for k, v in trial.items() if k not in _LEFT_OUT}, after)
                        sent = True
                    if not page.get("next_after"):
                        break
                if now != shown:
                    yield _event("status", now)
                    shown, sent = now, True
                if ended:
                    yield _event("end", {"state": now["state"]})
                    return
                silent_s = 0.0 if sent else silent_s + _POLL_S
                if silent_s >= _HEARTBEAT_S:
                    yield ": still here\n\n"
                    silent_s = 0.0
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._stopping.wait(), _POLL_S)
                    return
        finally:
            self.open -= 1


def _event(name: str, data: Any, number: int | None = None) -> str:
    """Return the text of one server-sent event. The data are written as JSON in a single line."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}\n\n"
