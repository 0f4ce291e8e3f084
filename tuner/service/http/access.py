"""What every request passes before anything is done for it: who asks, from where, and how much is sent.

Plain ASGI, so that no route of the framework has seen a request that is turned away.
"""

import asyncio
import base64
import logging
import time
from collections.abc import Mapping
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tuner.service.config import ServiceConfig, is_loopback
from tuner.service.http.metrics import Requests
from tuner.service.http.problems import MEDIA_TYPE, Problem, problem_of
from tuner.service.http.tokens import Role, Token, TokenFile

OPEN_PATHS: Final = frozenset({"/healthz", "/readyz"})
"""What is answered without a token: it tells that the service runs, and nothing else."""
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_METHODS: Final = _SAFE | {"POST", "DELETE", "PUT", "PATCH"}
_REALM: Final = 'realm="kafka-tuner"'
_HEADERS: Final[Mapping[str, str]] = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "cache-control": "no-store",
}
"""Sent with every answer that does not say otherwise."""
_ACCESS: Final = logging.getLogger("tuner.service.access")
_ERRORS: Final = logging.getLogger("tuner.service")


class AccessControl:
    """Lets requests through to an application, or answers in its place.

    Args:
        app: What they are for.
        config: Of the service.
        tokens: Who may do what.
        requests: Counts them.
        body_s: Seconds that a body may take to arrive.
    """

    def __init__(
        self, app: ASGIApp, config: ServiceConfig, tokens: TokenFile, requests: Requests, body_s: float = 20.0
    ) -> None:
        self._app = app
        self._config = config
        self._tokens = tokens
        self._requests = requests
        self._body_s = body_s
        # Once needed, always needed: a file of tokens that is lost must not open the door.
        self._guarded = not is_loopback(config.host) or tokens.exists

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
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

        try:
            token = self._checked(scope, Headers(scope=scope))
            who = token.name if token is not None else "-"
            scope.setdefault("state", {})["token"] = token
            await self._app(scope, self._limited(receive), sending)
        except Exception as error:  # noqa: BLE001 - the last one who can answer
            problem = problem_of(error)
            if problem.status == 500:
                _ERRORS.exception("a request failed")
            if not status:
                await problem_response(problem)(scope, receive, sending)
        finally:
            took_s = time.perf_counter() - started_s
            route = getattr(scope.get("route"), "path", "") or (
                scope["path"] if scope["path"] in OPEN_PATHS else "other"
            )
            self._requests.note(route, method, status, took_s)
            # Never the query, which may hold what somebody took for a parameter; the path as it cannot end the line.
            _ACCESS.info(
                "%s %s %s %s %d %d %.1fms",
                (scope.get("client") or ("-",))[0], who, method,
                scope["path"].encode("unicode_escape").decode()[:300], status, sent_bytes, took_s * 1e3,
            )  # fmt: skip

    def _checked(self, scope: Scope, headers: Headers) -> Token | None:
        """Whose token it is; None where none is needed.

        Raises:
            Problem: The request is turned away.
        """
        for name in ("authorization", "host", "content-length"):
            if len(headers.getlist(name)) > 1:
                raise Problem(400, "bad-request", f"the header {name} stands once")
        method, host = scope["method"], _host_in(headers.get("host", ""))
        guarded = self._guarded = self._guarded or self._tokens.exists
        if self._config.allowed_hosts:
            if host not in self._config.allowed_hosts and scope["path"] not in OPEN_PATHS:
                raise Problem(421, "wrong-host", "the service is not known under the name that the request has as Host")
        elif not guarded and not is_loopback(host):
            # A page of any site could resolve its own name to 127.0.0.1 and read what is here.
            raise Problem(421, "wrong-host", "without tokens, the service answers to localhost and 127.0.0.1 only")
        if method not in _SAFE:
            _check_origin(headers)
        length = headers.get("content-length", "0")
        if length.isascii() and length.isdigit() and int(length) > self._config.max_body_bytes:
            raise self._too_large()
        if not guarded or scope["path"] in OPEN_PATHS:
            return None
        token = self._tokens.who(_presented(headers, method))
        if token is None:
            ways = f"Bearer {_REALM}, Basic {_REALM}" if method in _SAFE else f"Bearer {_REALM}"
            raise Problem(
                401,
                "no-token",
                "the service needs a token: send `Authorization: Bearer TOKEN`; its operator makes them with "
                "`tuner serve token add`",
                headers={"www-authenticate": ways},
            )
        role = needed_role(method)
        if not token.allows(role):
            raise Problem(403, "not-allowed", f"this needs a token of role {role}, but {token.name} has {token.role}")
        return token

    def _limited(self, receive: Receive) -> Receive:
        """Takes no more bytes than allowed, and waits no longer for them."""
        seen, complete = 0, False
        loop = asyncio.get_running_loop()
        deadline = loop.time() + self._body_s

        async def limited() -> Message:
            nonlocal seen, complete
            if complete:
                return await receive()
            try:
                async with asyncio.timeout_at(deadline):
                    message = await receive()
            except TimeoutError:
                raise Problem(
                    408, "too-slow", f"a request arrives within {self._body_s:.0f} s, but its body did not",
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
            413,
            "too-large",
            f"a request's body has at most {self._config.max_body_bytes} bytes; this one has more",
            headers={"connection": "close"},
        )


def needed_role(method: str) -> Role:
    """Return the role that a token must have for requests of an HTTP method."""
    return Role.READ if method in _SAFE else Role.SUBMIT


def problem_response(problem: Problem) -> JSONResponse:
    """The answer that says what is wrong."""
    return JSONResponse(problem.as_json(), problem.status, problem.headers, MEDIA_TYPE)


def _host_in(header: str) -> str:
    """`localhost` of `localhost:8080`; of an IPv6 address what is in the brackets."""
    try:
        return (urlsplit(f"//{header}").hostname or "").lower()
    except ValueError:
        return ""


def _check_origin(headers: Headers) -> None:
    """Pages of other sites have no business here: a browser tells where what it sends comes from."""
    origin = headers.get("origin")
    site = headers.get("sec-fetch-site")
    own = urlsplit(origin).netloc.lower() == headers.get("host", "").lower() if origin is not None else True
    if not own or site in ("cross-site", "same-site"):
        raise Problem(403, "wrong-origin", "pages of other sites may not change anything here")


def _presented(headers: Headers, method: str) -> str:
    """The token in the request, empty if there is none.

    Browsers show pages with Basic, the token as the password; what changes anything takes Bearer alone, which no page
    can make a browser send.
    """
    scheme, _, rest = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return rest.strip()
    if scheme.lower() == "basic" and method in _SAFE:
        try:
            return base64.b64decode(rest.strip(), validate=True).decode().partition(":")[2]
        except ValueError:
            return ""
    return ""
