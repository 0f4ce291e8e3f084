"""The short way for pollers: a question that was understood once is not read again.

The framework takes most of a millisecond to find the route, read the query and check it; hundreds of pollers ask the
same few questions all day.
"""

from collections import OrderedDict
from typing import Final

from tuner.service.cache.answer import Answer, Ask
from tuner.service.cache.answers import Answers
from tuner.service.http.gate import App, Receive, Scope, Send, send_answer

PATH: Final = "/v1/recommendation"
POLLED: Final = "private, no-cache"
"""`Cache-Control` of answers that are polled for: kept by nobody without asking whether they are still the same."""
_MOST: Final = 5_000
_LONGEST_BYTES: Final = 600


class _Route:
    path = PATH


class Shortcut:
    """Answers questions that are known; all else goes on to the application.

    Args:
        app: Whose route for recommendations tells what it understood.
        answers: Where answers come from.
    """

    def __init__(self, app: App, answers: Answers) -> None:
        self._app = app
        self._answers = answers
        self._asks: OrderedDict[bytes, Ask] = OrderedDict()

    def learn(self, query: bytes, ask: Ask) -> None:
        """Remember what a query asks.

        Args:
            query: As it came.
            ask: What it was found to ask.
        """
        if len(query) <= _LONGEST_BYTES:
            self._asks[query] = ask
            if len(self._asks) > _MOST:
                self._asks.popitem(last=False)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        ask = None
        if scope["type"] == "http" and scope["path"] == PATH and scope["method"] == "GET":
            ask = self._asks.get(scope["query_string"])
        if ask is None:
            await self._app(scope, receive, send)
            return
        scope["route"] = _Route
        answer = await self._answers.get(ask)
        if answer.status != 200:
            await send_answer(send, answer)
            return
        known = next((value for name, value in scope["headers"] if name == b"if-none-match"), b"")
        if known and matches(known.decode("latin-1"), answer.etag):
            headers = [(b"etag", answer.etag.encode()), (b"cache-control", POLLED.encode())]
            await send({"type": "http.response.start", "status": 304, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        await send_answer(send, answer, polled_headers(answer))


def polled_headers(answer: Answer) -> dict[str, str]:
    """Headers of an answer that is polled for."""
    return {"etag": answer.etag, "cache-control": POLLED}


def matches(header: str, etag: str) -> bool:
    """Whether `If-None-Match` names this validator. Source: RFC 9110, section 13.1.2: weakly compared."""
    named = [each.strip().removeprefix("W/") for each in header.split(",")]
    return "*" in named or etag in named
