"""Connections have slots: unaccepted clients cannot take them all, and accepted clients keep theirs."""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.types import Receive, Scope, Send

from tests.helpers.serving import serving
from tuner.service.config import load_config
from tuner.service.http.connections import SLOT, Connections
from tuner.service.http.limited_server import Server, TimeLimitedProtocol, listen_at

MOST = 10
HEAD = b"GET /%s HTTP/1.1\r\nHost: localhost\r\n\r\n"
LARGE = 20_000_000
Client = tuple[asyncio.StreamReader, asyncio.StreamWriter]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    """Accept the clients that ask for `/accepted`, and answer everybody; `/large` is a response of many bytes."""
    if scope["type"] == "lifespan":
        for word in ("startup", "shutdown"):
            await receive()
            await send({"type": f"lifespan.{word}.complete"})
        return
    accepted = scope["path"] == "/accepted" and scope["state"][SLOT].accept()
    body = b"accepted" if accepted else b"x" * LARGE if scope["path"] == "/large" else b"unaccepted"
    length = str(len(body)).encode()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", length)]})
    await send({"type": "http.response.body", "body": body})


def served(
    check: Callable[[Callable[[], Awaitable[Client]], Connections], Awaitable[None]], *, grace_s: float = 0.1
) -> None:
    """Start a server that accepts ten connections at a time, and run a check on it. The check may use all ten."""

    async def run() -> None:
        config, stopping = load_config(None), asyncio.Event()
        connections = Connections(MOST, grace_s)
        server = Server(config, lambda: app, stopping, connections)
        listening = listen_at("127.0.0.1", 0)
        serving = asyncio.create_task(server.serve([listening]))
        clients: list[asyncio.StreamWriter] = []

        async def connect() -> Client:
            client = await asyncio.open_connection(*listening.getsockname())
            clients.append(client[1])
            return client

        try:
            await check(connect, connections)
        finally:
            for client in clients:
                client.close()
            server.should_exit = True
            await serving
        assert connections.open == connections.accepted == 0

    asyncio.run(run())


async def asked(client: Client, path: bytes) -> bytes:
    reader, writer = client
    writer.write(HEAD % path)
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(int(head.partition(b"content-length: ")[2].split()[0]))
    return b""


def test_unaccepted_clients_make_room_for_a_new_client() -> None:
    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        waiting = [await connect() for _ in range(3 * MOST)]
        for _, writer in waiting:
            writer.write(b"GET")
        assert await asked(await connect(), b"accepted") == b"accepted"
        assert connections.open <= MOST
        assert await waiting[0][0].read() == b""

    served(check)


def test_an_accepted_client_keeps_its_slot() -> None:
    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        first = await connect()
        assert await asked(first, b"accepted") == b"accepted"
        for _ in range(2 * MOST):
            assert await asked(await connect(), b"") == b"unaccepted"
        assert await asked(first, b"accepted") == b"accepted"
        assert connections.accepted == 1

    served(check)


def test_accepted_clients_leave_slots_for_others() -> None:
    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        clients = [await connect() for _ in range(MOST)]
        told = [await asked(client, b"accepted") for client in clients]
        assert told == [b"accepted"] * 8 + [b"unaccepted"] * 2
        clients[0][1].close()
        while connections.accepted == 8:
            await asyncio.sleep(0.01)
        assert await asked(clients[-1], b"accepted") == b"accepted"

    served(check)


def test_unaccepted_clients_keep_their_slots_while_some_are_free() -> None:
    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        clients = [await connect() for _ in range(MOST)]
        assert [await asked(client, b"") for client in clients] == [b"unaccepted"] * MOST

    served(check, grace_s=0.0)


def test_the_address_with_the_most_unaccepted_clients_loses_one() -> None:
    async def check(_: object, connections: Connections) -> None:
        gone: list[str] = []
        for number, host in enumerate(["b", "a", "a", "c", "a", "c", "d", "e", "f", "g"]):
            connections.take_slot(host, lambda name=f"{host}{number}": gone.append(name))  # type: ignore[misc]
        for _turn in range(3):
            await connections.wait_for_room()
            connections.take_slot("new", lambda: None)
        assert gone == ["a1", "a2", "c3"]
        for slots in list(connections._unaccepted.values()):
            for slot in list(slots):
                slot.free()

    served(check, grace_s=0.0)


def test_a_client_that_stops_reading_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TimeLimitedProtocol, "unread_s", 0.2)

    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        reader, writer = await connect()
        assert await asked((reader, writer), b"accepted") == b"accepted"
        writer.write(HEAD % b"large")
        while connections.open:
            await asyncio.sleep(0.01)
        with suppress(ConnectionError):
            assert len(await reader.read()) < LARGE

    served(check)


def test_a_client_that_reads_slowly_gets_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    hour_s, ahead_s = 3600.0, 0.0
    made: list[TimeLimitedProtocol] = []
    begin = TimeLimitedProtocol.connection_made

    def connection_made(self: TimeLimitedProtocol, transport: asyncio.BaseTransport) -> None:
        made.append(self)
        begin(self, transport)

    monkeypatch.setattr(TimeLimitedProtocol, "connection_made", connection_made)
    monkeypatch.setattr(TimeLimitedProtocol, "unread_s", hour_s)
    monkeypatch.setattr(TimeLimitedProtocol, "least_bytes", 1)

    def unread() -> int:
        return int(made[0].transport.get_write_buffer_size())

    async def check(connect: Callable[[], Awaitable[Client]], connections: Connections) -> None:
        nonlocal ahead_s
        loop = asyncio.get_running_loop()
        time = loop.time
        monkeypatch.setattr(loop, "time", lambda: time() + ahead_s)
        reader, writer = await connect()
        writer.write(HEAD % b"large")
        await reader.readuntil(b"\r\n\r\n")
        seen, before = 0, unread()
        while seen < LARGE:
            got = await reader.read(2_000_000)
            assert got, "cut off"
            seen += len(got)
            if unread() < before:  # once an hour, the client has read a part
                before = unread()
                ahead_s += hour_s
        assert ahead_s > 2 * hour_s

    served(check)


def test_the_service_refuses_too_few_file_descriptors(tmp_path: Path) -> None:
    limit = "at least 110 open files, but the limit is 100"
    with pytest.raises(AssertionError, match=limit), serving(tmp_path / "studies", descriptors=100):
        pass
