"""A connection is closed when the head of a request does not arrive in time, and only then."""

import asyncio

import uvicorn
from starlette.responses import PlainTextResponse
from uvicorn.server import ServerState

from tuner.service.http.limited_server import TimeLimitedProtocol

REQUEST = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


class Impatient(TimeLimitedProtocol):
    """The time limit is long until the last piece is sent, so that no stall reaches it before."""


async def told(*requests: bytes) -> list[bytes]:
    """Send each piece and return what comes back: up to the end of a response, or of the connection."""
    Impatient.head_s = 0.1 if len(requests) == 1 else 3600.0
    config = uvicorn.Config(PlainTextResponse("here"), lifespan="off", log_config=None)
    config.load()
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: Impatient(config, ServerState(), {}), "127.0.0.1", 0)
    async with server:
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        answers = []
        for number, request in enumerate(requests, 1):
            if number == len(requests):
                Impatient.head_s = 0.1
            writer.write(request)
            try:
                answers.append(await reader.readuntil(b"here"))
            except asyncio.IncompleteReadError as ended:
                answers.append(ended.partial)
        writer.close()
        return answers


def test_an_incomplete_head_closes_the_connection() -> None:
    assert asyncio.run(told(REQUEST[:-2])) == [b""]


def test_a_silent_client_is_disconnected() -> None:
    assert asyncio.run(told(b"")) == [b""]


def test_the_time_limit_starts_again_with_each_request() -> None:
    first, second, third = asyncio.run(told(REQUEST, REQUEST, REQUEST[:-2]))
    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")
    assert third == b""
