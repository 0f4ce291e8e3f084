"""The web application of a service in the test's own process, without a server and without workers for its queue."""

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.helpers.serving import Response
from tuner.service.config import load_config
from tuner.service.http.access import AccessControl
from tuner.service.http.application import application
from tuner.service.http.tokens import TokenFile
from tuner.service.queue.job_queue import JobQueue, open_queue
from tuner.service.worker.supervisor import Supervisor


@dataclass(frozen=True, slots=True)
class Service:
    """The web application of a service, its queue, the folder of its studies, and the event loop that it runs in."""

    app: AccessControl
    queue: JobQueue
    root: Path
    runner: asyncio.Runner

    def ask(
        self, method: str, path: str, query: bytes = b"", body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send a request as a server does that accepts any bytes in headers and paths."""
        given = {"host": "localhost", **(headers or {})}
        scope = {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": method, "scheme": "http",
            "path": path, "raw_path": path.encode("utf-8", "replace"), "query_string": query, "root_path": "",
            "headers": [(name.encode(), value.encode("utf-8", "surrogatepass")) for name, value in given.items()],
            "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80), "state": {},
        }  # fmt: skip
        parts = [(body[:100], True), (body[100:], False)]
        sent: list[dict[str, Any]] = []

        async def receive() -> dict[str, Any]:
            if not parts:
                await asyncio.get_running_loop().create_future()  # the client stays, and sends nothing more
            part, more = parts.pop(0)
            return {"type": "http.request", "body": part, "more_body": more}

        async def send(message: Any) -> None:
            sent.append(message)

        self.runner.run(self.app(scope, receive, send))
        found = {name.decode().lower(): value.decode() for name, value in sent[0]["headers"]}
        return Response(sent[0]["status"], found, b"".join(each.get("body", b"") for each in sent[1:]))


@contextmanager
def in_process(root: Path) -> Iterator[Service]:
    """Make the application of a service whose studies are in a folder."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        config = replace(load_config(None, {}), root=root)
        with asyncio.Runner() as runner, closing(open_queue(root)) as queue:
            supervisor = Supervisor(config, queue, None, print)
            app = application(config, queue, supervisor, TokenFile(config.tokens), asyncio.Event())
            yield Service(app, queue, root, runner)
            runner.run(_end(app))


async def _end(app: AccessControl) -> None:
    """Start and stop the application as a server does, which ends its reading process."""
    words = ["lifespan.startup", "lifespan.shutdown"]

    async def receive() -> dict[str, Any]:
        return {"type": words.pop(0)}

    async def send(message: Any) -> None:
        assert message["type"].endswith(".complete"), message

    await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, receive, send)
