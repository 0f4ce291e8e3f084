"""The folder of artifacts, and the tables in it."""

import csv
import errno
import io
import json
from dataclasses import replace
from pathlib import Path

import pytest

from objectives import metrics
from objectives.metrics import OUTCOME_METRICS, ShownIn
from search_spaces.client import librdkafka
from tests.helpers.stored_studies import WINNER, study
from tuner.model.errors import StudyError
from tuner.model.trial import Trial
from tuner.present.export import SUFFIXES, offered
from tuner.present.report import bundle
from tuner.present.report.bundle import write_artifacts, write_study
from tuner.present.trial_tables.front_table import (
    front_csv,
    front_json,
    front_markdown,
    front_metrics,
    front_rows,
    in_turn_rows,
)


def test_the_folder_has_every_artifact(tmp_path: Path) -> None:
    results, out = study(tmp_path / "study", trials=30), tmp_path / "out"
    write_artifacts(results, results.sizes[0], out)
    names = {str(path.relative_to(out)) for path in out.rglob("*") if path.is_file()}
    forms = offered(librdkafka())
    goals = {f"recommended/{goal}{SUFFIXES[form]}" for goal in ("throughput", "latency", "balanced") for form in forms}
    fronts = {f"front.{ending}" for ending in ("json", "csv", "md", "png", "html")}
    assert names == fronts | goals | {"hypervolume.png", "importance.png", "importance.json", "why.md"}
    record = json.loads((out / "importance.json").read_text())
    assert (record["schema_version"], record["kind"]) == (1, "knob_importance")


def test_an_empty_study_leaves_no_recommendation_and_no_importance(tmp_path: Path) -> None:
    results, out = study(tmp_path / "study", trials=0, rounds=0), tmp_path / "out"
    (out / "recommended").mkdir(parents=True)
    (out / "recommended" / "latency.properties").write_text("linger.ms=1\n")
    write_artifacts(results, results.sizes[0], out)
    assert not (out / "recommended").exists()
    assert not (out / "importance.png").exists()
    assert json.loads((out / "front.json").read_text())["front"] == []


def test_a_study_without_a_paced_phase_recommends_no_latency(tmp_path: Path) -> None:
    def saturated(trial: Trial) -> Trial:
        known = {name: value for name, value in trial.metrics.items() if not name.startswith("latency_")}
        return replace(trial, metrics=known)

    mix = ("100:0.7,1000:0.3",)
    results = study(tmp_path, trials=30, record_sizes=mix, facts={"objectives": ["mb_per_s"]}, change=saturated)
    assert write_study(results) == tmp_path / "report.html"
    folder = tmp_path / "recommended" / "100-0.7_1000-0.3"
    assert {path.stem for path in folder.glob("*.txt")} == {"throughput", "balanced"}


def test_a_full_disk_is_reported_with_the_file_and_the_command_that_writes_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_path: Path, _data: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    results = study(tmp_path, trials=5, rounds=0)
    monkeypatch.setattr(bundle, "write_for_everybody", full)
    with pytest.raises(
        StudyError, match=rf"{tmp_path}/recommended/1000/.* can't be written: No space left on device\."
    ):
        write_study(results)
    with pytest.raises(StudyError) as told:
        bundle.write_report(results, tmp_path / "report.html")
    assert str(told.value) == (
        f"{tmp_path / 'report.html'}, a file of the report, can't be written: No space left on device. The "
        "results of overnight are stored; `tuner report overnight` writes the report again"
    )


def test_the_front_starts_with_the_baseline(tmp_path: Path) -> None:
    results = study(tmp_path)
    size = results.sizes[0]
    rows = front_rows(size)
    assert rows[0].is_baseline
    assert rows[0].versus("mb_per_s") == "1.00"
    values = [row.metrics["mb_per_s"] for row in rows[1:]]
    assert values == sorted(values, reverse=True)
    assert {row.trial.number for row in rows[1:]} | {0} == set(size.front) | {0}


def test_a_metric_that_the_front_also_shows_gets_a_column_and_no_gain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    p50 = OUTCOME_METRICS["latency_p50_ms"]
    shown = {**OUTCOME_METRICS, p50.name: replace(p50, shown=p50.shown | {ShownIn.FRONT})}
    monkeypatch.setattr(metrics, "OUTCOME_METRICS", shown)
    (size,) = study(tmp_path).sizes
    assert p50.name in front_metrics(size, front_rows(size))
    gains = [row.gains for row in front_rows(size) if row.gains]
    assert gains
    assert not any(p50.name in each for each in gains)


def test_a_gain_is_told_apart_from_the_ratio_of_one_trial(tmp_path: Path) -> None:
    results = study(tmp_path)
    rows = {row.trial.number: row for row in front_rows(results.sizes[0])}
    record = {each["trial"]: each for each in front_json(results, results.sizes[0])["front"]}
    assert "to" not in rows[7].versus("mb_per_s")
    (_, again) = in_turn_rows(results.sizes[0], ["mb_per_s"])
    assert again[0] == "7"
    assert "to" in again[-1]
    assert record[7]["gains"]["mb_per_s"]["level"] >= 0.95
    others = [number for number in rows if number not in (0, 7)]
    assert others
    for number in others:
        assert "to" not in rows[number].versus("mb_per_s")
        assert record[number]["gains"] == {}
        assert record[number]["times_baseline_in_search"]["mb_per_s"] > 0


def test_csv_and_markdown_have_a_line_per_config(tmp_path: Path) -> None:
    results = study(tmp_path)
    size = results.sizes[0]
    lines = list(csv.DictReader(io.StringIO(front_csv(size))))
    assert [line["is_baseline"] for line in lines].count("True") == 1
    winner = next(line for line in lines if line["trial"] == "7")
    assert {name: winner[name] for name in WINNER} == WINNER
    assert {line["record_bytes"] for line in lines} == {size.record_bytes}
    markdown = front_markdown(results, size)
    assert "The intervals of tuner recommend are the ones that count" in markdown
    search, again = markdown.split("Measured again")
    assert [line.split("|")[1].strip() for line in again.splitlines() if line.startswith("|")] == ["trial", "---", "7"]
    table = [line for line in search.splitlines() if line.startswith("|")]
    assert len(table) == len(lines) + 2
    assert len({line.count("|") for line in table}) == 1
