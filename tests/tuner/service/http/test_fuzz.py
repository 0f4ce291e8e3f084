"""Random requests to all resources of the OpenAPI document: none is answered with a 5xx status."""

import json
import string
from typing import Any
from urllib.parse import quote, urlencode

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.helpers.serving import Serving

# The short campaign has a similar test, `test_schemathesis`.
pytestmark = pytest.mark.long

EXAMPLES = 400
NAMES = st.one_of(st.sampled_from(["overnight", "nobody", "..", "%2e%2e", "a" * 101]), st.text(max_size=20))
VALUES = st.one_of(
    NAMES,
    st.integers().map(str),
    st.floats().map(str),
    st.sampled_from(["1000", "100:70,1000:30", "1:1e999", "json", "text", "latency", "true", "", "\x00"]),
)


@pytest.fixture(scope="module")
def document(served: Serving) -> dict[str, Any]:
    found: dict[str, Any] = served.ask("GET", "/openapi.json").json
    return found


def operations(document: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [
        (path, method.upper(), operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if not path.endswith("/events")
    ]


def test_random_requests_cause_no_server_error(served: Serving, document: dict[str, Any]) -> None:
    problem = document["paths"]["/v1/studies"]["get"]["responses"]["422"]["content"]["application/problem+json"][
        "schema"
    ]
    seen: set[tuple[str, int]] = set()

    @settings(max_examples=EXAMPLES, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def fuzz(data: st.DataObject) -> None:
        path, method, operation = data.draw(st.sampled_from(operations(document)))
        query: dict[str, str] = {}
        for parameter in operation.get("parameters", ()):
            if parameter["in"] == "path":
                path = path.replace("{" + parameter["name"] + "}", quote(data.draw(NAMES), safe=""))
            elif parameter["in"] == "query" and data.draw(st.booleans()):
                query[parameter["name"]] = data.draw(VALUES)
        query_text = urlencode(query, errors="surrogatepass")
        headers, body = {}, None
        if method == "POST":
            kind = data.draw(st.sampled_from(["application/json", "application/yaml", "text/plain", ""]))
            headers = {"Content-Type": kind}
            body = data.draw(st.one_of(st.binary(max_size=300), bodies()))
        if data.draw(st.booleans()):
            headers["If-None-Match"] = data.draw(st.text(string.printable.strip(), max_size=30))
        found = served.ask(method, f"{path}?{query_text}" if query_text else path, body, headers)
        seen.add((method, found.status))
        assert found.status < 500, (method, path, query, body, found.body)
        if found.status >= 400:
            assert found.headers["content-type"] == "application/problem+json"
            jsonschema.validate(found.json, problem)

    fuzz()
    assert {status for _, status in seen} >= {200, 404, 422}
    assert served.ask("GET", "/readyz").status == 200


def bodies() -> st.SearchStrategy[bytes]:
    """Return JSON bodies with the keys of a study file and arbitrary values."""
    plain = st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
        max_leaves=5,
    )
    keys = ("study", "target", "targets", "workload", "search", "baseline", "space", "executor", "tracking", "confirm")
    return st.dictionaries(st.sampled_from(keys), plain, max_size=5).map(lambda value: json.dumps(value).encode())
