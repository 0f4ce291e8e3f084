"""Output that goes to a pipe or a file is never wrapped or cut."""

import os
import pty
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.command import arguments, tuner
from tests.helpers.stored_studies import write_study
from tuner.model.trial import Trial
from tuner.storage.locations import ROOT_VARIABLE

LONG = "orders-" + "0123456789" * 20
PROPERTIES = {"max.in.flight.requests.per.connection": "5", "queue.buffering.max.messages": "1234567"}


@pytest.fixture(autouse=True)
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    monkeypatch.setenv("COLUMNS", "40")
    write_study(tmp_path / "overnight", change=_with_long_properties, facts={"name": LONG})
    return tmp_path


def _with_long_properties(trial: Trial) -> Trial:
    return replace(trial, values={**trial.values, **PROPERTIES}) if trial.values else trial


@pytest.mark.parametrize("command", ["front", "recommend", "explain", "status"])
def test_long_names_stay_in_one_line(command: str) -> None:
    shown = tuner(command, "overnight")
    assert shown.code == 0, shown.err
    assert LONG in shown.out
    if command in ("front", "recommend"):
        for name, value in PROPERTIES.items():
            assert f"{name}={value}" in shown.out


def test_tables_and_sentences_stay_in_one_line(studies: Path) -> None:
    # The titles of tables and the sentences below them name the studies.
    write_study(studies / "other")
    compared = tuner("compare", "overnight", "other").out
    (heading,) = (line for line in compared.splitlines() if "goal" in line)
    assert LONG in heading
    told = [line for line in tuner("status", "overnight").out.splitlines() if line.startswith("recommended")]
    assert len(told) == 3, "there is one line for each goal"
    assert min(map(len, told)) > 80


def test_the_lines_of_a_plan_and_of_a_run_are_whole(tmp_path: Path) -> None:
    path = tmp_path / "long.yaml"
    path.write_text(
        "study: long\nworkload: {record_bytes: 100}\nbaseline: {max.in.flight.requests.per.connection: 7}\n"
        "executor: {kind: simulated}\nsearch: {trials: 3, burn_in_max: 1}\nconfirm: {rounds: 0}\n"
    )
    planned = tuner("plan", str(path)).out
    assert "max.in.flight.requests.per.connection  " in planned
    ran = tuner("run", str(path), "--no-mlflow")
    assert ran.code == 0, ran.err
    assert "max.in.flight.requests.per.connection=7" in ran.out
    assert min(len(line) for line in ran.err.splitlines() if " search " in line) > 40


def test_an_error_names_a_long_value_in_one_line() -> None:
    refused = tuner("plan", "missing.yaml", f"--{LONG}")
    assert refused.code == 2
    assert f"No such option: --{LONG}" in refused.err
    assert "╭" not in refused.err


def test_help_on_a_pipe_cuts_no_sentence() -> None:
    shown = tuner("--help").out
    assert "Show what a study would do, without any traffic: trials, time, bytes, search space, topics that it" in shown
    assert "..." not in shown.partition("Commands:")[2]


def on_terminal(*words: str) -> str:
    """Return what `tuner` shows on a terminal."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(arguments(*words), stdout=theirs, stderr=theirs, stdin=subprocess.DEVNULL):
        os.close(theirs)
        shown = b""
        try:
            while piece := os.read(ours, 4096):
                shown += piece
        except OSError:  # Linux reports the end of the output as an error
            pass
        os.close(ours)
    return shown.decode()


def test_a_terminal_of_40_columns_gets_lines_of_40_columns() -> None:
    table = [line for line in on_terminal("status", "overnight").splitlines() if line.startswith("\u2502")]
    assert table
    assert max(map(len, table)) <= 40


@pytest.mark.parametrize("columns", [40, 80, 100])
def test_help_on_a_narrow_terminal_cuts_no_word(monkeypatch: pytest.MonkeyPatch, columns: int) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    for words in ((), ("run",), ("consume",)):
        shown = on_terminal(*words, "--help")
        assert "Usage" in shown
        assert "\u2026" not in shown
    assert "KAFKA_TUNER_STORAGE" in on_terminal("--help")
