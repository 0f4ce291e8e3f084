"""A service with tokens: clients without one are refused, and a submitted study can neither read nor break anything."""

import base64
import os
import re
import socket
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.helpers.command import tuner
from tests.helpers.serving import Serving, serving, study_file
from tests.helpers.stored_studies import write_study
from tuner.client import Client, ServiceRefused

pytestmark = pytest.mark.campaign

SECRET = "hunter2-of-the-operator"
CONFIG = """\
environment: [ALLOWED]
max_body: 20000
targets:
  lab:
    bootstrap: 127.0.0.1:9
    command_config: lab.properties
"""


@dataclass(frozen=True, slots=True)
class Guarded:
    serving: Serving
    read: str
    submit: str

    def bearer(self, token: str) -> dict[str, str]:
        return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    root = folder / "studies"
    root.mkdir()
    write_study(root / "overnight")
    (folder / "lab.properties").write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.password={SECRET}\n")
    config = folder / "service.yaml"
    config.write_text(CONFIG)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(root))
        tokens = [
            tuner("serve", "token", "add", role, "--role", role, "--config", str(config)).out.strip()
            for role in ("read", "submit")
        ]
    environ = {"ALLOWED": "allowed-value", "FORBIDDEN": SECRET}
    with serving(root, "--config", str(config), environ=environ) as served:
        yield Guarded(served, *tokens)


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/v1/studies",
        "/v1/recommendation?study=overnight",
        "/metrics",
        "/openapi.json",
        "/v1/studies/overnight/report",
    ],
)
def test_requests_without_a_valid_token_are_refused(guarded: Guarded, path: str) -> None:
    wrong = guarded.read[:-1] + ("A" if guarded.read[-1] != "A" else "B")
    presented = [
        {},
        guarded.bearer(wrong),
        guarded.bearer(""),
        {"Authorization": guarded.read},
        guarded.bearer("ü" * 9),
    ]
    for headers in presented:
        found = guarded.serving.ask("GET", path, headers={k: v.encode().decode("latin-1") for k, v in headers.items()})
        assert found.status == 401
        assert found.headers["www-authenticate"].startswith("Bearer")
        assert b"overnight" not in found.body
        sent = headers.get("Authorization", "").removeprefix("Bearer ")
        wrong_token = bool(sent) and sent != guarded.read
        assert ("the token that was sent is not known here" in found.json["detail"]) is wrong_token
        assert ("the service needs a token" in found.json["detail"]) is not wrong_token
    assert guarded.serving.ask("GET", path, headers=guarded.bearer(guarded.read)).status == 200


def test_a_request_without_a_token_is_told_the_way_of_its_client(guarded: Guarded) -> None:
    program = guarded.serving.ask("GET", "/v1/studies").json["detail"]
    assert program == (
        "the service needs a token; the operator of the service makes tokens with `tuner serve token add`. "
        "Send the token as `Authorization: Bearer TOKEN`"
    )
    browser = guarded.serving.ask("GET", "/", headers={"Accept": "text/html"}).text
    assert "enter any user name, and the token as the password" in browser
    assert "Bearer" not in browser


def test_health_needs_no_token(guarded: Guarded) -> None:
    assert guarded.serving.ask("GET", "/healthz").status == 200


def test_the_page_of_a_refused_browser_has_its_style(guarded: Guarded) -> None:
    refused = guarded.serving.ask("GET", "/", headers={"Accept": "text/html"})
    assert refused.status == 401
    loaded = [*re.findall(r'(?:href|src)="(/static/[^"]+)"', refused.body.decode()), "/favicon.ico"]
    assert len(loaded) == 3
    kinds = [guarded.serving.ask("GET", path, headers={}).headers["content-type"].partition(";")[0] for path in loaded]
    assert kinds == ["text/css", "text/javascript", "image/svg+xml"]
    assert guarded.serving.ask("GET", "/static/plotly.js", headers={}).status == 401


def test_basic_authentication_may_read_but_not_change(guarded: Guarded) -> None:
    basic = {"Authorization": "Basic " + base64.b64encode(f"me:{guarded.submit}".encode()).decode()}
    assert guarded.serving.ask("GET", "/", headers=basic).status == 200
    refused = guarded.serving.ask("POST", "/v1/studies/overnight/cancel", headers=basic)
    assert (refused.status, refused.headers["www-authenticate"]) == (401, 'Bearer realm="kafka-tuner"')
    assert "can't have its token as a password (Basic authentication); the operator" in refused.json["detail"]
    assert refused.json["detail"].endswith(". Send the token as `Authorization: Bearer TOKEN`")


def test_a_read_token_changes_nothing(guarded: Guarded) -> None:
    reader = Client(guarded.serving.url, guarded.read)
    changes: list[Callable[[str], object]] = [reader.cancel, reader.pause, reader.resume, reader.submit]
    for change in changes:
        with pytest.raises(ServiceRefused, match="role submit") as refused:
            change("overnight")
        assert refused.value.status == 403
    assert guarded.serving.ask("DELETE", "/v1/studies/overnight", headers=guarded.bearer(guarded.read)).status == 403
    assert [study["name"] for study in reader.studies()] == ["overnight"]


