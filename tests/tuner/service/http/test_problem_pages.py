"""A browser gets a page where a program gets a problem document."""

import html
from urllib.parse import quote

import pytest

from tests.helpers.service_in_process import Service
from tests.helpers.stored_studies import write_study
from tuner.service.http.problem_pages import prefers_html

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.fixture
def service(service: Service) -> Service:
    """A service with one finished study."""
    write_study(service.root / "overnight")
    return service


@pytest.mark.parametrize(
    ("path", "query", "status"),
    [
        ("/studies/unknown", b"", 404),
        ("/nowhere/<script>alert(1)</script>", b"", 404),
        ("/studies/overnight/what-if", b"producers=0", 422),
        ("/studies/overnight/what-if", quote("linger.ms=<img src=x>", safe="=").encode(), 422),
        ("/", b"cursor=<b>", 422),
        ("/studies/overnight/front.png", b"record_bytes=7", 404),
        ("/v1/studies/unknown/report", b"", 404),
        ("/v1/studies", b"limit=<b>", 422),
    ],
)
def test_a_browser_gets_the_message_of_the_problem_as_a_page(
    service: Service, path: str, query: bytes, status: int
) -> None:
    problem = service.ask("GET", path, query)
    page = service.ask("GET", path, query, headers={"accept": BROWSER})
    assert (problem.status, problem.headers["content-type"]) == (status, "application/problem+json")
    assert (page.status, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert page.headers["content-length"] == str(len(page.body))
    assert "style-src 'self'" in page.headers["content-security-policy"]
    assert html.escape(problem.json["detail"], quote=False) in page.text.replace("&#39;", "'").replace("&#34;", '"')
    assert '<a href="/">all studies</a>' in page.text
    for text in ("<script>alert", "<img src=x", "<b>"):
        assert text not in page.text


def test_a_refused_request_is_a_page_too(service: Service) -> None:
    page = service.ask("GET", "/", headers={"accept": BROWSER, "x-forwarded-for": "10.0.0.1"})
    assert page.status == 403
    assert "<h1>Forbidden</h1>" in page.text
    assert "the header x-forwarded-for shows a proxy" in page.text


def test_programs_get_problem_documents_and_existing_pages_are_unchanged(service: Service) -> None:
    def asked(path: str, accept: str) -> str:
        return service.ask("GET", path, headers={"accept": accept}).headers["content-type"]

    for accept in ("", "*/*", "application/json", "application/json, text/html"):
        assert asked("/studies/unknown", accept) == "application/problem+json"
    assert asked("/studies/overnight", BROWSER).startswith("text/html")
    assert asked("/v1/studies/overnight", BROWSER) == "application/json"


@pytest.mark.parametrize(
    ("accept", "wanted"),
    [
        (BROWSER, True),
        ("text/html", True),
        ("TEXT/HTML; q=0.9 , */*; q=0.1", True),
        ("text/html;q=0.5, application/json", False),
        ("text/html, application/problem+json", False),
        ("text/html, */*", True),
        ("text/html, application/*", True),
        ("text/html;q=0.5, */*", False),
        ("text/*, application/json;q=0.5", True),
        ("text/html;q=0.1, text/*, application/json;q=0.5", False),
        ("text/html;q=0, */*;q=0", False),
        ("*/*", False),
        ("text/html;q=0", False),
        ("text/html;q=nan", False),
        ("text/html;q=;;,,", False),
        ("application/xhtml+xml", False),
    ],
)
def test_the_accept_header_decides(accept: str, wanted: bool) -> None:
    assert prefers_html(accept) is wanted
