"""The load generator is compiled once, also if two processes want it at the same time; releases come from Maven."""

import shutil
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from runners.errors import JarsUnavailable
from runners.host_processes.folders import cache_root
from runners.java_client.compiled import SOURCES, CompiledProgram
from runners.java_client.pinned_jars import CLIENT_JARS, HARNESS_JARS
from runners.java_runtime.pinned_jars import PINNED_JARS


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache that holds the jars, but no compiled classes."""
    names = ("java-client-4.3.1", "java-compiler")
    CompiledProgram.prepare("4.3.1")
    for name in names:
        for part in ("jars", "manifest.json"):
            source, target = cache_root() / name / part, tmp_path / name / part
            target.parent.mkdir(exist_ok=True)
            shutil.copytree(source, target) if source.is_dir() else shutil.copy(source, target)
    monkeypatch.setenv("KAFKA_TUNER_CACHE", str(tmp_path))
    monkeypatch.setenv("KAFKA_TUNER_MAVEN_REPOSITORY", "http://127.0.0.1:9")  # nobody listens there
    return tmp_path


def test_concurrent_first_uses_compile_once_and_leave_nothing(own_cache: Path) -> None:
    with ThreadPoolExecutor(3) as both:
        found = list(both.map(lambda _: CompiledProgram.prepare("4.3.1").class_path, range(3)))
    assert len(set(found)) == 1
    (classes,) = (own_cache / "java-client-4.3.1").glob("harness-*")
    assert found[0].startswith(str(classes))
    assert {path.stem for path in (classes / "harness").glob("*.class")} >= {
        path.stem for path in SOURCES.glob("*.java")
    }
    assert [path for path in (own_cache / "java-client-4.3.1").glob("compile-*") if path.is_dir()] == []


def test_what_a_killed_compilation_left_is_removed(own_cache: Path) -> None:
    left = own_cache / "java-client-4.3.1" / "compile-left"
    left.mkdir()
    CompiledProgram.prepare("4.3.1")
    assert not left.exists()


def test_a_release_that_can_not_be_found_gives_one_clear_error(own_cache: Path) -> None:
    with pytest.raises(
        JarsUnavailable, match=r"kafka-clients 3\.7\.0 could not be fetched from Maven's repository"
    ) as caught:
        CompiledProgram.prepare("3.7.0")
    assert "2.8.2, 3.9.1, 4.3.1 are tested" in str(caught.value)


@pytest.mark.parametrize("version", CLIENT_JARS)
def test_a_pinned_release_has_its_codecs_and_its_log(version: str) -> None:
    artifacts = [jar.coordinate.split(":")[1] for jar in CLIENT_JARS[version]]
    assert set(artifacts) == {"kafka-clients", "zstd-jni", "lz4-java", "snappy-java", "slf4j-api", "slf4j-simple"}
    assert f"org.apache.kafka:kafka-clients:{version}" in {jar.coordinate for jar in CLIENT_JARS[version]}


def test_the_broker_s_pins_are_used_for_what_both_need() -> None:
    assert len(HARNESS_JARS) == 5
    assert set(HARNESS_JARS) <= set(PINNED_JARS)
