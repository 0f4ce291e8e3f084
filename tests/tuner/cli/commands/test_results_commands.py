"""The commands that show what a study found: results on standard output, the rest on standard error."""

import json
import os
import time
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from search_spaces.files.properties_file import parse_properties, read_properties
from tests.helpers.command import tuner
from tests.helpers.small_experiment import run_small
from tests.helpers.stored_studies import WINNER, write_study
from tuner import api as tuner_api
from tuner.cli.commands.status import status
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import Trial, TrialKind
from tuner.present.number_text import number
from tuner.results.recommendations.recommend import recommend_each
from tuner.results.study_results import load_results


def test_recommend_prints_only_what_to_paste(studies: Path) -> None:
    write_study(studies / "overnight")
    ended = tuner("recommend", "overnight", "--record-bytes", "1000", "--goal", "throughput", "--format", "properties")
    assert ended.code == 0
    assert parse_properties(ended.out) == WINNER


def test_recommend_without_a_size_prints_all_sizes(studies: Path) -> None:
    write_study(studies / "overnight", record_sizes=("100", "1000"))
    ended = tuner("recommend", "overnight", "--format", "json")
    assert [each["record_bytes"] for each in ended.json["recommendations"]] == ["100", "1000"]
    both = tuner("recommend", "overnight", "--format", "properties")
    assert "the output holds 2 configs, one per record size" in both.complaint
    file = studies / "producer.properties"
    assert tuner("recommend", "overnight", "--format", "properties", "--output", str(file)).code == 0
    for size in ("100", "1000"):
        assert read_properties(studies / f"producer-{size}.properties")


def test_recommend_warns_about_a_size_that_was_not_measured(studies: Path) -> None:
    write_study(studies / "overnight")
    ended = tuner("recommend", "overnight", "--record-bytes", "700", "--format", "librdkafka")
    assert ended.json == WINNER
    assert "records of 700 B were not measured" in ended.complaint


def test_recommend_fails_if_no_config_keeps_the_conditions(studies: Path) -> None:
    write_study(studies / "overnight")
    ended = tuner("recommend", "overnight", "--record-bytes", "1000", "--max-p99-ms", "0.01")
    assert (ended.code, ended.out) == (5, "")
    assert "p99 <= 0.01 ms" in ended.complaint


def test_recommend_meets_the_conditions(studies: Path) -> None:
    write_study(studies / "overnight", rounds=0)
    words = ("recommend", "overnight", "--goal", "throughput", "--format", "json")
    free, bound = (tuner(*words, *more).json for more in ((), ("--max-p99-ms", "5")))
    assert bound["metrics"]["latency_p99_ms"] <= 5 < free["metrics"]["latency_p99_ms"]
    assert bound["metrics"]["mb_per_s"] < free["metrics"]["mb_per_s"]


def test_recommend_prints_the_sizes_that_have_a_recommendation(studies: Path) -> None:
    folder = write_study(studies / "overnight")
    write_study(folder, trials=0, rounds=0, record_sizes=("1000", "100"))
    ended = tuner("recommend", "overnight", "--format", "librdkafka")
    assert ended.json == WINNER
    assert ended.code == 1
    assert "none yet for 100 B" in ended.complaint


def test_recommend_labels_the_translated_formats(studies: Path) -> None:
    write_study(studies / "overnight")
    ended = tuner("recommend", "overnight", "--format", "java")
    assert "translated, not measured" in ended.err
    assert "translated, not measured" in ended.out


def test_front_prints_text_and_json(studies: Path) -> None:
    write_study(studies / "overnight", record_sizes=("100", "1000"))
    text = tuner("front", "overnight", "--record-bytes", "1000").out
    assert "1000 B records" in text
    assert "100 B records" not in text
    assert "batch.size=262144 compression.type=lz4 linger.ms=2" in text
    record = tuner("front", "overnight", "--json").json
    assert (record["schema_version"], record["kind"]) == (2, "fronts")
    assert [each["record_bytes"] for each in record["fronts"]] == ["100", "1000"]
    assert tuner("front", "overnight", "--record-bytes", "7").code == 2
    assert tuner("front", "overnight", "--record-bytes", "1kB").out == text


