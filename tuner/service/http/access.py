"""Checks every request: its token, the host names in its headers, and the size of its body.

These checks are a plain ASGI application around the web framework, which never sees a refused request.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.model.errors import ProblemKind
from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.http.connections import SLOT, Slot
from tuner.service.http.problem_pages import prefers_html, readable_problems
from tuner.service.http.prometheus import Requests
from tuner.service.http.tokens import Token, TokenFile, TokenRole
from tuner.service.problems import PROBLEM_JSON, Problem, problem_of

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""Paths of the health checks, which need no token. Their responses say only whether the service runs."""
_TOKENLESS: Final = OPEN_PATHS | {"/favicon.ico", "/static/page.js", "/static/style.css"}
"""Paths that need no token. The files are the same in each service, and a browser needs them for the page of a 401."""
_BODY_S: Final = 20.0
"""How long the body of a request may take to arrive."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS: Final = _SAFE | {"POST", "DELETE", "PUT", "PATCH"}
_OF_PROXIES: Final = frozenset({"forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip"})
_REALM: Final = 'realm="kafka-tuner"'
_HEADERS: Final[Mapping[str, str]] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Headers that are added to every response, unless the response has set them itself."""
_ACCESS: Final = logging.getLogger("tuner.service.access")
_ERRORS: Final = logging.getLogger("tuner.service")


def is_event_stream(path: str) -> bool:
    """Return whether a path is that of the events of a study. A study may be called `events`, too."""
    return PurePosixPath(path).match("/v1/studies/*/events")


class AccessControl:
    """An ASGI application that checks requests and passes them on to another application, or refuses them.

    Args:
        app: The application that receives the accepted requests.
        config: The configuration of the service.
        tokens: The token file.
        requests: The counter of requests.
    """

    def __init__(self, app: ASGIApp, config: ServiceConfig, tokens: TokenFile, requests: Requests) -> None:
        self._app = app
        self._config = config
        self._tokens = tokens
        self._requests = requests
        # A service that needs tokens at its start needs them until its end, so that a lost token file does not open the
        # service to everybody.
        self._guarded = not is_loopback(config.host) or tokens.exists

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one ASGI connection. WebSockets are closed, because the service has none."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        started_s = time.perf_counter()
        method = scope["method"] if scope["method"] in _METHODS else "other"
        status, sent_bytes, who = 0, 0, "-"

        async def sending(message: Message) -> None:
            nonlocal status, sent_bytes
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            elif message["type"] == "http.response.body":
                sent_bytes += len(message.get("body", b""))
            await send(message)

        replying = readable_problems(scope, sending)
        # HEAD is GET without the content (RFC 9110, section 9.3.2), which the server leaves out. An event stream would
        # keep the connection until its study ends.
        asked = {**scope, "method": "GET"} if method == "HEAD" and not is_event_stream(scope["path"]) else scope
        try:
            token = self._checked(scope, Headers(scope=scope))
            who = token.name if token is not None else "-"
            asked.setdefault("state", {})["token"] = token
            self._keep_connection(asked)
            await self._app(asked, self._limited(receive), replying)
        except Exception as error:  # noqa: BLE001 - nobody above would send a response
            problem = problem_of(error)
            if problem.status == 500:
                _ERRORS.exception("a request failed because of a defect")
            if not status:
                await problem_response(problem)(scope, receive, replying)
        finally:
            took_s = time.perf_counter() - started_s
            route = getattr(asked.get("route"), "path", "") or (
                scope["path"] if scope["path"] in OPEN_PATHS else "other"
            )
            self._requests.note(route, method, status, took_s)
            # The query is never logged, since somebody may have put a token there. The path is escaped, so that it
            # can't break the line and forge another entry.
            _ACCESS.info(
                "%s %s %s %s %d %d %.1fms",
                (scope.get("client") or ("-",))[0], who, method,
                scope["path"].encode("unicode_escape").decode()[:300], status, sent_bytes, took_s * 1e3,
            )  # fmt: skip

    def _checked(self, scope: Scope, headers: Headers) -> Token | None:
        """Check a request and return its token, or None if no token is needed.

        Raises:
            Problem: The request is refused.
        """
        for name in ("authorization", "host", "content-length"):
            if len(headers.getlist(name)) > 1:
                raise Problem(ProblemKind.BAD_REQUEST, f"the header {name} must be sent only once")
        method, host = scope["method"], _host_in(headers.get("host", ""))
        guarded = self._guarded = self._guarded or self._tokens.exists
        if not guarded:
            _check_direct(headers)
        allowed = self._config.allowed_hosts
        if allowed and host not in allowed and scope["path"] not in OPEN_PATHS:
            raise Problem(
                ProblemKind.WRONG_HOST,
                "the Host header must be one of the service's `allowed_hosts`; the operator can add a name there",
            )
        if not guarded and not is_loopback(host):
            # Without this check, any web page could read the service by letting its host name resolve to 127.0.0.1.
            raise Problem(
                ProblemKind.WRONG_HOST,
                "a service without tokens answers only under the name localhost or 127.0.0.1; use one of these names",
            )
        if method not in _SAFE:
            _check_origin(headers)
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self._config.max_body_bytes:
            raise self._too_large()
        if not guarded or scope["path"] in _TOKENLESS:
            return None
        presented = _presented(headers, method)
        token = self._tokens.find(presented)
        if token is None:
            wrong = "the token that was sent is not known here" if presented else "the service needs a token"
            ways, way = f"Bearer {_REALM}", "Send the token as `Authorization: Bearer TOKEN`"
            if method in _SAFE:
                ways = f"{ways}, Basic {_REALM}"
                if prefers_html(headers.get("accept", "")):
                    way = "Load the page again, and enter any user name, and the token as the password"
            elif headers.get("authorization", "").lower().startswith("basic "):
                wrong = "a request that changes something can't have its token as a password (Basic authentication)"
            raise Problem(
                ProblemKind.NO_TOKEN,
                f"{wrong}; the operator of the service makes tokens with `tuner serve token add`. {way}",
                headers={"www-authenticate": ways},
            )
        role = needed_role(method)
        if not token.allows(role):
            raise Problem(
                ProblemKind.NOT_ALLOWED,
                f"this request needs a token of role {role}, but {token.name} has the role {token.role}",
            )
        return token

    def _keep_connection(self, scope: Scope) -> None:
        """Let the client keep its connection, unless its path needs no token.

        Raises:
            Problem: Too many clients keep a connection.
        """
        slot: Slot | None = scope["state"].get(SLOT)
        if slot is not None and scope["path"] not in _TOKENLESS and not slot.accept():
            raise Problem(
                ProblemKind.TOO_MANY_CONNECTIONS,
                "the service has as many connections as it may have; close connections that you don't use, or try "
                "again",
                headers={"connection": "close"},
            )

    def _limited(self, receive: Receive) -> Receive:
        """Return an ASGI `receive` function that refuses a body that is too large or takes too long to arrive."""
        seen, complete = 0, False
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _BODY_S

        async def limited() -> Message:
            nonlocal seen, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise Problem(
                    ProblemKind.TOO_SLOW,
                    f"the body of a request must arrive within {_BODY_S:.0f} s, but this body took longer; "
                    "try again",
                    headers={"connection": "close"},
                ) from None  # fmt: skip
            seen += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if seen > self._config.max_body_bytes:
                raise self._too_large()
            return message

        return limited

    def _too_large(self) -> Problem:
        return Problem(
            ProblemKind.TOO_LARGE,
            f"the body of a request must have at most {self._config.max_body_bytes} bytes, but this body is larger",
            headers={"connection": "close"},
        )


