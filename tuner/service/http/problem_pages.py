"""Turns problem documents into HTML pages for browsers, whatever part of the service has sent them."""

import json
from typing import Any

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import Message, Scope, Send

from tuner.service.http.pages import CSP, problem_page
from tuner.service.problems import PROBLEM_JSON
from tuner.service.responses.query import HTML


def readable_problems(scope: Scope, send: Send) -> Send:
    """Return an ASGI `send` function that replaces a problem document by a page if the client prefers HTML.

    Args:
        scope: The request.
        send: Receives all other responses unchanged.
    """
    if not prefers_html(Headers(scope=scope).get("accept", "")):
        return send
    held: Message | None = None
    body = b""

    async def sending(message: Message) -> None:
        nonlocal held, body
        if message["type"] == "http.response.start":
            held, body = None, b""
            if Headers(raw=message["headers"]).get("content-type", "") == PROBLEM_JSON:
                held = message
                return
        if held is None:
            await send(message)
            return
        body += message.get("body", b"")
        if message.get("more_body", False):
            return
        page = problem_page(json.loads(body)).encode()
        headers = MutableHeaders(scope=held)
        headers["content-type"] = HTML
        headers["content-length"] = str(len(page))
        headers["content-security-policy"] = CSP
        await send(held)
        await send({"type": "http.response.body", "body": page})

    return sending


def prefers_html(accept: str) -> bool:
    """Return whether a client wants HTML rather than JSON, according to its Accept header, as browsers do.

    If a client names HTML or text, and accepts JSON only because of a wildcard with the same quality, it wants HTML.

    Source: RFC 9110, section 12.5.1 (Accept).
    """
    wanted = {}
    for part in accept.lower().split(","):
        kind, *parameters = (each.strip() for each in part.split(";"))
        values: dict[str, Any] = {
            name.strip(): value for name, _, value in (each.partition("=") for each in parameters)
        }
        wanted[kind] = _quality(values.get("q", "1"))
    # A range that names the type takes precedence over one with a wildcard.
    json_ranges = (PROBLEM_JSON, "application/json", "application/*", "*/*")
    json_range = next((each for each in json_ranges if each in wanted), "*/*")
    html, other = wanted.get("text/html", wanted.get("text/*", 0.0)), wanted.get(json_range, 0.0)
    return html > other or (html == other > 0 and json_range.endswith("*"))


def _quality(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return 0.0