def test_front_and_recommend_show_the_same_numbers_of_the_rounds(studies: Path) -> None:
    write_study(studies / "overnight", rounds=8, change=_warmer_with_time)
    shown = tuner("front", "overnight").out.partition("measured again, alternating")[2].splitlines()
    heads, row = shown[1:3]
    found = tuner("recommend", "overnight", "--format", "json").json
    assert heads.split()[:3] == ["trial", "rounds", "throughput,"]
    for metric in ("mb_per_s", "latency_p99_ms"):
        assert number(found["metrics"][metric]) in row
        assert number(found["baseline"]["metrics"][metric]) in row
    assert row.split()[:2] == ["7", "8"]
    table = tuner("recommend", "overnight").out
    assert number(found["baseline"]["metrics"]["latency_p99_ms"]) in table


def test_allow_loss_decides_what_counts_as_balanced(studies: Path) -> None:
    write_study(studies / "overnight", rounds=8, change=_slow_winner)
    words = ("recommend", "overnight", "--goal", "balanced", "--format", "json")
    strict, usual, free = (tuner(*words, *more).json for more in (("--allow-loss", "0"), (), ("--allow-loss", "0.4")))
    assert [each["is_baseline"] for each in (strict, usual, free)] == [True, True, False]
    assert list(strict["alternatives"]) == ["latency"]
    assert tuner_api.recommend(studies / "overnight", 1000, "balanced", allow_loss=0.4).proven
    with pytest.raises(ValueError, match="allow_loss must be from 0 to 1, but got 2"):
        tuner_api.recommend(studies / "overnight", 1000, "balanced", allow_loss=2)
    command = tuner("recommend", "overnight", "--goal", "balanced", "--allow-loss", "0.4").complaint
    assert "tuner explain overnight --goal balanced --allow-loss 0.4" in command


def _slow_winner(trial: Trial) -> Trial:
    """Return the trial as if the winner lost a fifth of the throughput when it was measured again."""
    if trial.kind is not TrialKind.CONFIRM or not trial.values:
        return trial
    return replace(trial, metrics={**trial.metrics, "mb_per_s": trial.metrics["mb_per_s"] * 0.62})


def test_front_warns_that_its_values_look_better_than_they_are(studies: Path) -> None:
    write_study(studies / "overnight")
    assert "The front looks better than it is" in tuner("front", "overnight").out


def test_both_throughputs_of_a_config_are_the_same_mean(studies: Path) -> None:
    write_study(studies / "overnight", rounds=0, change=_warmer_with_time)
    found = tuner("recommend", "overnight", "--goal", "throughput", "--format", "json").json
    for metrics in (found["metrics"], found["baseline"]["metrics"]):
        assert metrics["records_per_s"] == pytest.approx(metrics["mb_per_s"] * 1e6 / 1000)


def _warmer_with_time(trial: Trial) -> Trial:
    """Return the trial as on a target that becomes twice as fast within twenty trials."""
    speed = min(1.0, 0.5 + trial.number / 40)
    fast = {name: trial.metrics[name] * speed for name in ("mb_per_s", "records_per_s")}
    slow = {name: value / speed for name, value in trial.metrics.items() if name.startswith("latency")}
    return replace(trial, metrics={**trial.metrics, **fast, **slow})


def test_front_says_that_a_study_has_just_begun(studies: Path) -> None:
    write_study(studies / "overnight", trials=0, rounds=0, facts={"finished_at": None})
    ended = tuner("front", "overnight")
    assert "nothing on the front yet" in ended.out
    assert "may still change" in ended.err


def test_front_says_why_no_config_keeps_every_constraint(studies: Path) -> None:
    write_study(studies / "easy")
    write_study(studies / "tight", rounds=0, facts={"constraints": ["latency_p99_ms <= 0.1"]})
    told = tuner("front", "tight").out
    assert "no config meets every constraint:\n  latency_p99_ms <= 0.1: missed by 40 of 40 trials; best" in told
    (missed, *_) = tuner("front", "tight", "--json").json["fronts"][0]["missed_constraints"]
    assert (missed["constraint"], missed["missed"]) == ("latency_p99_ms <= 0.1", 40)
    assert f"{missed['best']:.4g} (trial {missed['trial']})" in told
    assert "constraint" not in tuner("front", "easy").out
    assert tuner("front", "easy", "--json").json["fronts"][0]["missed_constraints"] == []


def test_compare_writes_both_pictures_and_warns_of_differences(studies: Path) -> None:
    write_study(studies / "before")
    write_study(studies / "after", facts={"name": "after", "host": {"processor": "Xeon", "cores": "8"}})
    files = ("--html", str(studies / "fronts.html"), "--png", str(studies / "fronts.png"))
    ended = tuner("compare", "before", "after", "--json", *files)
    assert ended.json["kind"] == "comparison"
    assert "differ in the host's number of cores: 2 and 8" in ended.complaint
    assert (studies / "fronts.png").read_bytes().startswith(b"\x89PNG")
    assert "after: front" in (studies / "fronts.html").read_text()
    assert "no difference" in tuner("compare", "before", "after").out


