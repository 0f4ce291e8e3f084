"""No value of a parameter, a header or a body makes the service fail: the requests come from its OpenAPI document."""

import gzip
import io
import json
import logging
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

import pytest

from tests.helpers.service_in_process import in_process
from tests.helpers.serving import Serving, serving
from tests.helpers.stored_studies import write_study
from tests.helpers.waiting import eventually
from tuner.model.errors import StorageUnreachable
from tuner.model.study_files import RESULTS_FILE
from tuner.service.http.server import LineFormatter
from tuner.service.problems import problem_of

NAME: Final = {"name": "study", "in": "path", "required": True}
PAGES: Final[dict[str, list[dict[str, Any]]]] = {
    "/": [{"name": "cursor", "in": "query"}],
    "/studies/{study}": [NAME],
    "/studies/{study}/front.png": [NAME, {"name": "record_bytes", "in": "query"}],
    "/studies/{study}/what-if": [
        NAME,
        *({"name": name, "in": "query"} for name in ("partitions", "linger.ms", "disk_gb", "brokers", "no.such")),
    ],
    "/submit": [],
    "/favicon.ico": [],
    "/static/page.js": [],
    "/static/style.css": [],
}
"""The pages, which the OpenAPI document leaves out."""
GOOD: Final = {"study": "overnight", "record_bytes": "1000"}
BAD: Final = [
    "", "0", "-1", "1.5", "1e999", "nan", "9" * 30, "9" * 6_000, "a" * 6_000, "[", "http://[", "..", "~", "~..", "%",
    "\x00", "\n", "\x1b[2J", "'\"<>", "\u0661", "\U0001f984", "100:70,1000:30", "1000:", ":", "1000:nan", "true",
]  # fmt: skip
HEADERS: Final = (
    "Origin", "Referer", "Authorization", "If-None-Match", "Last-Event-ID", "Content-Type", "Accept", "Range", "Cookie",
)  # fmt: skip
BODIES: Final = (b"", b"\x00", b"\xff", b"[", b"{}", b"null", b"study: x", gzip.compress(b"study: x"), b"9" * 6_000)


def operations(served: Serving) -> Iterator[tuple[str, str, list[dict[str, Any]]]]:
    """Yield path, method and parameters of each operation."""
    for path, methods in served.ask("GET", "/openapi.json").json["paths"].items():
        for method, operation in methods.items():
            if path.endswith("/remove"):
                continue  # it would take the study away from the other requests
            yield path, method.upper(), operation.get("parameters", [])
    for path, parameters in PAGES.items():
        yield path, "GET", parameters


def requests(
    path: str, method: str, parameters: list[dict[str, Any]]
) -> Iterator[tuple[str, str, bytes | None, dict[str, str]]]:
    """Yield bad requests. Each is a good request in which one value was replaced by a bad one."""

    def target(**values: str | None) -> str:
        given = {**{each["name"]: GOOD.get(each["name"]) for each in parameters if each["in"] != "header"}, **values}
        asked = "&".join(
            f"{each['name']}={quote(value, safe='')}"
            for each in parameters
            if each["in"] == "query" and (value := given[each["name"]]) is not None
        )
        return path.replace("{study}", quote(given.get("study") or "", safe="")) + (f"?{asked}" if asked else "")

    for each in parameters:
        if each["in"] == "header":
            continue
        yield method, target(**{each["name"]: None}), None, {}
        for value in BAD:
            yield method, target(**{each["name"]: value}), None, {}
    for name in HEADERS:
        for value in ("", "0", "http://[", "9" * 6_000, "'\"<>%"):
            yield method, target(), None, {name: value}
    for body in BODIES if method == "POST" else ():
        for kind in ("application/yaml", "application/json", "text/plain"):
            yield method, target(), body, {"Content-Type": kind}


@pytest.mark.long
def test_no_value_of_any_parameter_causes_a_server_error(served: Serving) -> None:
    seen: dict[str, set[int]] = {}
    for path, method, parameters in operations(served):
        for asked in requests(path, method, parameters):
            status = served.ask(*asked).status
            seen.setdefault(f"{method} {path}", set()).add(status)
            assert status < 500, asked
    assert {status for statuses in seen.values() for status in statuses} >= {200, 403, 404, 415, 422}
    assert seen["GET /studies/{study}/front.png"] >= {200, 404, 422}
    assert served.ask("GET", "/readyz").status == 200
    assert "Traceback" not in served.said()


def test_a_missing_parameter_is_named(served: Serving) -> None:
    refused = served.ask("GET", "/studies/overnight/front.png")
    assert refused.status == 422
    assert refused.headers["content-type"] == "application/problem+json"
    assert [each["key"] for each in refused.json["errors"]] == ["query.record_bytes"]


