"""The service as a process: what is opened, in which order, how long clients may take, and how it ends."""

import asyncio
import logging.config
import os
import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from runners.places import target_lock
from runners.reporting import Say
from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.errors import ServiceConfigError
from tuner.service.http.application import application
from tuner.service.http.tokens import TokenFile, is_private
from tuner.service.queue.job_queue import open_queue
from tuner.service.worker.supervisor import Supervisor


def serve(config: ServiceConfig, config_file: Path | None, say: Say, *, access_log: bool = True) -> None:
    """Serve until a signal ends it. Call it in the main thread.

    Args:
        config: Of the service.
        config_file: Where it was read from; the studies' processes read it too.
        say: Told what happens, in sentences.
        access_log: Whether each request is logged.

    Raises:
        ServiceConfigError: It would be open to anybody, or can't listen there.
        ServiceError: The queue can't be opened, or another service works through it.
    """
    tokens = TokenFile(config.tokens)
    check_safe(config, tokens, say)
    config.root.mkdir(parents=True, exist_ok=True)
    _log_to_stderr(access_log)
    with ExitStack() as stack:
        stack.enter_context(target_lock(str(config.root), "the service", root=config.root / ".lock", on_wait=_refuse))
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
        say("stopping: studies stop after the window that they measure, and go on with the next start")


def check_safe(config: ServiceConfig, tokens: TokenFile, say: Say) -> None:
    """Refuse to serve strangers.

    Raises:
        ServiceConfigError: Others than this host could reach the service without a token, or the tokens can't be read.
    """
    loopback = is_loopback(config.host)
    if not loopback and not tokens.tokens():
        raise ServiceConfigError(
            f"a service that others than this host can reach ({config.host}) needs tokens, but {config.tokens} has "
            "none; make one: tuner serve token add NAME --role submit"
        )
    if tokens.exists and not is_private(tokens.path):
        raise ServiceConfigError(
            f"nobody but its owner may read the file of the tokens, but others may read {tokens.path}; chmod 600 it"
        )
    if not loopback and config.tls is None:
        say("warning: tokens go over the network as they are; give `tls`, or put a proxy that speaks TLS in front")


class PatientProtocol(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with a limit on the time that a request's head takes: uvicorn waits for ever.

    The time begins with the connection, and again with the first byte after an answer; between answers uvicorn's own
    limit on idle connections holds.
    """

    head_s = 10.0
    _late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: Any) -> None:
        """See `asyncio.Protocol`."""
        super().connection_made(transport)
        self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """See `asyncio.Protocol`."""
        super().data_received(data)
        cycle: RequestResponseCycle | None = self.cycle
        if cycle is not None and not cycle.response_complete:
            self._head_is_there()
        elif self._late is None:
            self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """See `asyncio.Protocol`."""
        self._head_is_there()
        super().connection_lost(exc)

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self.head_s, self.transport.close)

    def _head_is_there(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


class _Server(uvicorn.Server):
    """uvicorn's, with an end that is told to those who wait, and that is no error."""

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

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Stop; asked twice, at once."""
        if self.should_exit:
            self.force_exit = True
        self.should_exit = True
        # Python runs signal handlers in the main thread, which is the loop's; uvicorn wakes the loop every 0.1 s.
        self._stopping.set()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Heed SIGINT and SIGTERM; uvicorn's own raises them again in the end, which is no end for a service."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            # The next one still finds us at work: it ends the studies' processes at once.
            for number in before:
                signal.signal(number, signal.SIG_IGN)


def _listen(config: ServiceConfig) -> socket.socket:
    family = socket.AF_INET6 if ":" in config.host else socket.AF_INET
    try:
        listening = socket.create_server((config.host.strip("[]"), config.port), family=family, backlog=1_024)
    except OSError as error:
        raise ServiceConfigError(
            f"the service must be able to listen at {config.host}, port {config.port}, but: {error.strerror}"
        ) from None
    # Else a body waits up to 40 ms for its head to be acknowledged; asyncio sets it on sockets of its own alone.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def _refuse(holder: str) -> None:
    raise ServiceConfigError(f"one service at a time works through a folder of studies, but {holder} does")


def _log_to_stderr(access: bool) -> None:
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "formatters": {"timed": {"format": "%(asctime)s %(message)s"}},
            "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "timed"}},
            "loggers": {
                "tuner.service": {"level": "INFO", "handlers": ["stderr"], "propagate": False},
                "tuner.service.access": {"level": "INFO" if access else "WARNING"},
                "uvicorn.error": {"level": "ERROR", "handlers": ["stderr"], "propagate": False},
            },
        }
    )
    # Whatever a dependency would log of a request stays out.
    logging.getLogger("uvicorn.access").disabled = True
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