def test_a_study_is_not_compared_with_itself(studies: Path) -> None:
    write_study(studies / "a", rounds=8)
    refused = tuner("compare", "a", str(studies / "a"))
    assert refused.code == 2
    assert "A and B must be two studies" in refused.err


def test_report_is_written_where_asked(studies: Path) -> None:
    write_study(studies / "overnight", trials=12)
    assert tuner("report", "overnight").out == f"{studies / 'overnight' / 'report.html'}\n"
    assert tuner("report", "overnight", "--output", str(studies / "x.html")).code == 0
    assert "overnight" in (studies / "x.html").read_text()
    assert tuner("report", "overnight", "--output", str(studies / "not" / "there.html")).code == 2


def test_status_prints_text_and_json(studies: Path) -> None:
    write_study(studies / "overnight", trials=12)
    assert "overnight: finished" in tuner("status", "overnight").out
    assert tuner("status", "overnight", "--json").json["state"] == "finished"


def test_status_shows_recommendations_in_place_of_the_best_so_far(studies: Path) -> None:
    write_study(studies / "overnight", trials=12)
    confirmed = tuner("status", "overnight").out
    assert "recommended, 1000 B, balanced: trial 7, gain (" in " ".join(confirmed.split())
    assert "best so far" not in confirmed
    write_study(studies / "begun", trials=12, rounds=0, facts={"finished_at": None})
    begun = " ".join(tuner("status", "begun").out.split())
    assert "best so far, 1000 B: throughput, MB/s " in begun
    best = tuner("status", "begun", "--json").json["sizes"][0]["best"]
    assert begun.count("(trial ") == 2
    for each in best:
        assert f"(trial {each['trial']}; baseline " in begun


def test_the_trial_of_the_baseline_is_called_the_baseline(studies: Path) -> None:
    def flagged(trial: Trial) -> Trial:
        return replace(trial, flagged=True, warnings=("it was hot",))

    write_study(studies / "kept", trials=1, rounds=0, change=flagged, facts={"finished_at": None})
    recommended = tuner("recommend", "kept", "--record-bytes", "1000")
    assert "goal balanced: the baseline, trial 0\n" in recommended.out
    assert "limited the baseline, trial 0: " in recommended.err
    assert "warning: the baseline, trial 0: it was hot" in tuner("front", "kept").err
    assert " (the baseline); latency" in " ".join(tuner("status", "kept").out.split())


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
def test_status_says_how_a_study_that_has_stopped_continues(studies: Path, progress: Progress, told: str) -> None:
    write_study(studies / "begun", trials=3, rounds=0, progress=progress, facts={"finished_at": None})
    assert told in " ".join(tuner("status", "begun").out.split())


def test_status_watches_until_the_study_ends(
    studies: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    progress = Progress(StudyState.RUNNING, pid=os.getpid(), updated_at=datetime.now(UTC).isoformat())
    folder = write_study(studies / "overnight", trials=3, rounds=0, progress=progress, facts={"finished_at": None})

    def another_trial(_: float) -> None:
        ended = replace(progress, state=StudyState.INTERRUPTED)
        write_study(folder, trials=0, rounds=0, progress=ended, facts={"record_sizes": ["1000"]})

    monkeypatch.setattr(time, "sleep", another_trial)
    status("overnight", watch=True, as_json=True)
    states = [json.loads(line)["state"] for line in capsys.readouterr().out.splitlines()]
    assert states == ["running", "interrupted"]


def test_commands_refuse_a_study_that_does_not_exist(studies: Path) -> None:
    for words in (("front", "x"), ("recommend", "x"), ("report", "x"), ("status", "x"), ("compare", "x", "y")):
        ended = tuner(*words)
        assert ended.code == 2
        assert "there is no study 'x'" in ended.complaint


def test_stored_texts_cannot_change_the_terminal(studies: Path) -> None:
    write_study(studies / "overnight", facts={"target": "lab\x1b[2J\x9b", "name": "over\x1b]0;owned\x07night"})
    shown = [ended.out + ended.err for ended in (tuner(each, "overnight") for each in ("status", "front", "recommend"))]
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
