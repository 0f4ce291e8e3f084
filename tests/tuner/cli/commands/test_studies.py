"""`tuner studies`, `trials` and `rm`, and the forms in which other commands print tables."""

import csv
import io
import json
import os
import sqlite3
import subprocess
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pandas as pd
import pytest

from tests.helpers.command import arguments, tuner
from tests.helpers.shared_storage import storage_of
from tests.helpers.stored_studies import WINNER, write_study
from tuner.model.facts import IN_MLFLOW
from tuner.model.progress import Progress, StudyState
from tuner.model.study_files import RESULTS_FILE
from tuner.model.trial import Trial, TrialKind
from tuner.storage.locations import ROOT_VARIABLE, STORAGE_VARIABLE
from tuner.storage.sqlite import FolderStorage


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder of two studies: `overnight` has ended, and `begun` was interrupted before."""
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    begun = {"name": "begun", "started_at": "2026-01-01T20:00:00+00:00", "finished_at": None}
    write_study(tmp_path / "overnight", record_sizes=("100", "1000"), rounds=8)
    write_study(tmp_path / "begun", trials=12, rounds=0, facts=begun, progress=Progress(StudyState.INTERRUPTED))
    return tmp_path


def rows(text: str) -> Sequence[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_studies_are_listed_the_newest_first(root: Path) -> None:
    heading, first, second = tuner("studies").out.splitlines()
    assert heading.split()[:2] == ["study", "record"]
    assert first.startswith(
        "overnight   100 B, 1000 B   finished      80 of 120   latency p99 2.54 (2.32 to 2.78), 100 B"
    )
    assert second.startswith("begun       1000 B          interrupted   12 of 60    -   ")


def test_a_mix_of_sizes_has_rounded_shares_in_the_list_and_its_identity_in_json(root: Path) -> None:
    mix = "100:0.666666666667,1000:0.333333333333"
    write_study(root / "mixed", record_sizes=(mix,), rounds=0, facts={"name": "mixed"})
    (line,) = [each for each in tuner("studies").out.splitlines() if each.startswith("mixed")]
    assert "   100 B (66.7 %) and 1000 B (33.3 %)   " in line
    (listed,) = [each for each in tuner("studies", "--json").json["studies"] if each["name"] == "mixed"]
    assert listed["record_sizes"] == [mix]


def test_all_formats_of_the_list_agree(root: Path) -> None:
    record = tuner("studies", "--json").json
    assert (record["schema_version"], record["kind"]) == (1, "studies")
    overnight, begun = record["studies"]
    assert [each["name"] for each in record["studies"]] == ["overnight", "begun"]
    assert overnight["record_sizes"] == ["100", "1000"]
    assert (overnight["trials_done"], overnight["trials_planned"]) == (80, 120)
    assert overnight["best_gain"]["ratio"]["low"] > 1
    assert begun["best_gain"] is None
    table = rows(tuner("studies", "--csv").out)
    assert [float(each["best_gain"] or 0) for each in table] == [overnight["best_gain"]["ratio"]["value"], 0]
    assert [each["updated_at"] for each in table] == [overnight["updated_at"], begun["updated_at"]]


def test_status_without_a_name_is_the_list_of_studies(root: Path) -> None:
    assert tuner("status").out == tuner("studies").out
    assert tuner("status", "--json").json == tuner("studies", "--json").json
    refused = tuner("status", "--watch")
    assert refused.code == 2
    assert "--watch shows one study" in refused.complaint


def test_a_simulated_study_says_so_in_every_list(root: Path) -> None:
    write_study(root / "tried", rounds=8, facts={"name": "tried", "client_version": "simulated"})
    (line,) = [each for each in tuner("studies").out.splitlines() if each.startswith("tried")]
    assert "   simulated   " in line
    targets = {each["name"]: each["target"] for each in tuner("studies", "--json").json["studies"]}
    assert targets == {"overnight": "broker:9092", "begun": "broker:9092", "tried": "simulated"}
    assert "simulated: a model made these numbers" in tuner("status", "tried").out
    assert tuner("status", "tried", "--json").json["simulated"] is True
    assert "simulated" not in tuner("status", "overnight").out
    assert tuner("status", "overnight", "--json").json["simulated"] is False


@pytest.mark.parametrize("name", ["begun.2", "begun.yaml"])
def test_only_a_study_that_is_named_itself_is_removed(root: Path, name: str) -> None:
    refused = tuner("rm", name, "--yes")
    assert refused.code == 2, refused.err
    assert f"there is no study '{name}'" in refused.complaint
    assert "did you mean begun?" in refused.complaint
    assert (root / "begun" / RESULTS_FILE).is_file()


def test_a_list_without_studies_says_how_to_make_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    empty = tuner("studies")
    assert (empty.code, empty.out) == (0, "")
    said = f"there is no study yet below {tmp_path} (set {ROOT_VARIABLE} for another folder); `tuner run` makes one"
    assert said in empty.err
    empty = tuner("studies", "--json")
    assert empty.json["studies"] == []
    assert said in empty.err


def test_a_damaged_study_is_listed_and_named(root: Path) -> None:
    with closing(sqlite3.connect(root / "begun" / RESULTS_FILE)) as db, db:
        db.execute("UPDATE trials SET body = 'no JSON'")
    listed = tuner("studies", "--json")
    assert listed.code == 0, listed.err
    assert [(each["name"], each["state"]) for each in listed.json["studies"]] == [
        ("overnight", "finished"),
        ("begun", "unreadable"),
    ]
    assert "warning: begun: " in listed.err


def test_trials_have_typed_columns_in_every_format(root: Path, tmp_path: Path) -> None:
    record = tuner("trials", "overnight", "--json").json
    assert record["study"] == "overnight"
    winner = next(each for each in record["trials"] if (each["record_bytes"], each["number"]) == (1000, 7))
    assert {name: winner[name] for name in WINNER} == {
        "linger.ms": 2,
        "compression.type": "lz4",
        "batch.size": 262144,
    }
    assert isinstance(winner["latency_p99_ms"], float)
    assert winner["on_front"] is True
    table = rows(tuner("trials", "overnight", "--csv").out)
    assert [float(each["mb_per_s"]) for each in table] == [each["mb_per_s"] for each in record["trials"]]
    file = tmp_path / "trials.parquet"
    for _ in range(2):  # the second time, the tuner's own file is replaced
        written = tuner("trials", "overnight", "--parquet", str(file))
        assert written.code == 0, written.err
    frame = pd.read_parquet(file)
    assert len(frame) == len(record["trials"])
    assert pd.api.types.is_integer_dtype(frame["batch.size"])
    assert pd.api.types.is_float_dtype(frame["mb_per_s"])
    assert pd.api.types.is_datetime64_any_dtype(frame["started_at"])


def test_trials_for_people_name_what_each_config_changes(root: Path) -> None:
    shown = tuner("trials", "overnight", "--record-bytes", "1000").out.splitlines()
    winner = next(line for line in shown if line.split()[:2] == ["1000", "7"])
    assert winner.endswith("yes   batch.size=262144 compression.type=lz4 linger.ms=2")
    assert {line.split()[0] for line in shown[1:]} == {"1000"}


def test_trials_for_people_have_the_words_of_the_progress_lines(root: Path) -> None:
    kinds = {10: TrialKind.REPEAT, 11: TrialKind.UNDO}
    write_study(
        root / "kinds", trials=12, rounds=0, change=lambda each: replace(each, kind=kinds.get(each.number, each.kind))
    )
    words = {line.split()[1]: line.split()[2] for line in tuner("trials", "kinds").out.splitlines()[1:]}
    assert (words["10"], words["11"]) == ("repeat", "undo")


def test_trials_for_people_have_the_metrics_that_the_study_optimises(root: Path) -> None:
    write_study(root / "bytes", trials=12, facts={"objectives": ["mb_per_s", "latency_p999_ms"]})
    heading = tuner("trials", "bytes").out.splitlines()[0]
    assert "latency p99.9, ms" in heading
    assert "latency p99, ms" not in heading
    assert tuner("trials", "bytes", "--json").json["objectives"] == ["mb_per_s", "latency_p999_ms"]


def test_trials_say_which_numbers_are_corrected(root: Path) -> None:
    told = "trials of the search and the baseline are corrected for drift"
    assert told in tuner("trials", "overnight").err
    assert told not in tuner("trials", "overnight", "--csv").err


def test_the_trials_of_an_empty_study_are_an_empty_table(root: Path) -> None:
    write_study(root / "new", trials=0, rounds=0, facts={"finished_at": None})
    assert tuner("trials", "new", "--json").json["trials"] == []
    assert rows(tuner("trials", "new", "--csv").out) == []
    assert tuner("trials", "new").out.startswith("record bytes   trial")


def test_a_mix_beside_a_size_is_a_text_in_parquet(root: Path, tmp_path: Path) -> None:
    write_study(root / "mixed", trials=3, rounds=0, record_sizes=("1000", "100:0.7,1000:0.3"))
    file = tmp_path / "mixed.parquet"
    assert tuner("trials", "mixed", "--parquet", str(file)).code == 0
    assert set(pd.read_parquet(file)["record_bytes"]) == {"1000", "100:0.7,1000:0.3"}


def test_parquet_without_pyarrow_is_one_clear_line(root: Path, tmp_path: Path) -> None:
    program = "import sys; sys.modules['pyarrow'] = None; from tuner.cli import main; main()"
    words = [arguments()[0], "-c", program, "trials", "overnight", "--parquet", str(tmp_path / "x.parquet")]
    refused = subprocess.run(words, capture_output=True, text=True, check=False)
    assert refused.returncode == 2
    assert "--parquet needs the package pyarrow, but it is not installed" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("words", [("studies",), ("trials", "overnight"), ("plan",)], ids=" ".join)
def test_two_formats_at_once_are_refused(root: Path, words: tuple[str, ...]) -> None:
    refused = tuner(*words, "--csv", "--json")
    assert refused.code == 2
    assert "--json and --csv were given" in refused.complaint
    assert refused.out == ""


def test_a_front_as_csv_is_one_table_over_all_sizes(root: Path) -> None:
    table = rows(tuner("front", "overnight", "--csv").out)
    assert {each["record_bytes"] for each in table} == {"100", "1000"}
    assert [each["is_baseline"] for each in table].count("True") == 2
    assert table[-1]["fingerprint"]


def test_the_option_json_is_short_for_format_json(root: Path) -> None:
    short, long = (tuner("recommend", "overnight", *form) for form in (["--json"], ["--format", "json"]))
    assert short.code == 0, short.err
    assert short.out == long.out
    assert json.loads(short.out)["kind"] == "recommendations"
    refused = tuner("recommend", "overnight", "--json", "--format", "env")
    assert refused.code == 2
    assert "--json means --format json, but got --format env" in refused.complaint


def test_recommend_all_prints_defaults_too(root: Path) -> None:
    write_study(root / "wordy", change=_with_a_default)
    words = ("recommend", "wordy", "--format", "properties")
    assert "acks" not in tuner(*words).out.replace("guarantee: acks", "")
    assert "\nacks=all\n" in tuner(*words, "--all").out


def _with_a_default(trial: Trial) -> Trial:
    return replace(trial, values={**trial.values, "acks": "-1"}) if trial.values else trial


def test_rm_removes_studies_and_says_what_stays(root: Path) -> None:
    asked = tuner("rm", "overnight")
    assert asked.code == 2
    assert "add --yes" in asked.complaint
    assert (root / "overnight").is_dir()
    with closing(FolderStorage().read(root / "overnight")) as store:
        store.set_fact(IN_MLFLOW, {"experiment_id": "1", "views": True})
    removed = tuner("rm", "overnight", "begun", "--yes", "--json")
    assert removed.code == 0, removed.err
    assert removed.json["removed"] == ["overnight", "begun"]
    assert "the runs of overnight in MLflow stay" in removed.err
    assert "the runs of begun in MLflow" not in removed.err
    assert list(root.iterdir()) == []


def test_rm_removes_nothing_if_one_name_is_unknown(root: Path) -> None:
    refused = tuner("rm", "overnight", "elsewhere", "--yes")
    assert refused.code == 2
    assert "there is no study 'elsewhere'" in refused.complaint
    assert (root / "overnight").is_dir()


def test_rm_refuses_a_study_that_is_running(root: Path) -> None:
    with FolderStorage().drive(root / "overnight", "overnight", print):
        refused = tuner("rm", "overnight", "--yes")
    assert refused.code == 1
    assert "one process at a time may run the study overnight" in refused.complaint
    assert tuner("front", "overnight").code == 0


def test_rm_removes_what_a_link_leads_to_and_a_damaged_study(root: Path) -> None:
    (root / "moved").mkdir()
    place = (root / "overnight").rename(root / "moved" / "overnight")
    (root / "overnight").symlink_to(place)
    (root / "begun" / RESULTS_FILE).write_text("no database")
    assert tuner("rm", "overnight", "begun", "--yes").code == 0
    assert not place.exists()
    assert sorted(each.name for each in root.iterdir()) == ["moved"]


@pytest.mark.campaign
def test_rm_removes_the_rows_of_a_study_in_postgresql(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    monkeypatch.setenv(STORAGE_VARIABLE, database)
    for name in ("kept", "gone"):
        with storage_of(database).drive(tmp_path / name, name, print) as store:
            store.set_fact("objectives", ["mb_per_s"])
            store.set_progress(Progress(StudyState.RUNNING, pid=os.getpid(), updated_at=datetime.now(UTC).isoformat()))
    with storage_of(database).drive(tmp_path / "kept", "kept", print):
        removed = tuner("rm", "gone", "--yes")
        assert removed.code == 0, removed.err
        busy = tuner("rm", "kept", "--yes")
    assert busy.code == 1
    assert "one process at a time may run the study kept" in busy.complaint
    assert [each["name"] for each in tuner("studies", "--json").json["studies"]] == ["kept"]
    assert [each.name for each in tmp_path.iterdir()] == ["kept"]


def test_a_command_that_no_service_offers_is_refused_with_a_server(root: Path) -> None:
    refused = tuner("--server", "http://127.0.0.1:9", "cleanup")
    assert refused.code == 2
    assert "but got cleanup, which the service does not offer" in refused.complaint
    assert (root / "overnight").is_dir()


def test_a_list_that_cannot_be_read_is_not_empty(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "file"
    file.touch()
    monkeypatch.setenv(ROOT_VARIABLE, str(file))
    ended = tuner("studies")
    assert ended.code == 1
    assert f"{file} can't be read or written: Not a directory" in ended.complaint
