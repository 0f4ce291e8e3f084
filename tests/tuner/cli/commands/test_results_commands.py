"""The commands that show what a study found: results on standard output, the rest on standard error."""

import json
import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner, Result

from search_spaces.files.properties_file import parse_properties, read_properties
from tests.helpers.command import tuner
from tests.helpers.small_experiment import run_small
from tests.helpers.stored_studies import WINNER, write_study
from tuner import api as tuner_api
from tuner.cli.commands.compare import compare
from tuner.cli.commands.front import front
from tuner.cli.commands.recommend import recommend
from tuner.cli.commands.report import report
from tuner.cli.commands.status import status
from tuner.model.errors import NoFeasibleConfig, StudyNotFound
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import Trial, TrialKind
from tuner.present.number_text import number
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.study_results import load_results
from tuner.storage.locations import ROOT_VARIABLE

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs a command on studies below `tmp_path`."""
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    app = typer.Typer()
    for command in (front, recommend, compare, report, status):
        app.command(command.__name__)(command)

    def invoke(*words: str) -> Result:
        return CliRunner().invoke(app, list(words))

    return invoke


def test_recommend_prints_only_what_to_paste(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    ended = run("recommend", "overnight", "--record-bytes", "1000", "--goal", "throughput", "--format", "properties")
    assert ended.exit_code == 0
    assert parse_properties(ended.stdout) == WINNER


def test_recommend_without_a_size_prints_all_sizes(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", record_sizes=("100", "1000"))
    ended = run("recommend", "overnight", "--format", "json")
    assert [each["record_bytes"] for each in json.loads(ended.stdout)["recommendations"]] == ["100", "1000"]
    both = run("recommend", "overnight", "--format", "properties")
    assert "the output holds 2 configs, one per record size" in " ".join(both.stderr.split())
    file = tmp_path / "producer.properties"
    assert run("recommend", "overnight", "--format", "properties", "--output", str(file)).exit_code == 0
    for size in ("100", "1000"):
        assert read_properties(tmp_path / f"producer-{size}.properties")


def test_recommend_warns_about_a_size_that_was_not_measured(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    ended = run("recommend", "overnight", "--record-bytes", "700", "--format", "librdkafka")
    assert json.loads(ended.stdout) == WINNER
    assert "records of 700 B were not measured" in " ".join(ended.stderr.split())


def test_recommend_fails_if_no_config_keeps_the_conditions(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    ended = run("recommend", "overnight", "--record-bytes", "1000", "--max-p99-ms", "0.01")
    assert isinstance(ended.exception, NoFeasibleConfig)
    assert ended.stdout == ""


def test_recommend_meets_the_conditions(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", rounds=0)
    words = ("recommend", "overnight", "--goal", "throughput", "--format", "json")
    free, bound = (json.loads(run(*words, *more).stdout) for more in ((), ("--max-p99-ms", "5")))
    assert bound["metrics"]["latency_p99_ms"] <= 5 < free["metrics"]["latency_p99_ms"]
    assert bound["metrics"]["mb_per_s"] < free["metrics"]["mb_per_s"]


def test_recommend_prints_the_sizes_that_have_a_recommendation(run: Run, tmp_path: Path) -> None:
    folder = write_study(tmp_path / "overnight")
    write_study(folder, trials=0, rounds=0, record_sizes=("1000", "100"))
    ended = run("recommend", "overnight", "--format", "librdkafka")
    assert json.loads(ended.stdout) == WINNER
    assert isinstance(ended.exception, NoFeasibleConfig)
    assert "none yet for 100 B" in str(ended.exception)


def test_recommend_labels_the_translated_formats(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    ended = run("recommend", "overnight", "--format", "java")
    assert "translated, not measured" in ended.stderr
    assert "translated, not measured" in ended.stdout


def test_front_prints_text_and_json(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", record_sizes=("100", "1000"))
    text = run("front", "overnight", "--record-bytes", "1000").stdout
    assert "1000 B records" in text
    assert "100 B records" not in text
    assert "batch.size=262144 compression.type=lz4 linger.ms=2" in text
    record = json.loads(run("front", "overnight", "--json").stdout)
    assert (record["schema_version"], record["kind"]) == (2, "fronts")
    assert [each["record_bytes"] for each in record["fronts"]] == ["100", "1000"]
    assert run("front", "overnight", "--record-bytes", "7").exit_code == 2
    assert run("front", "overnight", "--record-bytes", "1kB").stdout == text


def test_front_and_recommend_show_the_same_numbers_of_the_rounds(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", rounds=8, change=_warmer_with_time)
    shown = run("front", "overnight").stdout.partition("measured again, alternating")[2].splitlines()
    heads, row = shown[1:3]
    found = json.loads(run("recommend", "overnight", "--format", "json").stdout)
    assert heads.split()[:3] == ["trial", "rounds", "throughput,"]
    for metric in ("mb_per_s", "latency_p99_ms"):
        assert number(found["metrics"][metric]) in row
        assert number(found["baseline"]["metrics"][metric]) in row
    assert row.split()[:2] == ["7", "8"]
    table = run("recommend", "overnight").stdout
    assert number(found["baseline"]["metrics"]["latency_p99_ms"]) in table


def test_allow_loss_decides_what_counts_as_balanced(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", rounds=8, change=_slow_winner)
    words = ("recommend", "overnight", "--goal", "balanced", "--format", "json")
    strict, usual, free = (
        json.loads(run(*words, *more).stdout) for more in (("--allow-loss", "0"), (), ("--allow-loss", "0.4"))
    )
    assert [each["is_baseline"] for each in (strict, usual, free)] == [True, True, False]
    assert list(strict["alternatives"]) == ["latency"]
    assert tuner_api.recommend(tmp_path / "overnight", 1000, "balanced", allow_loss=0.4).proven
    with pytest.raises(ValueError, match="allow_loss must be from 0 to 1, but got 2"):
        tuner_api.recommend(tmp_path / "overnight", 1000, "balanced", allow_loss=2)
    command = run("recommend", "overnight", "--goal", "balanced", "--allow-loss", "0.4").stderr
    assert "tuner explain overnight --goal balanced --allow-loss 0.4" in " ".join(command.split())


def _slow_winner(trial: Trial) -> Trial:
    """Return the trial as if the winner lost a fifth of the throughput when it was measured again."""
    if trial.kind is not TrialKind.CONFIRM or not trial.values:
        return trial
    return replace(trial, metrics={**trial.metrics, "mb_per_s": trial.metrics["mb_per_s"] * 0.62})


def test_front_warns_that_its_values_look_better_than_they_are(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight")
    assert "The front looks better than it is" in run("front", "overnight").stdout


def test_both_throughputs_of_a_config_are_the_same_mean(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", rounds=0, change=_warmer_with_time)
    found = json.loads(run("recommend", "overnight", "--goal", "throughput", "--format", "json").stdout)
    for metrics in (found["metrics"], found["baseline"]["metrics"]):
        assert metrics["records_per_s"] == pytest.approx(metrics["mb_per_s"] * 1e6 / 1000)


def _warmer_with_time(trial: Trial) -> Trial:
    """Return the trial as on a target that becomes twice as fast within twenty trials."""
    speed = min(1.0, 0.5 + trial.number / 40)
    fast = {name: trial.metrics[name] * speed for name in ("mb_per_s", "records_per_s")}
    slow = {name: value / speed for name, value in trial.metrics.items() if name.startswith("latency")}
    return replace(trial, metrics={**trial.metrics, **fast, **slow})


def test_front_says_that_a_study_has_just_begun(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", trials=0, rounds=0, facts={"finished_at": None})
    ended = run("front", "overnight")
    assert "nothing on the front yet" in ended.stdout
    assert "may still change" in ended.stderr


def test_front_says_why_no_config_keeps_every_constraint(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "easy")
    write_study(tmp_path / "tight", rounds=0, facts={"constraints": ["latency_p99_ms <= 0.1"]})
    told = run("front", "tight").stdout
    assert "no config meets every constraint:\n  latency_p99_ms <= 0.1: missed by 40 of 40 trials; best" in told
    (missed, *_) = json.loads(run("front", "tight", "--json").stdout)["fronts"][0]["missed_constraints"]
    assert (missed["constraint"], missed["missed"]) == ("latency_p99_ms <= 0.1", 40)
    assert f"{missed['best']:.4g} (trial {missed['trial']})" in told
    assert "constraint" not in run("front", "easy").stdout
    assert json.loads(run("front", "easy", "--json").stdout)["fronts"][0]["missed_constraints"] == []


def test_compare_writes_both_pictures_and_warns_of_differences(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "before")
    write_study(tmp_path / "after", facts={"name": "after", "host": {"processor": "Xeon", "cores": "8"}})
    files = ("--html", str(tmp_path / "fronts.html"), "--png", str(tmp_path / "fronts.png"))
    ended = run("compare", "before", "after", "--json", *files)
    assert json.loads(ended.stdout)["kind"] == "comparison"
    assert "differ in the host's number of cores: 2 and 8" in " ".join(ended.stderr.split())
    assert (tmp_path / "fronts.png").read_bytes().startswith(b"\x89PNG")
    assert "after: front" in (tmp_path / "fronts.html").read_text()
    assert "no difference" in run("compare", "before", "after").stdout


def test_a_study_is_not_compared_with_itself(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "a", rounds=8)
    refused = run("compare", "a", str(tmp_path / "a"))
    assert refused.exit_code == 2
    assert "A and B must be two studies" in refused.stderr


def test_report_is_written_where_asked(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", trials=12)
    assert run("report", "overnight").stdout == f"{tmp_path / 'overnight' / 'report.html'}\n"
    assert run("report", "overnight", "--output", str(tmp_path / "x.html")).exit_code == 0
    assert "overnight" in (tmp_path / "x.html").read_text()
    assert run("report", "overnight", "--output", str(tmp_path / "not" / "there.html")).exit_code == 2


def test_status_prints_text_and_json(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", trials=12)
    assert "overnight: finished" in run("status", "overnight").stdout
    assert json.loads(run("status", "overnight", "--json").stdout)["state"] == "finished"


def test_status_shows_recommendations_in_place_of_the_best_so_far(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", trials=12)
    confirmed = run("status", "overnight").stdout
    assert "recommended, 1000 B, balanced: trial 7, gain (" in " ".join(confirmed.split())
    assert "best so far" not in confirmed
    write_study(tmp_path / "begun", trials=12, rounds=0, facts={"finished_at": None})
    begun = " ".join(run("status", "begun").stdout.split())
    assert "best so far, 1000 B: throughput, MB/s " in begun
    best = json.loads(run("status", "begun", "--json").stdout)["sizes"][0]["best"]
    assert begun.count("(trial ") == 2
    for each in best:
        assert f"(trial {each['trial']}; baseline " in begun


def test_the_trial_of_the_baseline_is_called_the_baseline(run: Run, tmp_path: Path) -> None:
    def flagged(trial: Trial) -> Trial:
        return replace(trial, flagged=True, warnings=("it was hot",))

    write_study(tmp_path / "kept", trials=1, rounds=0, change=flagged, facts={"finished_at": None})
    recommended = run("recommend", "kept", "--record-bytes", "1000")
    assert "goal balanced: the baseline, trial 0\n" in recommended.stdout
    assert "limited the baseline, trial 0: " in recommended.stderr
    assert "warning: the baseline, trial 0: it was hot" in run("front", "kept").stderr
    assert " (the baseline); latency" in " ".join(run("status", "kept").stdout.split())


@pytest.mark.parametrize(
    ("progress", "told"),
    [
        (Progress(StudyState.INTERRUPTED), "no process is running this study; the command that began it continues it"),
        (
            Progress(StudyState.FAILED),
            "an error ended it; the command that began it shows the error again, or continues",
        ),
        (
            Progress(StudyState.FAILED, message="the disk is full"),
            "an error ended it: the disk is full the command that began it continues it, once the cause of the error",
        ),
        (Progress(StudyState.RUNNING, message="burn-in"), "no process is running this study; the command"),
    ],
)
def test_status_says_how_a_study_that_has_stopped_continues(
    run: Run, tmp_path: Path, progress: Progress, told: str
) -> None:
    write_study(tmp_path / "begun", trials=3, rounds=0, progress=progress, facts={"finished_at": None})
    assert told in " ".join(run("status", "begun").stdout.split())


def test_status_watches_until_the_study_ends(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    progress = Progress(StudyState.RUNNING, pid=os.getpid(), updated_at=datetime.now(UTC).isoformat())
    folder = write_study(tmp_path / "overnight", trials=3, rounds=0, progress=progress, facts={"finished_at": None})

    def another_trial(_: float) -> None:
        ended = replace(progress, state=StudyState.INTERRUPTED)
        write_study(folder, trials=0, rounds=0, progress=ended, facts={"record_sizes": ["1000"]})

    monkeypatch.setattr(time, "sleep", another_trial)
    lines = [json.loads(line) for line in run("status", "overnight", "--watch", "--json").stdout.splitlines()]
    assert [line["state"] for line in lines] == ["running", "interrupted"]


def test_an_error_has_its_exit_code(studies: Path) -> None:
    write_study(studies / "overnight", trials=12, rounds=0)
    ended = tuner("recommend", "overnight", "--max-p99-ms", "0.01")
    assert (ended.code, ended.out) == (5, "")
    assert "p99 <= 0.01 ms" in ended.err
    assert tuner("front", "elsewhere").code == 2


def test_commands_refuse_a_study_that_does_not_exist(run: Run) -> None:
    for words in (("front", "x"), ("recommend", "x"), ("report", "x"), ("status", "x"), ("compare", "x", "y")):
        assert isinstance(run(*words).exception, StudyNotFound)


def test_stored_texts_cannot_change_the_terminal(run: Run, tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", facts={"target": "lab\x1b[2J\x9b", "name": "over\x1b]0;owned\x07night"})
    shown = [run(command, "overnight").output for command in ("status", "front", "recommend")]
    assert any("\\x1b" in output for output in shown)
    assert not any(code in output for output in shown for code in "\x1b\x07\x9b")


def test_a_study_that_measured_nothing_has_no_broken_constraint(studies: Path) -> None:
    write_study(studies / "overnight", trials=0, record_sizes=(), rounds=0)
    for command in ("recommend", "explain"):
        ended = tuner(command, "overnight")
        assert ended.code == 1
        assert "has no results yet" in ended.complaint


def test_warnings_of_the_rounds_name_the_record_size_if_there_are_several(tmp_path: Path) -> None:
    write_study(tmp_path / "overnight", record_sizes=("100", "1000"))
    found, _ = recommend_each(load_results(tmp_path / "overnight"), None, None)
    assert [each.warnings[0].partition(" latency")[0] for each in found] == ["100 B:", "1000 B:"]


@pytest.mark.parametrize("address", ["foo", "sqlite:///nodir/o.db"])
def test_an_export_to_a_wrong_address_is_wrong_input(address: str, studies: Path) -> None:
    write_study(studies / "overnight")
    ended = tuner("export", "overnight", "--to", address)
    assert (ended.code, "Optuna needs a database URL" in ended.complaint) == (2, True)


def test_an_experiment_in_place_of_a_study_is_wrong_input_and_so_is_the_reverse(studies: Path) -> None:
    write_study(studies / "overnight")
    run_small(studies / "small")
    assert tuner("recommend", "small").code == 2
    assert tuner("experiment", "report", "overnight").code == 2
