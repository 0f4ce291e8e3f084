"""Starts and stops the service, and limits how long the service waits for slow clients."""

import asyncio
import logging.config
import os
import signal
import socket
import ssl
import textwrap
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from runners.places import file_lock
from runners.reporting import Say, one_line, printable
from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.errors import ServiceConfigError
from tuner.service.http.application import application
from tuner.service.http.connections import PLACE, Connections, Place, places
from tuner.service.http.tokens import TokenFile, is_private
from tuner.service.queue.job_queue import open_queue
from tuner.service.worker.supervisor import Supervisor

_RETRY_S: Final = 0.1
_SILENT_S: Final = 10


def serve(config: ServiceConfig, config_file: Path | None, say: Say, *, access_log: bool = True) -> None:
    """Run the service until a signal stops it. Call this in the main thread.

    Args:
        config: The configuration of the service.
        config_file: The file from which `config` was read, or None. The processes that run the studies read it too.
        say: Prints one sentence for the operator.
        access_log: Whether to log each request.

    Raises:
        ServiceConfigError: Other hosts could use the service without a token, the service can't listen at its address,
            another service uses the same folder of studies, its certificate can't be used, or this process may open too
            few files.
        ServiceError: The queue can't be opened.
    """
    tokens = TokenFile(config.tokens)
    check_safe(config, tokens, say)
    check_certificate(config)  # before any study is started
    connections = Connections(places())
    config.root.mkdir(parents=True, exist_ok=True)
    _log_to_stderr(access_log)
    with ExitStack() as stack:
        stack.enter_context(file_lock(config.root / ".lock" / "service.lock", "the service", on_wait=_refuse))
        listening = stack.enter_context(closing(listen_at(config.host, config.port)))
        queue = stack.enter_context(closing(open_queue(config.root)))
        supervisor = Supervisor(config, queue, config_file, say)
        stack.callback(supervisor.stop)
        stopping = asyncio.Event()
        server = Server(config, lambda: application(config, queue, supervisor, tokens, stopping), stopping, connections)
        supervisor.start()
        host, port = listening.getsockname()[:2]
        shown = f"[{host}]" if ":" in host else host
        say(f"serving at {'https' if config.tls else 'http'}://{shown}:{port}; studies in {config.root}")
        server.run([listening])
        say(
            "stopping: running studies stop after their current measurement window, and continue when the service "
            "starts again"
        )


def check_safe(config: ServiceConfig, tokens: TokenFile, say: Say) -> None:
    """Refuse a configuration with which anybody could use the service, and warn if tokens are sent unencrypted.

    A name in `allowed_hosts` that is not loopback means that a proxy passes the requests of other hosts on.

    Raises:
        ServiceConfigError: Other hosts could use the service without a token, other users can read the token file, or
            the token file can't be read.
    """
    loopback = is_loopback(config.host)
    reached = [name for name in (config.host, *config.allowed_hosts) if not is_loopback(name)]
    if reached and not tokens.tokens():
        raise ServiceConfigError(
            f"a service that other hosts can reach ({', '.join(reached)}) needs tokens, but the file {config.tokens} "
            "has no tokens; make a token: tuner serve token add NAME --role submit"
        )
    if tokens.exists and not is_private(tokens.path):
        raise ServiceConfigError(
            f"only its owner may read a token file, but other users can read {tokens.path}; run "
            f"`chmod 600 {tokens.path}`"
        )
    if not loopback and config.tls is None:
        say("warning: tokens are sent unencrypted; set `tls` in the config file, or use a proxy that speaks TLS")


def check_certificate(config: ServiceConfig) -> None:
    """Check whether the service can speak TLS with its certificate, if it has one.

    Raises:
        ServiceConfigError: The certificate or its key can't be used.
    """
    if config.tls is None:
        return
    for key, path in zip(("tls.certificate", "tls.key"), config.tls, strict=True):
        try:
            path.open("rb").close()
        except OSError as error:  # OpenSSL would not say which file it is
            raise ServiceConfigError(
                f"{key} must name a PEM file that can be read, but {path} can't be: {error.strerror}; correct the path"
            ) from None
    certificate, private = config.tls
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, private)
    except OSError as error:  # an SSLError is one
        raise ServiceConfigError(
            f"tls must name a certificate and its private key, both in PEM form, but OpenSSL does not accept "
            f"{certificate} with {private}: {error}"
        ) from None


