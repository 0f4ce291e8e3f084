"""Runs the service in a separate process, and sends requests to it."""

import contextlib
import http.client
import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from tests.helpers.command import arguments
from tests.helpers.waiting import eventually
from tuner.client import Client, ServiceFault

START_S = 60.0
SIMULATED = """\
study: {name}
target: simulated
workload:
  record_bytes: [{sizes}]
search: {{trials: {trials}, burn_in_max: 1, method: random}}
confirm: {{rounds: 2, max_rounds: 2, nominee_repeats: 0, nominees: 1, undo_rounds: 0}}
tracking: {{enabled: false}}
"""


def study_file(name: str = "first", *, trials: int = 4, sizes: str = "1000") -> str:
    return SIMULATED.format(name=name, trials=trials, sizes=sizes)


@dataclass(slots=True)
class Response:
    """A response of the service."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def text(self) -> str:
        return self.body.decode()


@dataclass(slots=True)
class Serving:
    """A running service."""

    process: "subprocess.Popen[str]"
    url: str
    root: Path
    log: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port is not None
        return port

    @property
    def client(self) -> Client:
        return Client(self.url)

    def ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send one request with only the given headers."""
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)) as connection:
            connection.request(method, path, body, dict(headers or {}))
            found = connection.getresponse()
            named = {name.lower(): value for name, value in found.headers.items()}
            return Response(found.status, named, found.read())

    def submit(self, text: str, kind: str = "application/yaml", **headers: str) -> Response:
        return self.ask("POST", "/v1/studies", text.encode(), {"Content-Type": kind, **headers})

    def kill(self) -> None:
        """Kill the server, but not the processes of its studies."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """Stop the service with SIGTERM and return its exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(START_S)

    def said(self) -> str:
        """Return everything that the service has logged."""
        return self.log.read_text()


@contextlib.contextmanager
def serving(
    root: Path, *words: str, environ: Mapping[str, str] | None = None, descriptors: int | None = None
) -> Iterator[Serving]:
    """Run `tuner serve`, which may open at most `descriptors` files. At the end, stop it and kill its studies."""
    log = root.parent / f"{root.name}.log"
    root.mkdir(exist_ok=True)
    before = log.stat().st_size if log.exists() else 0
    limited = ["prlimit", f"--nofile={descriptors}"] if descriptors else []
    with log.open("a") as out:
        process = subprocess.Popen(
            [*limited, *arguments("serve", "--port", "0", *words)],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
            text=True,
            env={**os.environ, "KAFKA_TUNER_STUDIES": str(root), **(environ or {})},
        )
    try:
        yield Serving(process, _address(process, log, before), root, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(START_S)
        process.kill()
        process.wait()
        for child in of_studies(root):
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()


def of_studies(root: Path) -> list[psutil.Process]:
    """Return the child processes of services that use this folder, without the services themselves."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            words = process.cmdline()
            is_server = "serve" in words[2:4] and "study" not in words[4:5]
            if process.environ().get("KAFKA_TUNER_STUDIES") == str(root) and not is_server:
                found.append(process)
    return found


def at_work(root: Path) -> list[psutil.Process]:
    """Return those processes of `of_studies` that run a study."""
    found = []
    for process in of_studies(root):
        with contextlib.suppress(psutil.Error):
            if process.cmdline()[2:5] == ["tuner.cli", "serve", "study"]:
                found.append(process)
    return found


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process has ended.

    In a container without an init process, an ended orphan stays as a zombie.
    """
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def state_of(served: Serving, name: str) -> str:
    """Return the study's state, or an empty text while the service does not answer."""
    try:
        return str(served.client.study(name)["state"])
    except ServiceFault:
        return ""


def ended(served: Serving, name: str, *states: str) -> str:
    """Wait until a study has one of the states (by default, any final state or paused), and return the state."""
    wanted = states or ("complete", "failed", "cancelled", "paused")
    found: str = eventually(lambda: (state := state_of(served, name)) in wanted and state)
    return found


def _address(process: "subprocess.Popen[str]", log: Path, before: int) -> str:
    def logged_address() -> str | None:
        assert process.poll() is None, log.read_text()[before:]
        found = re.search(r"serving at (https?://\S+);", log.read_text()[before:])
        return found[1] if found else None

    address: str = eventually(logged_address, START_S)
    return address