def test_a_command_with_a_wrong_token_says_where_the_token_comes_from(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "orders.yaml"
    file.write_text("study: orders\nworkload: {record_bytes: 100}\n")
    for token, told in (
        ("wrong", "the token that was sent is not known here; the operator of the service makes tokens with"),
        (guarded.read, "this request needs a token of role submit, but"),
    ):
        monkeypatch.setenv("KAFKA_TUNER_TOKEN", token)
        refused = tuner("--server", guarded.serving.url, "run", str(file))
        assert refused.code == 1
        assert told in refused.complaint
        assert refused.complaint.endswith(". Set KAFKA_TUNER_TOKEN or KAFKA_TUNER_TOKEN_FILE")
        assert "Bearer" not in refused.complaint


def test_a_removed_token_is_refused_at_once(guarded: Guarded) -> None:
    file = guarded.serving.root / "tokens.json"
    config = guarded.serving.root.parent / "service.yaml"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(guarded.serving.root))
        token = tuner("serve", "token", "add", "leaver", "--config", str(config)).out.strip()
        assert guarded.serving.ask("GET", "/v1/studies", headers=guarded.bearer(token)).status == 200
        assert tuner("serve", "token", "remove", "leaver", "--config", str(config)).code == 0
    assert guarded.serving.ask("GET", "/v1/studies", headers=guarded.bearer(token)).status == 401
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert token not in file.read_text()


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("baseline: /etc/passwd", "baseline"),
        ("baseline: {ssl.ca.location: /etc/passwd}", "baseline.ssl.ca.location"),
        ("target: {name: lab, command_config: /etc/passwd}", "target.command_config"),
        ("target: {bootstrap: 'evil:9092'}", "target.bootstrap"),
        ("target: {name: lab, properties: {ssl.ca.location: /etc/passwd}}", "target.properties"),
        ("target: {container: 'evil/image'}", "target.container"),
        ("target: elsewhere", "target"),
        ("targets: [{command_config: /etc/passwd}]", "targets[0].command_config"),
        ("targets: [lab, lab]", "targets"),
        ("tracking: {uri: 'file:///etc'}", "tracking.uri"),
        ("executor: {kind: ray, ray_address: 'evil:6379'}", "executor.ray_address"),
        ("constraints: ['${FORBIDDEN}']", "constraints[0]"),
        ("constraints: ['${FORBIDDEN:-x}']", "constraints[0]"),
        ("constraints: ['${HOME}']", "constraints[0]"),
        ("constraints: ['${NOT_THERE}']", "constraints[0]"),
    ],
)
def test_submitted_studies_cannot_reach_the_host(guarded: Guarded, text: str, word: str) -> None:
    asked = f"study: trick\nworkload: {{record_bytes: 100}}\n{text}\n"
    found = guarded.serving.submit(asked, **guarded.bearer(guarded.submit))
    assert found.status == 422
    assert word in {each["key"] for each in found.json["errors"]}
    assert all(each["line"] == 3 for each in found.json["errors"] if each["key"] == word)
    assert SECRET not in found.text
    assert "root:" not in found.text


def test_only_allowed_environment_variables_can_be_used(guarded: Guarded) -> None:
    words = {
        name: guarded.serving.submit(
            f"study: trick\nworkload: {{record_bytes: '${{{name}}}'}}\n", **guarded.bearer(guarded.submit)
        ).json["errors"][0]["detail"]
        for name in ("ALLOWED", "FORBIDDEN", "NOT_THERE")
    }
    assert words["FORBIDDEN"] == words["NOT_THERE"]
    assert words["ALLOWED"] != words["FORBIDDEN"]
    assert "allowed-value" not in words["ALLOWED"]


BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n" for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)


@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (BOMB, "application/yaml", 422),
        ("[" * 9_000, "application/yaml", 422),
        ("[" * 9_000, "application/json", 422),
        ('{"a":' * 3_000, "application/json", 422),
        ('{"study": "a", "study": "b"}', "application/json", 422),
        ('{"workload": NaN}', "application/json", 422),
        ("9" * 9_000, "application/json", 422),
        ("!!python/object/apply:os.system ['id']", "application/yaml", 422),
        ("", "application/yaml", 422),
        ("\x00", "application/yaml", 422),
        ("study: [unclosed", "application/yaml", 422),
        ("study: a", "text/plain", 415),
        ("study: a", "multipart/form-data; boundary=x", 415),
        ("study: " + "a" * 20_000, "application/yaml", 413),
    ],
)
def test_malicious_and_malformed_bodies_are_refused(guarded: Guarded, body: str, kind: str, status: int) -> None:
    found = guarded.serving.submit(body, kind, **guarded.bearer(guarded.submit))
    assert found.status == status
    assert found.headers["content-type"] == "application/problem+json"


def test_a_body_that_is_not_utf8_is_refused(guarded: Guarded) -> None:
    headers = {"Content-Type": "application/yaml", **guarded.bearer(guarded.submit)}
    assert guarded.serving.ask("POST", "/v1/studies", b"study: \xff\xfe", headers).status == 422


