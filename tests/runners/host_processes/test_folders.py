"""The order of precedence for our folders: our own variables, the XDG variables, the home folder."""

from pathlib import Path

import pytest

from runners.host_processes.folders import cache_root, state_root


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("KAFKA_TUNER_CACHE", "KAFKA_TUNER_HOME", "XDG_CACHE_HOME", "XDG_STATE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


def test_the_default_is_below_the_home_folder(tmp_path: Path) -> None:
    assert cache_root() == tmp_path / "home/.cache/kafka-tuner"
    assert state_root() == tmp_path / "home/.local/state/kafka-tuner"


def test_xdg_folders_override_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "s"))
    assert cache_root() == tmp_path / "c/kafka-tuner"
    assert state_root() == tmp_path / "s/kafka-tuner"


def test_a_relative_xdg_folder_is_ignored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "somewhere")
    assert cache_root() == tmp_path / "home/.cache/kafka-tuner"


def test_one_variable_sets_both_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "c"))
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "own"))
    assert cache_root() == tmp_path / "own/cache"
    assert state_root() == tmp_path / "own/state"


def test_the_cache_can_be_shared_without_the_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_HOME", str(tmp_path / "own"))
    monkeypatch.setenv("KAFKA_TUNER_CACHE", str(tmp_path / "shared"))
    assert cache_root() == tmp_path / "shared"
    assert state_root() == tmp_path / "own/state"
