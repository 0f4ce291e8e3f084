"""`tuner explain`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from search_spaces.files.properties_file import parse_properties
from tests.helpers.command import tuner
from tests.helpers.stored_studies import WINNER, taken_apart, write_study
from tuner.cli.commands.explain import explain
from tuner.cli.commands.recommend import recommend
from tuner.model.errors import NoFeasibleConfig, StudyNotFound
from tuner.storage.locations import ROOT_VARIABLE

Run = Callable[..., Result]
LINGER = "linger.ms=2 instead of 5"


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command on studies below `tmp_path`."""
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    app = typer.Typer()
    for command in (explain, recommend):
        app.command(command.__name__)(command)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    return invoke


def test_explain_says_in_words_what_each_change_brings(run: Run, tmp_path: Path) -> None:
    taken_apart(write_study(tmp_path / "overnight"))
    ended = run("explain", "overnight", "--goal", "throughput")
    assert ended.exit_code == 0
    assert "study overnight, 1000 B records, goal throughput: why trial 7" in ended.stdout
    assert "compression.type=lz4 instead of none: throughput 1." in ended.stdout
    assert LINGER in ended.stdout
    assert "the baseline: broker: a thread of the broker needed a core" in ended.stdout
    assert "for reaching the front: " in ended.stdout


def test_explain_as_json_has_every_number(run: Run, tmp_path: Path) -> None:
    taken_apart(write_study(tmp_path / "overnight", record_sizes=("100", "1000")))
    whole = json.loads(run("explain", "overnight", "--json").stdout)
    assert (whole["schema_version"], whole["kind"], whole["study"]) == (2, "explanations", "overnight")
    assert [each["record_bytes"] for each in whole["explanations"]] == ["100", "1000"]
    bare, taken = whole["explanations"]
    assert (bare["undo_rounds"], taken["undo_rounds"]) == (0, 2)
    effects = {each["knobs"][0]: each for each in taken["effects"]}
    assert set(effects) == set(WINNER)
    assert effects["compression.type"]["shows"]
    assert effects["compression.type"]["gains"]["mb_per_s"]["low"] > 1.0
    assert {change["name"] for change in taken["changes"]} == set(WINNER)
    assert sum(taken["importance"]["front"].values()) == pytest.approx(1.0)
    assert taken["sections"][1]["heading"].startswith("what each change brings")
    assert all(not each["measured"] for each in bare["effects"])


def test_explain_one_record_size_even_one_that_was_not_measured(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", record_sizes=("100", "1000"))
    one = run("explain", "overnight", "--record-bytes", "1000").stdout
    assert "1000 B records" in one
    assert ", 100 B records" not in one
    near = run("explain", "overnight", "--record-bytes", "700")
    assert "records of 700 B were not measured" in " ".join(near.stderr.split())
    assert "1000 B records" in near.stdout


def test_a_size_that_was_not_measured_is_named_where_nothing_is_found(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", record_sizes=("200", "2000"))
    told = str(run("explain", "overnight", "--record-bytes", "100", "--max-p99-ms", "0.01").exception)
    assert told.startswith("records of 100 B were not measured, only of 200 and 2000 B, and the nearest size has no")


def test_explain_is_about_the_config_that_meets_the_conditions(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", rounds=0)
    words = ("overnight", "--goal", "throughput", "--max-p99-ms", "5")
    chosen = json.loads(run("recommend", *words, "--format", "json").stdout)["trial"]["number"]
    assert json.loads(run("explain", *words, "--json").stdout)["explanations"][0]["trial"]["number"] == chosen
    assert isinstance(run("explain", "overnight", "--max-p99-ms", "0.01").exception, NoFeasibleConfig)


def test_explain_says_that_a_study_has_just_begun(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", trials=1, rounds=0, facts={"finished_at": None})
    ended = run("explain", "overnight")
    assert "keep what you have" in ended.stdout
    assert "may still change" in " ".join(ended.stderr.split())
    write_study(tmp_path / "empty", trials=0, rounds=0)
    assert isinstance(run("explain", "empty").exception, NoFeasibleConfig)
    assert isinstance(run("explain", "elsewhere").exception, StudyNotFound)


def test_recommend_names_the_explain_command_beside_the_table_only(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    words = ("recommend", "overnight", "--goal", "latency", "--max-p99-ms", "50")
    table = run(*words)
    assert "why: tuner explain overnight --goal latency --max-p99-ms 50" in " ".join(table.stderr.split())
    assert "tuner explain" not in table.stdout
    pasted = run(*words, "--format", "properties")
    assert "tuner explain" not in pasted.stderr
    assert parse_properties(pasted.stdout) == WINNER


def test_the_command_line_has_explain(studies: Path) -> None:
    write_study(studies / "overnight", trials=12, rounds=0)
    ended = tuner("explain", "overnight", "--max-p99-ms", "0.01")
    assert (ended.code, ended.out) == (5, "")
    assert tuner("explain", "elsewhere").code == 2
    assert "tuner explain overnight" in tuner("explain", "--help").out
