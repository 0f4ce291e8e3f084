"""A client of the service, which needs only the standard library.

    from tuner.client import Client

    client = Client("https://tuner.example", token=Path("ci.token").read_text().strip())
    client.submit(Path("orders.yaml").read_text())
    for event in client.events("orders"):
        print(event.name, event.data)
    print(client.recommend("orders", record_bytes="1000", goal="throughput", form="properties").text)

ServiceFault                a request to the service failed
├── ServiceUnreachable      no service answers at the address; try again later
└── ServiceRefused          the service refused the request; `problem` says why, in the form of RFC 9457
"""

import http.client
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

_SILENCE_S: Final = 45.0
"""How long a stream of events may send nothing. The service sends a heartbeat several times in this time."""
_LARGEST_BYTES: Final = 200_000_000


class ServiceFault(Exception):
    """A request to the service failed."""


class ServiceUnreachable(ServiceFault):
    """No service answers at the address, or a program that is not the service answers there."""


class ServiceRefused(ServiceFault):
    """The service refused the request, or could not do what was requested.

    Attributes:
        status: The HTTP status.
        problem: The body of the response in the form of RFC 9457; empty if there was none.
    """

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.problem = problem
        super().__init__(str(problem.get("detail") or f"the service answered with status {status}"))

    @property
    def kind(self) -> str:
        """The kind of problem, such as `study-file`, `not-found` or `no-feasible-config`; empty if not given."""
        return str(self.problem.get("type", "")).rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class Reply:
    """A recommendation of the service.

    Attributes:
        text: The recommendation in the requested form; empty if the recommendation has not changed.
        etag: The tag of this recommendation, which the next call of `Client.recommend` can pass as `unless`.
        changed: Whether the recommendation has changed since the one whose tag was passed as `unless`.
    """

    text: str
    etag: str
    changed: bool


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study.

    Attributes:
        name: `status`, `trial` or `end`.
        data: The event's content, parsed from JSON.
        number: Sequence number of the trial, after which `Client.events` can continue; None for other events.
    """

    name: str
    data: Mapping[str, Any]
    number: int | None


@dataclass(frozen=True, slots=True)
class Client:
    """Sends requests to one service. Each request opens a new connection, so threads may share a client.

    Attributes:
        url: `http://HOST:PORT` or `https://HOST`, with a path if a proxy serves the service below a path.
        token: The token that `tuner serve token add` printed; None if the service needs no token.
        timeout_s: Seconds to wait for a response.
    """

    url: str
    token: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0

    def __post_init__(self) -> None:
        """Check the address and the token.

        Raises:
            ValueError: The address is no HTTP address, or the token contains characters that a header can't hold.
        """
        try:
            parts = urlsplit(self.url)
            usable = (
                parts.scheme in ("http", "https") and bool(parts.hostname) and (parts.port is None or parts.port > 0)
            )
        except ValueError:
            usable = False
        if not usable or parts.username is not None or parts.query or parts.fragment:
            raise ValueError(
                "the address of a service must read http://HOST:PORT or https://HOST, without user, query or fragment"
            )
        if self.token is not None and not (self.token.isascii() and self.token.isprintable() and self.token.strip()):
            raise ValueError("the token must be the one line that `tuner serve token add` printed")

    def submit(
        self, study_file: str, media_type: str = "application/yaml", *, may_change: bool = True
    ) -> dict[str, Any]:
        """Submit a study. Submitting the same study file again has no further effect.

        Args:
            study_file: The text of the study file.
            media_type: `application/yaml` or `application/json`.
            may_change: Whether the study file may replace that of an existing study with the same name. If False, the
                service refuses the file if the existing study has other settings or is running.

        Returns:
            The study as the service shows it, with its name and state.
        """
        headers = {} if may_change else {"If-None-Match": "*"}
        return self._json("POST", "/v1/studies", study_file.encode(), media_type, headers)

    def studies(self) -> Iterator[dict[str, Any]]:
        """Yield all studies of the service, newest first."""
        cursor: str | None = None
        while True:
            page = self._json("GET", _path("/v1/studies", limit=100, cursor=cursor))
            yield from page["studies"]
            cursor = page["next"]
            if cursor is None:
                return

    def study(self, name: str) -> dict[str, Any]:
        """Return one study with its state and its progress."""
        return self._json("GET", _study_path(name))

    def pause(self, name: str) -> dict[str, Any]:
        """Stop a study until it is resumed, and return the study."""
        return self._json("POST", f"{_study_path(name)}/pause")

    def resume(self, name: str) -> dict[str, Any]:
        """Continue a study that was paused or that failed, and return the study."""
        return self._json("POST", f"{_study_path(name)}/resume")

    def cancel(self, name: str) -> dict[str, Any]:
        """Stop a study for good, or only its confirmation or copy to MLflow, and return the study."""
        return self._json("POST", f"{_study_path(name)}/cancel")

    def confirm(
        self,
        name: str,
        *,
        goals: Sequence[str] = (),
        rounds: int | None = None,
        max_rounds: int | None = None,
        width_ratio: float | None = None,
        undo_rounds: int | None = None,
    ) -> dict[str, Any]:
        """Ask the service to confirm the best configs of a study again, and return the study, which is then queued.

        Args:
            name: The study's name.
            goals: Goals whose winners are measured again; empty for the goals of the study file.
            rounds: Minimum number of rounds. The default of this and of the other settings is that of the study file.
            max_rounds: Maximum number of rounds.
            width_ratio: Width of a gain's interval, relative to the gain, at which no more rounds are added.
            undo_rounds: Number of rounds that measure copies of a winner; each copy has one property at the baseline's
                value again.
        """
        settings = {
            "rounds": rounds,
            "max_rounds": max_rounds,
            "width_ratio": width_ratio,
            "undo_rounds": undo_rounds,
        }
        return self._json("POST", _path(f"{_study_path(name)}/confirm", goal=list(goals) or None, **settings))

    def verify(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the service to measure a producer config alternating with a baseline.

        Args:
            request: The body of `POST /v1/verifications`, with at least `file` (a name for messages) and `config`.

        Returns:
            The study that measures the config. When the study is complete, `verification` returns the judgement. If the
            config is rejected without any measurement, the result is the judgement, whose `kind` is `verification`.
        """
        return self._json("POST", "/v1/verifications", json.dumps(request).encode(), "application/json")

    def verification(self, name: str) -> dict[str, Any]:
        """Return the judgement of a verified config, in the form of `tuner verify --json`."""
        return self._json("GET", f"{_study_path(name)}/verification")

    def fork(
        self, name: str, new_name: str, study_file: str | None = None, media_type: str = "application/yaml"
    ) -> dict[str, Any]:
        """Make a new study with the trials of another study that fit its settings. It is paused until it is resumed.

        Args:
            name: The name of the other study.
            new_name: The name of the new study.
            study_file: The text of its study file; None for the settings of the other study.
            media_type: `application/yaml` or `application/json`.
        """
        body = None if study_file is None else study_file.encode()
        return self._json("POST", _path(f"{_study_path(name)}/fork", name=new_name), body, media_type if body else None)

    def remove(self, name: str) -> dict[str, Any]:
        """Remove a study for good, with its results. A study that waits or runs is refused."""
        return self._json("POST", f"{_study_path(name)}/remove")

    def sync(self, name: str) -> dict[str, Any]:
        """Ask the service to copy a study's latest results to MLflow, and return the study, which is then queued."""
        return self._json("POST", f"{_study_path(name)}/sync")

    def plan(self, study_file: str, mb_per_s: float = 200.0, media_type: str = "application/yaml") -> dict[str, Any]:
        """Return what a study would do, in the form of `tuner plan --json`. Nothing is stored.

        Args:
            study_file: The text of the study file.
            mb_per_s: The throughput that you expect at full speed.
            media_type: `application/yaml` or `application/json`.
        """
        return self._json("POST", _path("/v1/plan", mb_per_s=mb_per_s), study_file.encode(), media_type)

    def plan_text(self, study_file: str, mb_per_s: float = 200.0, media_type: str = "application/yaml") -> str:
        """Return what a study would do as plain text. The arguments are those of `plan`."""
        path = _path("/v1/plan", mb_per_s=mb_per_s, format="text")
        return self._ask("POST", path, study_file.encode(), {"Content-Type": media_type}).decode()

    def trials(self, name: str, after: int = 0) -> Iterator[dict[str, Any]]:
        """Yield the trials of a study in the order in which they ended.

        Args:
            name: The study's name.
            after: Only trials with a sequence number above this are returned.
        """
        following: int | None = after
        while following is not None:
            page = self._json("GET", _path(f"{_study_path(name)}/trials", after=following, limit=500))
            yield from page["trials"]
            following = page["next_after"]

    def front(self, name: str, record_bytes: str | None = None) -> dict[str, Any]:
        """Return the Pareto fronts of a study in the form of `tuner front --json`."""
        return self._json("GET", _path(f"{_study_path(name)}/front", record_bytes=record_bytes))

    def grid(self, name: str, record_bytes: str | None = None) -> dict[str, Any]:
        """Return the tables of a grid search in the form of `tuner grid --json`."""
        return self._json("GET", _path(f"{_study_path(name)}/grid", record_bytes=record_bytes))

    def comparison(self, first: str, second: str) -> dict[str, Any]:
        """Return the comparison of two studies in the form of `tuner compare --json`."""
        return self._json("GET", _path("/v1/comparison", first=first, second=second))

    def comparison_text(self, first: str, second: str, form: str = "text") -> str:
        """Return the comparison of two studies as plain text, or as an HTML page if `form` is `html`."""
        return self._ask("GET", _path("/v1/comparison", first=first, second=second, format=form)).decode()

    def text(self, name: str, what: str, form: str | None = None, **parameters: str | float | None) -> str:
        """Return results of a study as text: plain text by default, and HTML for the report.

        Args:
            name: The study's name.
            what: `status`, `front`, `grid`, `explanation`, `verification`, `report` or `trials`.
            form: The form of the response, such as `csv` for a front; by default plain text, or HTML for the report.
            **parameters: Further query parameters, such as `record_bytes` for a front.
        """
        form = form or (None if what == "report" else "text")
        return self._ask("GET", _path(f"{_study_path(name)}/{what}", format=form, **parameters)).decode()

    def status(self, name: str) -> dict[str, Any]:
        """Return the progress of a study in the form of `tuner status --json`."""
        return self._json("GET", f"{_study_path(name)}/status")

    def recommend(
        self,
        study: str,
        record_bytes: str | None = None,
        goal: str | None = None,
        *,
        max_p99_ms: float | None = None,
        min_mb_per_s: float | None = None,
        allow_loss: float | None = None,
        form: str = "json",
        everything: bool = False,
        unless: str | None = None,
    ) -> Reply:
        """Return the configs that the service recommends for a study.

        Args:
            study: The study's name.
            record_bytes: Record size or mix; by default all sizes that the study measured.
            goal: `balanced`, `throughput` or `latency`. By default the goal is `balanced` if a config is proven better
                for it; otherwise it is the goal of the proven config with the greatest mean gain.
            max_p99_ms: Consider only configs whose p99 latency is at most this many milliseconds.
            min_mb_per_s: Consider only configs whose throughput is at least this many megabytes per second.
            allow_loss: How much worse than the baseline a balanced config may be in an objective, from 0 to 1; by
                default `confirm.allow_loss` of the study.
            form: One of the formats of `tuner recommend --format`.
            everything: Whether the recommended file also lists the properties that have the client's default value.
            unless: The `etag` of the recommendation that the caller already has. If the recommendation has not changed,
                the service responds without a text, which makes polling cheap.
        """
        path = _path(
            "/v1/recommendation",
            study=study,
            record_bytes=record_bytes,
            goal=goal,
            max_p99_ms=max_p99_ms,
            min_mb_per_s=min_mb_per_s,
            allow_loss=allow_loss,
            format=form,
            **({"all": "true"} if everything else {}),
        )
        headers = {"If-None-Match": unless} if unless is not None else {}
        with self._response("GET", path, None, headers, self.timeout_s) as response:
            text = response.read(_LARGEST_BYTES).decode()
            return Reply(text, response.headers.get("etag", ""), response.status != 304)

    def events(self, name: str, after: int = 0) -> Iterator[Event]:
        """Yield the events of a study, such as finished trials, until the study ends.

        Args:
            name: The study's name.
            after: Sequence number of the last trial that the caller has seen.

        Raises:
            ServiceUnreachable: The connection was lost. Call again with the last sequence number to continue.
        """
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(after)}
        with self._response("GET", f"{_study_path(name)}/events", None, headers, _SILENCE_S) as response:
            yield from _events(response)

    def _json(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        media_type: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> dict[str, Any]:
        kind = {"Content-Type": media_type} if media_type is not None else {}
        data = self._ask(method, path, body, {**kind, **(headers or {})})
        try:
            found: dict[str, Any] = json.loads(data)
        except ValueError:
            raise ServiceUnreachable(
                f"{self.url} does not answer in JSON, as a service does; check the address"
            ) from None
        return found

    def _ask(
        self, method: str, path: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> bytes:
        with self._response(method, path, body, headers or {}, self.timeout_s) as response:
            return response.read(_LARGEST_BYTES)

    @contextmanager
    def _response(
        self, method: str, path: str, body: bytes | None, headers: Mapping[str, str], timeout_s: float
    ) -> Iterator[http.client.HTTPResponse]:
        """Send a request and yield the response, which must be read before the `with` block ends.

        Raises:
            ServiceRefused: The service answered with a status other than 200, 201 and 304.
            ServiceUnreachable: The service does not answer, or the connection breaks while the response is read.
        """
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
                os_message = error.strerror if isinstance(error, OSError) else None
                reason = os_message or str(error) or type(error).__name__
                if getattr(error, "reason", "") == "WRONG_VERSION_NUMBER":  # of an ssl.SSLError
                    reason = "the server there does not use TLS; write http:// in the address"
                raise ServiceUnreachable(f"no service answers at {self.url}: {reason}") from None


def _study_path(name: str) -> str:
    return f"/v1/studies/{quote(name, safe='')}"


def _path(path: str, **parameters: object) -> str:
    given = {name: value for name, value in parameters.items() if value is not None}
    return f"{path}?{urlencode(given, doseq=True)}" if given else path


def _refused(response: http.client.HTTPResponse) -> ServiceRefused:
    problem: dict[str, Any] = {}
    if response.headers.get_content_type() == "application/problem+json":
        with suppress(ValueError):
            problem = json.loads(response.read(_LARGEST_BYTES))
    return ServiceRefused(response.status, problem)


def _events(response: http.client.HTTPResponse) -> Iterator[Event]:
    """Yield the events of a response that is a stream of server-sent events.

    Source: HTML, section 9.2.6, "Interpreting an event stream".
    """
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
        raise ServiceUnreachable(f"the connection was lost while waiting for events: {error}; try again") from None
