"""The health check of the image, with different command lines and real servers."""

import http.server
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.container_health import look
from tests.security.certificates import Authority


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/healthz", "/health") else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def port() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield str(server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.fixture
def port_with_tls(tmp_path: Path) -> Iterator[str]:
    """The port of a server whose certificate is for another name than the address, and is signed by nobody known."""
    identity = Authority.make().identity("tuner.example", ("tuner.example",))
    (tmp_path / "both.pem").write_text(f"{identity.key}{identity.chain}")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(tmp_path / "both.pem")
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield str(server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.fixture
def nobody() -> Iterator[str]:
    """A port that nobody listens on, and that no other process can take."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield str(taken.getsockname()[1])


@pytest.mark.parametrize("form", [["--port", "{}"], ["--port={}"]])
def test_the_service_is_checked_over_http(port: str, form: list[str]) -> None:
    words = ["tini", "--", "tuner", "serve", *(word.format(port) for word in form)]
    assert look(words) == f"http://127.0.0.1:{port}/healthz answers 200"


def test_a_service_with_tls_is_healthy(port_with_tls: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert look(["tuner", "serve", "--port", port_with_tls]) == f"https://127.0.0.1:{port_with_tls}/healthz answers 200"
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", f"https://127.0.0.1:{port_with_tls}/health")
    assert look(["tuner", "serve"]).endswith("/health answers 200")


def test_a_service_that_does_not_answer_is_unhealthy(nobody: str) -> None:
    with pytest.raises(OSError, match="refused"):
        look(["tini", "--", "tuner", "serve", "--port", nobody])


def test_a_given_url_is_checked_whatever_the_command(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", f"http://127.0.0.1:{port}/health")
    assert look(["tini", "--", "mlflow", "server"]).endswith("/health answers 200")
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", f"http://127.0.0.1:{port}/broken")
    with pytest.raises(OSError, match="503"):
        look(["tini", "--", "mlflow", "server"])


def test_proxy_settings_are_ignored(port: str, nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{nobody}")
    assert look(["tuner", "serve", "--port", port]).endswith("answers 200")


def test_only_http_urls_are_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", "file:///etc/passwd")
    with pytest.raises(OSError, match="must start with http"):
        look(["tuner", "serve"])


def test_a_broker_must_listen(port: str, nobody: str) -> None:
    assert look(["tini", "--", "tuner", "broker", "run", "--listen", f"0.0.0.0:{port}"]) == f"listens at 0.0.0.0:{port}"
    with pytest.raises(OSError, match="refused"):
        look(["tini", "--", "tuner", "broker", "run", f"--listen=0.0.0.0:{nobody}"])


@pytest.mark.parametrize("words", [["run", "study.yaml"], ["serve", "token", "add", "me"], ["bench"], []])
def test_other_commands_are_healthy_while_they_run(words: list[str]) -> None:
    assert look(["tini", "--", "tuner", *words]) == "runs"