@pytest.mark.parametrize(
    ("method", "path", "unknown", "known"),
    [
        ("POST", "/v1/studies/overnight/confirm?round=3", "round", "one of goal, rounds, max_rounds, "),
        ("GET", "/v1/recommendation?study=overnight&record_byte=77", "record_byte", "one of study, record_bytes, goal"),
        ("GET", "/v1/studies/overnight/prediction?set=linger.ms%3D5&lingr=5", "lingr", "one of set, record_bytes, "),
        ("POST", "/v1/studies/overnight/cancel?x=1", "x", "no query parameters"),
    ],
)
def test_an_unknown_parameter_is_refused(served: Serving, method: str, path: str, unknown: str, known: str) -> None:
    refused = served.ask(method, path)
    assert refused.status == 422, refused.text
    assert refused.headers["content-type"] == "application/problem+json"
    assert known in refused.json["detail"]
    assert [each["key"] for each in refused.json["errors"]] == [f"query.{unknown}"]


def test_a_parameter_with_one_value_is_refused_if_it_is_given_twice(served: Serving) -> None:
    two = served.ask("GET", "/v1/studies/first/prediction?sweep=linger.ms=1,2&sweep=partitions=1..3")
    assert two.status == 422
    assert two.json["detail"] == "query.sweep: must be given once, but got 'linger.ms=1,2' and 'partitions=1..3'"
    several = served.ask("GET", "/v1/studies/first/prediction?set=linger.ms=1&set=linger.ms=2")
    assert several.json["detail"] == "query.set: must name a property only once, but got linger.ms twice"


def test_every_resource_takes_its_own_parameters_and_no_others(tmp_path: Path) -> None:
    (tmp_path / "studies").mkdir()
    with in_process(tmp_path / "studies") as service:
        paths = service.ask("GET", "/openapi.json").json["paths"]
        for path, methods in paths.items():
            for method, operation in methods.items() if path.startswith("/v1") else ():
                known = [each["name"] for each in operation.get("parameters", ()) if each["in"] == "query"]
                place = path.replace("{study}", "nobody")
                own = service.ask(method.upper(), place, "&".join(f"{each}=" for each in known).encode())
                assert "query parameter" not in own.text, (method, path)
                other = service.ask(method.upper(), place, b"no_such=1")
                assert (other.status, "no_such" in other.text) == (422, True), (method, path)


def test_a_damaged_trial_is_named_on_every_page_because_the_values_depend_on_all_trials(served: Serving) -> None:
    write_study(served.root / "damaged")
    with closing(sqlite3.connect(served.root / "damaged" / RESULTS_FILE)) as db, db:
        db.execute("UPDATE trials SET body = 'no JSON' WHERE sequence > 2")
    refused = served.ask("GET", "/v1/studies/damaged/trials?limit=2")
    assert refused.status == 404
    assert "the stored results of damaged can't be read, because a trial" in refused.json["detail"]
    assert str(served.root) not in refused.text
    for shown in ("/v1/studies/damaged", "/v1/studies/damaged/status", "/studies/damaged"):
        assert "the stored results of damaged can" in served.ask("GET", shown).text
    eventually(lambda: "row 3 of the trials in" in served.said())


def test_an_unreachable_database_is_not_described_to_clients_without_a_token(tmp_path: Path) -> None:
    root = tmp_path / "studies"
    with serving(root) as served:
        (root / "tokens.json").write_text("{}")
        (root / "tokens.json").chmod(0o600)
        found = served.ask("GET", "/v1/studies")
        assert found.status == 503
        assert json.loads(found.body)["detail"] == "the service can't answer at the moment; its log has the details"
        assert str(root) in eventually(lambda: "tokens.json" in served.said() and served.said())


def test_an_unexpected_error_is_a_problem_document_and_is_logged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "studies").mkdir()
    with in_process(tmp_path / "studies") as service:
        monkeypatch.setattr(service.queue, "counts", lambda: int("hidden"))
        found = service.ask("GET", "/readyz")
    assert (found.status, found.headers["content-type"]) == (500, "application/problem+json")
    assert found.json["type"].endswith("/defect")
    assert "hidden" not in found.text
    assert "a request failed because of a defect" in caplog.text
    assert "invalid literal for int() with base 10: 'hidden'" in caplog.text


def test_the_address_of_the_database_is_logged_but_not_sent(caplog: pytest.LogCaptureFixture) -> None:
    problem = problem_of(StorageUnreachable("the database of kafka@db.internal does not answer"))
    assert problem.status == 503
    assert "db.internal" not in json.dumps(problem.as_json())
    assert "db.internal" in caplog.text


def test_a_text_from_outside_cannot_forge_a_line_of_the_log(tmp_path: Path) -> None:
    with serving(tmp_path / "studies\n2026-11-23 forged\x1b[2J") as served:
        assert r"studies\n2026-11-23 forged\x1b[2J" in served.said()
        assert "\n2026-11-23 forged" not in served.said()


def test_log_records_and_their_errors_stay_apart() -> None:
    written = io.StringIO()
    handler = logging.StreamHandler(written)
    handler.setFormatter(LineFormatter("now %(message)s"))
    log = logging.Logger("test")
    log.addHandler(handler)
    log.info("refused: %s", "a\nnow forged \x1b[2J\u2028")
    try:
        raise ValueError("a\nnow forged \x9b2J")
    except ValueError:
        log.exception("failed")
    lines = written.getvalue().splitlines()
    assert lines[0] == r"now refused: a\nnow forged \x1b[2J\u2028"
    assert lines[-1] == r"    now forged \x9b2J"
    assert [line for line in lines if line.startswith("now")] == [lines[0], "now failed"]
