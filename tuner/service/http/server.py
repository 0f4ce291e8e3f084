"""Starts and stops the service, and limits how long the service waits for slow clients."""

import asyncio
import logging.config
import os
import signal
import socket
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from typing_extensions import override
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from runners.places import file_lock
from runners.reporting import Say, one_line, printable
from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.errors import ServiceConfigError
from tuner.service.http.application import application
from tuner.service.http.tokens import TokenFile, is_private
from tuner.service.queue.job_queue import open_queue
from tuner.service.worker.supervisor import Supervisor


def serve(config: ServiceConfig, config_file: Path | None, say: Say, *, access_log: bool = True) -> None:
    """Run the service until a signal stops it. Call this in the main thread.

    Args:
        config: The configuration of the service.
        config_file: The file from which `config` was read, or None. The processes that run the studies read it too.
        say: Prints one sentence for the operator.
        access_log: Whether to log each request.

    Raises:
        ServiceConfigError: Other hosts could use the service without a token, the service can't listen at its address,
            or another service uses the same folder of studies.
        ServiceError: The queue can't be opened.
    """
    tokens = TokenFile(config.tokens)
    check_safe(config, tokens, say)
    config.root.mkdir(parents=True, exist_ok=True)
    _log_to_stderr(access_log)
    with ExitStack() as stack:
        stack.enter_context(file_lock(config.root / ".lock" / "service.lock", "the service", on_wait=_refuse))
        listening = stack.enter_context(closing(_listen(config)))
        queue = stack.enter_context(closing(open_queue(config.root)))
        supervisor = Supervisor(config, queue, config_file, say)
        stack.callback(supervisor.stop)
        stopping = asyncio.Event()
        server = _Server(config, lambda: application(config, queue, supervisor, tokens, stopping), stopping)
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

    Raises:
        ServiceConfigError: Other hosts could use the service without a token, other users can read the token file, or
            the token file can't be read.
    """
    loopback = is_loopback(config.host)
    if not loopback and not tokens.tokens():
        raise ServiceConfigError(
            f"a service that other hosts can reach ({config.host}) needs tokens, but the file {config.tokens} has "
            "no tokens; make a token: tuner serve token add NAME --role submit"
        )
    if tokens.exists and not is_private(tokens.path):
        raise ServiceConfigError(
            f"only its owner may read a token file, but other users can read {tokens.path}; run "
            f"`chmod 600 {tokens.path}`"
        )
    if not loopback and config.tls is None:
        say("warning: tokens are sent unencrypted; set `tls` in the config file, or use a proxy that speaks TLS")


class PatientProtocol(H11Protocol):
    """uvicorn's HTTP/1.1 protocol with a time limit for the head of a request (its first line and its headers).

    uvicorn alone would wait forever for the head. The time starts when a client connects, and again with the
    first byte that the client sends after a response. While a connection is idle after a response, uvicorn's own time
    limit applies.

    Attributes:
        head_s: How long the head of a request may take to arrive, in seconds.
    """

    head_s = 10.0
    _late: asyncio.TimerHandle | None = None

    @override
    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
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
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _head_is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """uvicorn's server, changed so that a signal sets the event `stopping` and ends the server without an error."""

    def __init__(self, config: ServiceConfig, make: Callable[[], object], stopping: asyncio.Event) -> None:
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
                limit_concurrency=1_000,
                timeout_keep_alive=65,  # seconds
                timeout_graceful_shutdown=5,  # seconds
                h11_max_incomplete_event_size=32_768,  # bytes of a request's head
                ssl_certfile=config.tls[0] if config.tls else None,
                ssl_keyfile=config.tls[1] if config.tls else None,
            )
        )
        self._stopping = stopping

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


def _listen(config: ServiceConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server((config.host.strip("[]"), config.port), family=family, backlog=1_024)
    except OSError as error:
        raise ServiceConfigError(
            f"the service can't listen at {config.host}, port {config.port}: {error.strerror}; choose another address "
            "or port"
        ) from None
    # Without TCP_NODELAY, a response body waits up to 40 ms for the acknowledgement of its headers. asyncio sets the
    # option only on sockets that it creates itself.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
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
