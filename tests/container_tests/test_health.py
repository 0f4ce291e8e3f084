"""The image's health check, asked about command lines and real listeners."""

import http.server
import socket
import threading
from collections.abc import Iterator

import pytest

from scripts.container_health import look


class _Answers(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200 if self.path in ("/healthz", "/health") else 503)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def port() -> Iterator[str]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Answers) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield str(server.server_address[1])
        server.shutdown()
        thread.join()


@pytest.fixture
def nobody() -> Iterator[str]:
    """A port at which nobody listens, and nobody else will."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield str(taken.getsockname()[1])


@pytest.mark.parametrize("form", [["--port", "{}"], ["--port={}"]])
def test_the_service_is_asked(port: str, form: list[str]) -> None:
    words = ["tini", "--", "tuner", "serve", *(word.format(port) for word in form)]
    assert look(words) == f"http://127.0.0.1:{port}/healthz answers 200"


def test_a_service_that_does_not_answer_is_ill(nobody: str) -> None:
    with pytest.raises(OSError, match="refused"):
        look(["tini", "--", "tuner", "serve", "--port", nobody])


def test_an_address_that_is_given_is_asked_whatever_runs(port: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", f"http://127.0.0.1:{port}/health")
    assert look(["tini", "--", "mlflow", "server"]).endswith("/health answers 200")
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", f"http://127.0.0.1:{port}/broken")
    with pytest.raises(OSError, match="503"):
        look(["tini", "--", "mlflow", "server"])


def test_no_proxy_is_asked(port: str, nobody: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{nobody}")
    assert look(["tuner", "serve", "--port", port]).endswith("answers 200")


def test_nothing_but_http_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_HEALTH_URL", "file:///etc/passwd")
    with pytest.raises(OSError, match="must start with http"):
        look(["tuner", "serve"])


def test_a_broker_must_listen(port: str, nobody: str) -> None:
    assert look(["tini", "--", "tuner", "broker", "run", "--listen", f"0.0.0.0:{port}"]) == f"listens at 0.0.0.0:{port}"
    with pytest.raises(OSError, match="refused"):
        look(["tini", "--", "tuner", "broker", "run", f"--listen=0.0.0.0:{nobody}"])


@pytest.mark.parametrize("words", [["run", "study.yaml"], ["serve", "token", "add", "me"], ["bench"], []])
def test_what_ends_by_itself_is_well_while_it_runs(words: list[str]) -> None:
    assert look(["tini", "--", "tuner", *words]) == "runs"