def needed_role(method: str) -> TokenRole:
    """Return the role that a token must have for requests of an HTTP method."""
    return TokenRole.READ if method in _SAFE else TokenRole.SUBMIT


def problem_response(problem: Problem) -> JSONResponse:
    """Return the response that describes a problem."""
    return JSONResponse(problem.as_json(), problem.status, problem.headers, PROBLEM_JSON)


def _host_in(header: str) -> str:
    """Return the host in a Host header: `localhost` for `localhost:8080`, and an IPv6 address without its brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _check_direct(headers: Headers) -> None:
    """Refuse a request that a proxy passes on, according to the headers that proxies add.

    Source: RFC 7239 (Forwarded) and RFC 9110, section 7.6.3 (Via).

    Raises:
        Problem: The request came through a proxy.
    """
    added = next((name for name in headers if name in _OF_PROXIES or name.startswith("x-forwarded")), None)
    if added is not None:
        raise Problem(
            ProblemKind.NEEDS_TOKENS,
            f"a service without tokens answers only clients on its own host, but the header {added} shows a proxy; "
            "make a token: tuner serve token add NAME --role submit",
        )


def _check_origin(headers: Headers) -> None:
    """Refuse a request that a page of another site sent, according to the headers that browsers set.

    Raises:
        Problem: The request comes from a page of another site.
    """
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    try:
        own = origin is None or urlsplit(origin).netloc.lower() == headers.get("host", "").lower()
    except ValueError:
        own = False
    if not own or site in ("cross-site", "same-site"):
        raise Problem(
            ProblemKind.WRONG_ORIGIN, "a page of another site sent this request, so it must not change anything"
        )


def _presented(headers: Headers, method: str) -> str:
    """Return the token in a request's Authorization header, or an empty string if there is none.

    In a request that only reads, the token may be the password of Basic authentication, which browsers can send. A
    request that changes something needs a Bearer token, because a page of another site can't make a browser send it.
    """
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic" and method in _SAFE:
        with suppress(ValueError):
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
    return ""