class PatientProtocol(H11Protocol):
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
        place: The place of this connection, which is freed when the connection is lost. None if places are not counted.
    """

    head_s = 10.0
    unread_s = 30.0
    least_bytes = 100_000
    place: Place | None = None
    _late: asyncio.TimerHandle | None = None
    _slow: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        transport.set_write_buffer_limits(high=0)  # so that `pause_writing` is called for every unread byte
        if self.place is not None:
            self.place.abort = transport.abort
        self._wait_for_head()

    @override
    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._head_is_there()
        elif self._late is None:
            self._wait_for_head()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_there()
        if self.place is not None:
            self.place.leave()
        self._is_read()
        super().connection_lost(exc)

    @override
    def pause_writing(self) -> None:
        super().pause_writing()
        self._wait_for_reader()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        self._is_read()

    def _wait_for_reader(self) -> None:
        unread = self.transport.get_write_buffer_size()

        def look() -> None:
            if self.transport.get_write_buffer_size() > unread - self.least_bytes:
                self.transport.abort()
            else:
                self._wait_for_reader()

        self._slow = self.loop.call_later(self.unread_s, look)

    def _is_read(self) -> None:
        if self._slow is not None:
            self._slow.cancel()
            self._slow = None

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _head_is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class Server(uvicorn.Server):
    """uvicorn's server, changed so that a signal ends it without an error, and that it limits its connections.

    Args:
        config: The configuration of the service.
        make: Makes the web application.
        stopping: An event that is set when a signal stops the server.
        connections: The places for connections. While all are taken, only one more connection is accepted.
    """

    def __init__(
        self, config: ServiceConfig, make: Callable[[], object], stopping: asyncio.Event, connections: Connections
    ) -> None:
        super().__init__(
            uvicorn.Config(
                make,
                factory=True,
                http=PatientProtocol,
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
                await self._connections.room()
            except asyncio.CancelledError:
                stream.close()
                raise
            place = self._connections.enter(host, stream.close)
            place.abort = self._begin(self._connect(stream, place)).cancel

    async def _connect(self, stream: socket.socket, place: Place) -> None:
        """Pass a new connection to the protocol, after its TLS handshake if the service speaks TLS."""

        def make() -> PatientProtocol:
            protocol = PatientProtocol(self.config, self.server_state, {**self.lifespan.state, PLACE: place})
            protocol.place = place
            return protocol

        tls = self.config.ssl
        handshake_s = None if tls is None else PatientProtocol.head_s
        try:
            loop = asyncio.get_running_loop()
            await loop.connect_accepted_socket(make, stream, ssl=tls, ssl_handshake_timeout=handshake_s)
        except (OSError, asyncio.CancelledError):  # the handshake failed, took too long, or had to make room
            place.leave()
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
    """Return a socket for `Server` that listens at an address.

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
    # A connection takes a place only when its client has sent something, or after about this many seconds. Clients that
    # do send something do not wait behind strangers that only connect.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_DEFER_ACCEPT, _SILENT_S)
    listening.setblocking(False)
    return listening


def _refuse(holder: str) -> None:
    raise ServiceConfigError(
        f"only one service at a time may use a folder of studies, but {holder} uses this folder; stop that "
        "service first"
    )


class LineFormatter(logging.Formatter):
    """Formats log records so that no text from outside can forge a line of the log."""

    @override
    def formatMessage(self, record: logging.LogRecord) -> str:
        record.message = one_line(record.message)
        return super().formatMessage(record)

    @override
    def formatException(self, ei: Any) -> str:
        return textwrap.indent(printable(super().formatException(ei)), "    ", lambda _: True)


def _log_to_stderr(access: bool) -> None:
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"timed": {"()": LineFormatter, "fmt": "%(asctime)s %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "timed"}},
            "loggers": {
                "tuner.service": {"level": "INFO", "handlers": ["stderr"], "propagate": False},
                "tuner.service.access": {"level": "INFO" if access else "WARNING"},
                "uvicorn.error": {"level": "ERROR", "handlers": ["stderr"], "propagate": False},
            },
        }
    )
    # uvicorn would log the query of a request, which may contain a token.
    logging.getLogger("uvicorn.access").disabled = True
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
