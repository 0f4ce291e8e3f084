"""HEAD returns what GET returns, without the content, and a wrong method is refused with the methods that exist."""

import pytest

from tests.helpers.serving import Serving


@pytest.mark.parametrize(
    "path",
    ["/", "/healthz", "/v1/studies", "/v1/studies/overnight/report", "/v1/studies/nobody", "/v1/studies/events"],
)
def test_head_returns_what_get_returns_without_the_content(served: Serving, path: str) -> None:
    got, head = served.ask("GET", path), served.ask("HEAD", path)
    assert (head.status, head.body) == (got.status, b"")
    assert {**head.headers, "date": ""} == {**got.headers, "date": ""}


def test_an_event_stream_has_no_head(served: Serving) -> None:
    refused = served.ask("HEAD", "/v1/studies/overnight/events")
    assert (refused.status, refused.headers["allow"]) == (405, "GET")


@pytest.mark.parametrize("path", ["/", "/submit", "/metrics"])
def test_a_page_names_the_methods_that_it_has(served: Serving, path: str) -> None:
    refused = served.ask("POST", path)
    assert (refused.status, refused.headers["allow"]) == (405, "GET, HEAD")
    assert refused.json["detail"] == "the method must be GET or HEAD here, but got POST"
