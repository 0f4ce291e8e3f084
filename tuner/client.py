"""A client of the service, on the standard library alone.

    from tuner.client import Client

    client = Client("https://tuner.example", token=Path("ci.token").read_text().strip())
    client.submit(Path("orders.yaml").read_text())
    for event in client.events("orders"):
        print(event.name, event.data)
    print(client.recommend("orders", record_bytes="1000", goal="throughput", form="properties").text)

ServiceFault                the request had no good end
├── ServiceUnreachable      nobody answers there, or not as the service does: try again later
└── ServiceRefused          the service said no; `problem` says why, in the words of RFC 9457
"""

import http.client
import json
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

_SILENCE_S: Final = 45.0
_LARGEST_BYTES: Final = 200_000_000


class ServiceFault(Exception):  # noqa: N818 - names say what happened
    """The request had no good end."""


class ServiceUnreachable(ServiceFault):
    """Nobody answers at that address, or not as the service does."""


class ServiceRefused(ServiceFault):
    """The service answered that it won't, or can't.

    Attributes:
        status: HTTP status.
        problem: The answer's body, as RFC 9457 has it; empty when it had none.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        super().__init__(str(problem.get("detail") or f"the service answered with status {status}"))

    @property
    def kind(self) -> str:
        """What kind of problem: `study-file`, `not-found`, `no-feasible-config` and so on; empty if it does not say."""
        return str(self.problem.get("type", "")).rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """A recommendation, to be asked for again with its validator.

    Attributes:
        text: In the form that was asked for; empty when it is still what the caller has.
        etag: To be given as `unless` next time.
        changed: Whether it is another than the caller has.
    """

    text: str
    etag: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study.

    Attributes:
        name: `status`, `trial` or `end`.
        data: As JSON.
        number: Of a trial, its sequence number, to go on from; None of others.
    """

    name: str
    data: Mapping[str, Any]
    number: int | None


