"""Starts and stops the service, and refuses a configuration with which anybody could use the service."""

import asyncio
import logging.config
import os
import textwrap
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

from typing_extensions import override

from runners.host_processes.locks import file_lock
from runners.reporting import Say, one_line, printable
from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.errors import ServiceConfigError
from tuner.service.http.application import application
from tuner.service.http.connections import Connections, most_connections
from tuner.service.http.limited_server import Server, listen_at
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
            another service uses the same folder of studies, or this process may open too few files.
        ServiceError: The queue can't be opened.
    """
    tokens = TokenFile(config.tokens)
    _check_safe(config, tokens, say)
    connections = Connections(most_connections())
    config.root.mkdir(parents=True, exist_ok=True)
    _log_to_stderr(access_log)
    with ExitStack() as stack:
        stack.enter_context(file_lock(config.root / ".lock" / "service.lock", "the service", _refuse))
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


def _check_safe(config: ServiceConfig, tokens: TokenFile, say: Say) -> None:
    """Refuse a configuration with which anybody could use the service, and warn if tokens are sent unencrypted.

    If `allowed_hosts` has a name that is not loopback, we assume that a proxy forwards requests of other hosts.

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
