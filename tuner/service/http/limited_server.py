"""uvicorn's server, changed so that slow clients can't hold it up and that it has a limited number of connections."""

# The classes below override methods of uvicorn's `Server` and `H11Protocol` that its documentation does not describe.
# They were compared with the code of uvicorn 0.54.0. Read that code again before you pin another version.

import asyncio
import signal
import socket
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from tuner.service.config import ServiceConfig
from tuner.service.errors import ServiceConfigError
from tuner.service.http.connections import SLOT, Connections, Slot

_RETRY_S: Final = 0.1
_SILENT_S: Final = 10


class TimeLimitedProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with time limits for the head of a request and for clients that read slowly.

    uvicorn alone would wait forever for the head (the first line and the headers). The time starts when a client
    connects, and again with the first byte that the client sends after a response. While a connection is idle after a
    response, uvicorn's own time limit applies. uvicorn would also wait forever for a client that does not read a
    response or an event stream.

    Attributes:
        head_s: How long the head of a request may take to arrive, in seconds.
        unread_s: How long a client may leave a response unread, in seconds. A client that has read `least_bytes` in
            this time may take as long again.
        least_bytes: How many bytes a slow client must read in that time.
        slot: The slot of this connection, which is freed when the connection is lost. None if slots are not counted.
    """

    head_s = 10.0
    unread_s = 30.0
    least_bytes = 100_000
    slot: Slot | None = None
    _late: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `pause_writing` is called for every unread byte
        if self.slot is not None:
            self.slot.abort = transport.abort
        self._wait_for_head()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._stop_waiting_for_head()
        elif self._late is None:
            self._wait_for_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting_for_head()
        if self.slot is not None:
            self.slot.free()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._stop_waiting_for_reader()

    def _wait_for_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() > unread - self.least_bytes:
                self.transport.abort()
            else:
                self._wait_for_reader()

        self._slow = self.loop.call_later(self.unread_s, look)

    def _stop_waiting_for_reader(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _stop_waiting_for_head(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """uvicorn's server, changed so that a signal ends it without an error, and that it limits its connections.

    Args:
        config: The configuration of the service.
        make: Makes the web application.
        stopping: An event that is set when a signal stops the server.
        connections: The slots for connections. While all are taken, only one more connection is accepted.
    """

    def __init__(
        self, config: ServiceConfig, make: Callable[[], object], stopping: asyncio.Event, connections: Connections
    ) -> None:
        super().__init__(
            uvicorn.Config(
                make,
                factory=True,
                http=TimeLimitedProtocol,
                ws="none",
                lifespan="on",
                loop="asyncio",
                log_config=None,
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_keep_alive=65,  # seconds
                timeout_graceful_shutdown=5,  # seconds
                h11_max_incomplete_event_size=32_768,  # bytes of a request's head
                ssl_certfile=config.tls[0] if config.tls else None,
                ssl_keyfile=config.tls[1] if config.tls else None,
            )
        )
        self._stopping = stopping
        self._connections = connections
        self._tasks: set[asyncio.Task[None]] = set()

    @override
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup([])  # uvicorn would accept more connections than there are file descriptors
        for listening in sockets or ():
            self._begin(self._accept(listening))

    @override
    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await super().shutdown(sockets)

    async def _accept(self, listening: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                stream, (host, *_) = await loop.sock_accept(listening)
            except OSError:  # the client has left again, or the process has no file descriptor at the moment
                await asyncio.sleep(_RETRY_S)
                continue
            try:
                await self._connections.wait_for_room()
            except asyncio.CancelledError:
                stream.close()
                raise
            slot = self._connections.take_slot(host, stream.close)
            slot.abort = self._begin(self._connect(stream, slot)).cancel

    async def _connect(self, stream: socket.socket, slot: Slot) -> None:
        """Pass a new connection to the protocol, after its TLS handshake if the service speaks TLS."""

        def make() -> TimeLimitedProtocol:
            protocol = TimeLimitedProtocol(self.config, self.server_state, {**self.lifespan.state, SLOT: slot})
            protocol.slot = slot
            return protocol

        tls = self.config.ssl
        handshake_s = None if tls is None else TimeLimitedProtocol.head_s
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(make, stream, ssl=tls, ssl_handshake_timeout=handshake_s)
        except (OSError, asyncio.CancelledError):  # the handshake failed, took too long, or had to make room
            slot.free()
            stream.close()

    def _begin(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    @override
    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop the service after a signal. The second signal stops the service without waiting for open requests."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        # Python runs signal handlers in the main thread, where the event loop runs; uvicorn wakes it every 0.1 s.
        self._stopping.set()

    @override
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM.

        uvicorn's own method raises the signal again at the end. The signal would kill the process before the service
        has stopped the studies.
        """
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            # The service still has to stop the studies, and another signal must not interrupt that.
            for number in before:
                signal.signal(number, signal.SIG_IGN)


def listen_at(host: str, port: int) -> socket.socket:
    """Return a socket that listens at an address. `Server` takes its connections from this socket.

    Raises:
        ServiceConfigError: The service can't listen there.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host.strip("[]"), port), family=family, backlog=4_096)
    except OSError as error:
        raise ServiceConfigError(
            f"the service can't listen at {host}, port {port}: {error.strerror}; choose another address or port"
        ) from None
    # Without TCP_NODELAY, a response body waits up to 40 ms for the acknowledgement of its headers. asyncio sets the
    # option only on sockets that it creates itself.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    # A connection takes a slot only when its client has sent something, or after about this many seconds. Clients that
    # do send something do not wait behind clients that only connect.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENT_S)
    listening.setblocking(False)
    return listening
