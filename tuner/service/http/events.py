"""A study's progress as server-sent events.

`status` when anything changed, `trial` for each trial with its sequence number as the event's id, so that a client that
lost the connection goes on where it was, and `end` when nothing more will come.
Source: HTML, section 9.2, "Server-sent events".
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from tuner.service.cache.query import ResultQuery
from tuner.service.cache.response_cache import ResponseCache
from tuner.service.queue.job import JobState

_POLL_S: Final = 0.5
_HEARTBEAT_S: Final = 10.0
_TRIALS_AT_ONCE: Final = 200
_LEFT_OUT: Final = frozenset({"course", "params"})
ENDED: Final = frozenset({JobState.COMPLETE, JobState.CANCELLED, JobState.FAILED, JobState.PAUSED})

View = Callable[[], Awaitable[dict[str, Any]]]
"""The study as the API shows it."""


async def events(
    study: str, view: View, answers: ResponseCache, stopping: asyncio.Event, after: int = 0
) -> AsyncIterator[str]:
    """The events of a study, until it ends or the service does.

    Args:
        study: Its name.
        view: Shows it as it is now.
        answers: Tells its trials.
        stopping: Set when the service ends.
        after: Sequence number of the last trial that the client has.
    """
    yield "retry: 2000\n\n"
    shown, silent_s = None, 0.0
    while True:
        now = await view()
        ended = now["state"] in ENDED or now["state"] == "recorded"
        told = False
        while True:
            page = json.loads((await answers.fresh(_trials(study, after))).body)
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
            await asyncio.wait_for(stopping.wait(), _POLL_S)
        except TimeoutError:
            continue
        return


def _trials(study: str, after: int) -> ResultQuery:
    return ResultQuery.of(study, "trials", after=after, limit=_TRIALS_AT_ONCE)


def _event(name: str, data: Any, number: int | None = None) -> str:
    """One event; JSON has no line feeds, so that its data is one line."""
    head = f"id: {number}\n" if number is not None else ""
    return f"{head}event: {name}\ndata: {json.dumps(data, ensure_ascii=True, separators=(',', ':'))}\n\n"
