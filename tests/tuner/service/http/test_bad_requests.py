"""Bad requests, made from good ones with a seed, are refused with a message that names the place, and leave nothing."""

import gzip
import json
import random
from collections.abc import Iterator
from typing import Any, Final

import pytest
import yaml

from tests.helpers.service_in_process import Service
from tests.helpers.serving import study_file
from tests.helpers.stored_studies import write_study
from tests.security.mutations import ODD, flipped, mutated, try_all
from tests.security.test_bad_inputs import STUDIES, of_lengths

TEXTS: Final = (*STUDIES, study_file("first"), study_file("second", sizes="100, 1000"))
VALUES: Final[tuple[Any, ...]] = (
    *ODD, None, True, 0, -1, 1.5, 10**400, 1e308, float("nan"), float("inf"), [], {}, [[]], {"": {}}, "\ud800",
    "a\x00b", {"low": 1, "high": 0}, {"choices": []}, ["100", 100], "100:70,1000:30", "simulated", "embedded", "../x",
    "x" * 101,
)  # fmt: skip
TYPES: Final = (
    "application/json", "application/yaml", "application/JSON; charset=latin-1", "text/plain", "", "\x00", "x" * 9_000,
)  # fmt: skip
HEADERS: Final = (
    "host", "origin", "authorization", "content-length", "content-encoding", "transfer-encoding", "if-none-match",
    "last-event-id", "accept", "range", "cookie", "expect", "x-forwarded-for", "sec-fetch-site", "content-type",
)  # fmt: skip
PATHS: Final = (
    "/v1/studies", "/v1/studies/{}", "/v1/studies/{}/trials", "/v1/studies/{}/front", "/v1/studies/{}/status",
    "/v1/studies/{}/cancel", "/v1/studies/{}/pause", "/v1/studies/{}/resume", "/v1/studies/{}/report",
    "/v1/recommendation", "/studies/{}", "/studies/{}/front.png", "/", "/metrics", "/healthz", "/openapi.json", "/{}",
)  # fmt: skip
IN_A_STUDY: Final = ("results", "study.yaml")
PARAMETERS: Final = (
    "limit", "cursor", "after", "record_bytes", "format", "study", "goal", "max_p99_ms", "min_mb_per_s", "x",
)  # fmt: skip
GIVEN: Final = (*ODD, "1000", "%ff", "json", "%00", "a&b=;")
IN_HEADERS: Final = (*ODD, "gzip", "chunked", "http://[", "\xff", "Basic ====", "Bearer x")


@pytest.fixture
def service(service: Service) -> Service:
    """A service with one finished study."""
    write_study(service.root / "overnight")
    return service


def values_in(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of each value in a JSON document, except that of the document itself."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in inner:
        yield (*place, key)
        yield from values_in(each, (*place, key))


def bad_json(r: random.Random) -> bytes:
    """Return a study file in JSON with wrong values, keys, nesting or bytes."""
    document = yaml.safe_load(r.choice(TEXTS))
    for _ in range(r.randint(1, 3)):
        *outer, last = r.choice(list(values_in(document)))
        section = document
        for key in outer:
            section = section[key]
        if isinstance(section, dict) and r.random() < 0.3:
            section[str(r.choice(ODD))[:200]] = section.pop(last)
        else:
            section[last] = r.choice(VALUES)
    text = json.dumps(document, default=str, ensure_ascii=r.random() < 0.5)
    if r.random() < 0.1:
        text = text.replace('"', "[" * r.choice([1, 500, 20_000]), 1)
    body = text.encode(r.choice(["utf-8", "utf-8", "utf-8", "utf-16", "utf-8-sig"]), "surrogatepass")
    return flipped(r, body, 3) if r.random() < 0.2 else body


def bad_request(r: random.Random) -> tuple[str, str, bytes, bytes, dict[str, str]]:
    """Return method, path, query, body and headers."""
    headers: dict[str, str] = {}
    if r.random() < 0.7:
        in_json = r.random() < 0.5
        body = bad_json(r) if in_json else mutated(r, r.choice(TEXTS))
        body = gzip.compress(body) if r.random() < 0.02 else body
        kind = "application/json" if in_json else "application/yaml"
        headers["content-type"] = kind if r.random() < 0.9 else r.choice(TYPES)
        method, path = "POST", "/v1/studies"
    else:
        body = b""
        name = r.choice(["overnight", "overnight", "nobody", "..", "tokens.json", r.choice(ODD)])
        method, path = (
            r.choice(["GET", "GET", "GET", "POST", "DELETE", "PUT", "X"]),
            r.choice(PATHS).replace("{}", name),
        )
    given = (f"{r.choice(PARAMETERS)}={r.choice(GIVEN)}" for _ in range(r.choice([0, 0, 1, 2])))
    query = "&".join(given).encode("utf-8", "surrogatepass")
    if r.random() < 0.2:
        headers[r.choice(HEADERS)] = r.choice(IN_HEADERS)
    return method, path, query, body, headers


@of_lengths(60, 400, 3_000)
def test_a_bad_request_is_refused_with_the_place_and_leaves_nothing(first: int, count: int, service: Service) -> None:
    asked: tuple[Any, ...] = ()
    seen = set()

    def check(r: random.Random) -> None:
        nonlocal asked
        asked = bad_request(r)
        found = service.ask(*asked)
        seen.add(found.status)
        assert found.status < 500, found.body
        if found.status >= 400:
            assert found.headers["content-type"] == "application/problem+json"
            assert found.json["detail"]
            assert found.json["detail"].isprintable() or "\n  " in found.json["detail"]
        if found.status == 422 and asked[:2] == ("POST", "/v1/studies"):
            assert all(each["detail"] and (each["line"] or each["key"]) for each in found.json["errors"]), found.body

    try_all(first, count, check, lambda: asked)
    assert seen >= {200, 201, 404, 415, 422}
    # What was accepted waits in the queue; no study has a folder before it begins.
    assert {path.name.partition(".db")[0] for path in service.root.rglob("*")} == {"overnight", "service", *IN_A_STUDY}