def test_an_endless_body_is_cut_off(guarded: Guarded) -> None:
    head = (
        f"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {guarded.submit}\r\n"
        "Content-Type: application/yaml\r\nTransfer-Encoding: chunked\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", guarded.serving.port), timeout=60) as stream:
        stream.sendall(head)
        for _ in range(30):
            try:
                stream.sendall(b"400\r\n" + b"a" * 1024 + b"\r\n")
            except OSError:
                break
        assert b" 413 " in stream.recv(200)


def test_a_huge_content_length_is_refused_before_reading(guarded: Guarded) -> None:
    head = (
        f"POST /v1/studies HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {guarded.submit}\r\n"
        "Content-Type: application/yaml\r\nContent-Length: 99999999999\r\n\r\n"
    ).encode()
    with socket.create_connection(("127.0.0.1", guarded.serving.port), timeout=60) as stream:
        stream.sendall(head)
        assert b" 413 " in stream.recv(200)


@pytest.mark.parametrize("headers", [{"Origin": "https://evil.example"}, {"Sec-Fetch-Site": "cross-site"}])
def test_pages_of_other_sites_cannot_change_anything(guarded: Guarded, headers: dict[str, str]) -> None:
    found = guarded.serving.submit(study_file("csrf"), **guarded.bearer(guarded.submit), **headers)
    assert found.status == 403


def test_responses_carry_security_headers(guarded: Guarded) -> None:
    for path in ("/", "/v1/studies", "/nothing"):
        found = guarded.serving.ask("GET", path, headers=guarded.bearer(guarded.read))
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in found.headers["content-security-policy"]
        assert "unsafe" not in found.headers["content-security-policy"]
        assert "access-control-allow-origin" not in found.headers


def test_no_secret_is_logged_or_stored(guarded: Guarded) -> None:
    served = guarded.serving
    assert served.ask("GET", f"/v1/studies?token={guarded.read}", headers=guarded.bearer(guarded.read)).status == 422
    served.ask("GET", "/v1/x%0a2026-forged", headers=guarded.bearer(guarded.read))
    assert (
        served.submit(
            "study: at-lab\ntarget: lab\nworkload: {record_bytes: 100}\n", **guarded.bearer(guarded.submit)
        ).status
        == 201
    )
    Client(served.url, guarded.submit).cancel("at-lab")
    kept = served.said() + "".join(
        path.read_bytes().decode("latin-1") for path in served.root.rglob("*") if path.is_file()
    )
    for secret in (guarded.read, guarded.submit, SECRET):
        assert secret not in kept
    assert "\n2026-forged" not in served.said()


def test_without_tokens_only_loopback_host_names_are_allowed(tmp_path: Path) -> None:
    with serving(tmp_path / "studies") as served:
        assert served.ask("GET", "/v1/studies").status == 200
        assert served.ask("GET", "/v1/studies", headers={"Host": f"localhost:{served.port}"}).status == 200
        for host in ("evil.example", f"evil.example:{served.port}", "127.0.0.1.evil.example", "[bad"):
            found = served.ask("GET", "/v1/studies", headers={"Host": host})
            assert found.status in (400, 421)


def test_listening_beyond_loopback_needs_tokens(tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
        for host in ("0.0.0.0", "::", "192.0.2.1", "example.org"):
            refused = tuner("serve", "--host", host, "--port", "0")
            assert refused.code == 1
            assert "needs tokens" in refused.complaint
        assert tuner("serve", "token", "add", "one").code == 0
        os.chmod(tmp_path / "tokens.json", 0o644)  # noqa: PTH101
        assert "chmod 600" in tuner("serve", "--port", "0").complaint


def test_without_tokens_nobody_comes_in_through_a_proxy(tmp_path: Path) -> None:
    with serving(tmp_path / "studies") as served:
        for name in ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Proto", "X-Real-IP"):
            found = served.ask("GET", "/v1/studies", headers={name: "192.0.2.1"})
            assert found.status == 403
            assert f"the header {name.lower()} shows a proxy" in found.json["detail"]
        assert served.ask("GET", "/v1/studies").status == 200


def test_names_of_other_hosts_need_tokens(tmp_path: Path) -> None:
    config = tmp_path / "service.yaml"
    config.write_text("port: 0\nallowed_hosts: [localhost, tuner.example]\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path / "studies"))
        refused = tuner("serve", "--config", str(config))
        assert refused.code == 1
        assert "(tuner.example) needs tokens" in refused.complaint
        (tmp_path / "studies").mkdir(exist_ok=True)
        token = tuner("serve", "token", "add", "me", "--config", str(config)).out.strip()
    headers = {"Host": "tuner.example", "X-Forwarded-For": "192.0.2.1"}
    with serving(tmp_path / "studies", "--config", str(config)) as served:
        assert served.ask("GET", "/v1/studies", headers=headers).status == 401
        with_token = {**headers, "Authorization": f"Bearer {token}"}
        assert served.ask("GET", "/v1/studies", headers=with_token).status == 200
        assert served.ask("GET", "/v1/studies", headers={**with_token, "Host": "other.example"}).status == 421