@dataclass(frozen=True, slots=True)
class Client:
    """Asks one service. Each request is a connection of its own, so that threads may share a client.

    Attributes:
        url: `http://HOST:PORT` or `https://...`, with a path where a proxy puts the service below one.
        token: What `tuner serve token add` printed; None where the service needs none.
        timeout_s: Seconds that an answer may take.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        """Refuse an address that is none, and a token that no header can hold."""
        try:
            parts = urlsplit(self.url)
            usable = (
                parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            usable = False
        if not usable or parts.username is not None or parts.query or parts.fragment:
            raise ValueError("a service's address reads http://HOST:PORT or https://HOST, without user or query")
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.strip()):
            raise ValueError("a token is one line of what `tuner serve token add` printed")

    def submit(self, study_file: str, media_type: str = "application/yaml") -> dict[str, Any]:
        """Submit a study; the same one again is the same study.

        Args:
            study_file: Its text.
            media_type: `application/yaml` or `application/json`.

        Returns:
            The study, as the service shows it.
        """
        return self._json("POST", "/v1/studies", study_file.encode(), media_type)

    def studies(self) -> Iterator[dict[str, Any]]:
        """All studies, the newest first."""
        cursor: str | None = None
        while True:
            page = self._json("GET", _path("/v1/studies", limit=100, cursor=cursor))
            yield from page["studies"]
            cursor = page["next"]
            if cursor is None:
                return

    def study(self, name: str) -> dict[str, Any]:
        """One study: where it stands, and how far it is."""
        return self._json("GET", _own(name))

    def pause(self, name: str) -> dict[str, Any]:
        """Stop it until it is resumed."""
        return self._json("POST", f"{_own(name)}/pause")

    def resume(self, name: str) -> dict[str, Any]:
        """Go on with it."""
        return self._json("POST", f"{_own(name)}/resume")

    def cancel(self, name: str) -> dict[str, Any]:
        """Stop it for good."""
        return self._json("POST", f"{_own(name)}/cancel")

    def trials(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """Its trials in the order in which they ended, those after a sequence number only."""
        following: int | None = after
        while following is not None:
            page = self._json("GET", _path(f"{_own(name)}/trials", after=following, limit=500))
            yield from page["trials"]
            following = page["next_after"]

    def front(self, name: str, record_bytes: str | None = None) -> dict[str, Any]:
        """The Pareto fronts, as `tuner front --json` prints them."""
        return self._json("GET", _path(f"{_own(name)}/front", record_bytes=record_bytes))

    def text(self, name: str, what: str, **asked: str | None) -> str:
        """`status` or `front` as people read it; `report` as HTML."""
        form = None if what == "report" else "text"
        return self._ask("GET", _path(f"{_own(name)}/{what}", format=form, **asked)).decode()

    def status(self, name: str) -> dict[str, Any]:
        """How far it is, as `tuner status --json` prints it."""
        return self._json("GET", f"{_own(name)}/status")

    def recommend(
        self,
        study: str,
        record_bytes: str | None = None,
        goal: str | None = None,
        *,
        max_p99_ms: float | None = None,
        min_mb_per_s: float | None = None,
        form: str = "json",
        unless: str | None = None,
    ) -> Reply:
        """The config to use.

        Args:
            study: Its name.
            record_bytes: Record size or mix; without it, every one of the study.
            goal: `balanced`, `throughput` or `latency`; by default the first for which one is better than the baseline.
            max_p99_ms: Only configs whose p99 latency stays below.
            min_mb_per_s: Only configs that carry as much.
            form: As `tuner recommend --format` has them.
            unless: The `etag` of what the caller has, for whoever polls.
        """
        path = _path(
            "/v1/recommendation",
            study=study,
            record_bytes=record_bytes,
            goal=goal,
            max_p99_ms=max_p99_ms,
            min_mb_per_s=min_mb_per_s,
            format=form,
        )
        headers = {"If-None-Match": unless} if unless is not None else {}
        with self._answer("GET", path, None, headers, self.timeout_s) as response:
            text = response.read(_LARGEST_BYTES).decode()
            return Reply(text, response.headers.get("etag", ""), response.status != 304)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """What happens to a study, until it ends. A connection that is lost is the caller's to open again.

        Args:
            name: Of the study.
            after: Sequence number of the last trial that the caller has.
        """
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        with self._answer("GET", f"{_own(name)}/events", None, headers, _SILENCE_S) as response:
            yield from _events(response)

    def _json(self, method: str, path: str, body: bytes | None = None, media_type: str | None = None) -> dict[str, Any]:
        headers = {"Content-Type": media_type} if media_type is not None else {}
        data = self._ask(method, path, body, headers)
        try:
            found: dict[str, Any] = json.loads(data)
        except ValueError:
            raise ServiceUnreachable(f"the service must answer in JSON, but {self.url} does not") from None
        return found

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        with self._answer(method, path, body, headers or {}, self.timeout_s) as response:
            return response.read(_LARGEST_BYTES)

    @contextmanager
    def _answer(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        """The answer to a request, to be read inside; what breaks off meanwhile is `ServiceUnreachable`."""
        parts = urlsplit(self.url)
        assert parts.hostname is not None
        own = {"Authorization": f"Bearer {self.token}"} if self.token is not None else {}
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        with closing(kind(parts.hostname, parts.port, timeout=timeout_s)) as connection:
            try:
                connection.request(method, parts.path.rstrip("/") + path, body, {**headers, **own})
                response = connection.getresponse()
                if response.status not in (200, 201, 304):
                    raise _refused(response)
                yield response
            except (OSError, http.client.HTTPException) as error:
                told = error.strerror if isinstance(error, OSError) else None
                reason = told or str(error) or type(error).__name__
                raise ServiceUnreachable(f"the service must answer at {self.url}, but: {reason}") from None


def _own(name: str) -> str:
    return f"/v1/studies/{quote(name, safe='')}"


def _path(path: str, **asked: object) -> str:
    given = {name: str(value) for name, value in asked.items() if value is not None}
    return f"{path}?{urlencode(given)}" if given else path


def _refused(response: http.client.HTTPResponse) -> ServiceRefused:
    problem: dict[str, Any] = {}
    if response.headers.get_content_type() == "application/problem+json":
        with suppress(ValueError):
            problem = json.loads(response.read(_LARGEST_BYTES))
    return ServiceRefused(response.status, problem)


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    """The events of a stream. Source: HTML, section 9.2.6, "Interpreting an event stream"."""
    name, data, number = "", "", None
    try:
        for line in response:
            key, _, value = line.decode().rstrip("\r\n").partition(":")
            value = value.removeprefix(" ")
            match key:
                case "event":
                    name = value
                case "data":
                    data += value
                case "id":
                    number = int(value)
                case "" if not line.strip() and data:
                    yield Event(name, json.loads(data), number)
                    name, data, number = "", "", None
    except (OSError, http.client.HTTPException) as error:
        raise ServiceUnreachable(f"the stream of events broke off: {error}") from None
