"""Jars are fetched once, checked, and repaired. A Maven repository on loopback replaces the real one."""

import hashlib
import json
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from runners.errors import JarsUnavailable
from runners.java_runtime.jars import JarFolder
from runners.java_runtime.pinned_jars import KAFKA_VERSION, PINNED_JARS, PinnedJar

CONTENT = {f"org.example:part{n}:1.{n}": f"jar number {n} ".encode() * 2000 for n in range(3)}
PINNED = [
    PinnedJar(coordinate, len(content), hashlib.sha256(content).hexdigest()) for coordinate, content in CONTENT.items()
]

WHAT = "the Java compiler"


class Repository:
    """A Maven repository that records the requests it gets."""

    def __init__(self) -> None:
        self.files = {
            f"/org/example/{name}/{version}/{name}-{version}.jar": content
            for (_, name, version), content in ((c.split(":"), content) for c, content in CONTENT.items())
        }
        self.requests: list[str] = []
        self.cut_after: int | None = None

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        content = self.files.get(handler.path)
        if content is None:
            handler.send_error(404)
            return
        self.requests.append(handler.path)
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: self.cut_after])


@pytest.fixture
def repository(monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    served = Repository()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            served.answer(self)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    monkeypatch.setenv("KAFKA_TUNER_MAVEN_REPOSITORY", f"http://127.0.0.1:{server.server_port}/")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    yield served
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def jars(tmp_path: Path) -> JarFolder:
    return JarFolder(tmp_path / "kafka", PINNED, WHAT)


def paths(class_path: str) -> list[Path]:
    return [Path(path) for path in class_path.split(":")]


def test_the_first_use_fetches_and_reports_progress(
    jars: JarFolder, repository: Repository, capfd: pytest.CaptureFixture[str]
) -> None:
    told: list[str] = []
    found = paths(jars.class_path(told.append))
    assert [path.read_bytes() for path in found] == list(CONTENT.values())
    assert [line.partition(": ")[2] for line in told] == ["0 of 3 jars", "3 of 3 jars"]
    assert WHAT in told[0]
    assert capfd.readouterr() == ("", "")


def test_the_second_use_makes_no_request(jars: JarFolder, repository: Repository) -> None:
    first = jars.class_path()
    repository.requests.clear()
    assert jars.class_path() == first
    assert repository.requests == []


def test_a_truncated_jar_is_fetched_again_and_no_other_is(jars: JarFolder, repository: Repository) -> None:
    half = paths(jars.class_path())[1]
    repository.requests.clear()
    half.write_bytes(half.read_bytes()[:100])
    jars.class_path()
    assert half.read_bytes() == CONTENT[PINNED[1].coordinate]
    assert repository.requests == ["/org/example/part1/1.1/part1-1.1.jar"]


def test_a_jar_of_the_right_size_but_other_content_is_fetched_again(jars: JarFolder, repository: Repository) -> None:
    changed = paths(jars.class_path())[2]
    changed.write_bytes(bytes(len(changed.read_bytes())))
    jars.class_path()
    assert changed.read_bytes() == CONTENT[PINNED[2].coordinate]


def test_a_truncated_manifest_leads_to_a_check_but_no_download(jars: JarFolder, repository: Repository) -> None:
    jars.class_path()
    repository.requests.clear()
    manifest = jars.root / "manifest.json"
    whole = manifest.read_text()
    manifest.write_text(whole[: len(whole) // 2])
    jars.class_path()
    assert repository.requests == []
    assert json.loads(manifest.read_text()) == json.loads(whole)


def test_an_interrupted_download_is_continued_at_the_next_run(jars: JarFolder, repository: Repository) -> None:
    (missing,) = [path for path in repository.files if "part2" in path]
    content = repository.files.pop(missing)
    with pytest.raises(JarsUnavailable, match="part2"):
        jars.class_path()
    repository.files[missing] = content
    repository.requests.clear()
    jars.class_path()
    assert repository.requests == [missing]


def test_files_of_a_killed_download_are_removed(jars: JarFolder, repository: Repository) -> None:
    left = jars.root / "download-killed" / "org"
    left.mkdir(parents=True)
    jars.class_path()
    assert sorted(path.name for path in jars.root.iterdir()) == ["jars", "lock", "manifest.json"]


def test_a_truncated_answer_is_never_kept(jars: JarFolder, repository: Repository) -> None:
    repository.cut_after = 1000
    with pytest.raises(JarsUnavailable, match="could not be fetched"):
        jars.class_path()
    assert list((jars.root / "jars").iterdir()) == []


def test_a_file_that_differs_from_the_pinned_one_is_refused(jars: JarFolder, repository: Repository) -> None:
    for path in repository.files:
        repository.files[path] = b"something else"
    with pytest.raises(JarsUnavailable, match="does not have the pinned SHA-256"):
        jars.class_path()


def test_without_network_there_is_one_clear_error(jars: JarFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_MAVEN_REPOSITORY", "http://127.0.0.1:1")
    with pytest.raises(JarsUnavailable, match="run again when the network is back") as caught:
        jars.class_path()
    assert "Connection refused" in str(caught.value)
    assert f"one of the jars of {WHAT}, could not be fetched" in str(caught.value)


def test_an_unwritable_cache_gives_one_clear_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(
        JarsUnavailable, match=rf"^the jars of {WHAT} could not be stored .* KAFKA_TUNER_CACHE to another folder"
    ):
        JarFolder(tmp_path / "file" / "kafka", PINNED, WHAT).class_path()


def test_two_callers_at_once_fetch_each_jar_once(tmp_path: Path, repository: Repository) -> None:
    with ThreadPoolExecutor(2) as both:
        results = list(both.map(lambda _: JarFolder(tmp_path / "kafka", PINNED, WHAT).class_path(), range(2)))
    assert results[0] == results[1]
    assert sorted(repository.requests) == sorted(repository.files)


def test_pinned_jars_are_of_one_kafka_version_and_differ_by_name() -> None:
    kafka = [jar.coordinate for jar in PINNED_JARS if jar.coordinate.startswith("org.apache.kafka:")]
    assert {"org.apache.kafka:kafka_2.13:4.3.1", "org.apache.kafka:kafka-tools:4.3.1"} <= set(kafka)
    assert {coordinate.split(":")[2] for coordinate in kafka} == {KAFKA_VERSION}
    assert len({jar.file_name for jar in PINNED_JARS}) == len(PINNED_JARS)
    assert any("log4j-slf4j-impl" in jar.coordinate for jar in PINNED_JARS), "the broker would not log"
