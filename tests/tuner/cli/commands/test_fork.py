"""`tuner fork` and changed study files, as a user types and sees them."""

from pathlib import Path

import pytest

from tests.helpers.command import Ended, tuner
from tests.helpers.small_experiment import run_small
from tests.helpers.studies import on_record
from tuner.model.trial import TrialKind
from tuner.storage.locations import ROOT_VARIABLE, STORAGE_VARIABLE

_STUDY = """\
# my first study
study: {name}
workload:
  record_bytes: 1000
  saturate: {{warmup: 1s, measured: {measured}}}
  paced: {{warmup: 1s, measured: 1s}}
{more}
search: {{trials: 6, startup_trials: 3, burn_in_max: 1}}
confirm: {{rounds: 0}}
tracking: {{enabled: false}}
executor: {{kind: simulated}}
"""


@pytest.fixture
def studies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of all studies, with one finished study that is named `old`."""
    root = tmp_path / "studies"
    monkeypatch.setenv(ROOT_VARIABLE, str(root))
    assert tuner("run", written(tmp_path / "old.yaml"), "--quiet").code == 0
    return root


def written(path: Path, *, measured: str = "1s", more: str = "") -> str:
    path.write_text(_STUDY.format(name=path.stem, measured=measured, more=more))
    return str(path)


def refused(*words: str) -> Ended:
    ended = tuner(*words)
    assert ended.code == 2
    assert "Traceback" not in ended.err
    return ended


def test_a_fork_with_a_changed_file_is_run_like_any_study(studies: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.yaml", more="objectives: [mb_per_s, latency_p95_ms]")
    forked = tuner("fork", "old", "new", new, "--json")
    assert forked.code == 0, forked.err
    kept = on_record(studies / "new")
    assert (forked.json["study"], forked.json["of"], forked.json["trials_taken_over"]) == ("new", "old", len(kept))
    assert f"new: {len(kept)} of {len(on_record(studies / 'old'))} trials of old taken over" in forked.err
    assert f"to continue: tuner run {new}" in forked.err
    status = tuner("status", "new")
    assert "new: not started" in status.out
    assert "nothing was measured here yet; to start it, give its study file to tuner run" in status.out
    assert "interrupted" not in status.out
    assert tuner("status", "new", "--json").json["state"] == "not started"
    listed = {each["name"]: each["state"] for each in tuner("studies", "--json").json["studies"]}
    assert listed == {"new": "not started", "old": "finished"}
    assert tuner("run", new, "--trials", "8").code == 0
    assert "not started" not in tuner("status", "new").out
    after = on_record(studies / "new")
    assert after[: len(kept)] == kept
    assert sum(each.kind in (TrialKind.BASELINE, TrialKind.SEARCH) for each in after) == 8


@pytest.mark.campaign
def test_a_fork_without_a_file_keeps_the_settings(studies: Path) -> None:
    forked = tuner("fork", "old", "new")
    assert forked.code == 0, forked.err
    file = studies / "new" / "study.yaml"
    assert file.read_text().startswith('# my first study\nstudy: "new"\nworkload:')
    assert on_record(studies / "new") == on_record(studies / "old")
    assert tuner("run", str(file), "--quiet").code == 0
    assert "already" in refused("fork", "old", "new").complaint


def test_a_fork_with_other_measurement_settings_leaves_nothing(studies: Path, tmp_path: Path) -> None:
    new = written(tmp_path / "new.yaml", measured="2s")
    assert "  workload.saturate.measured: 1s in old, 2s now\n" in refused("fork", "old", "new", new).err
    assert "write `study: other` into the file" in refused("fork", "old", "other", new).complaint
    assert "a name must consist of letters" in refused("fork", "old", "../new").complaint
    assert [folder.name for folder in studies.iterdir()] == ["old"]


def test_a_changed_file_is_refused_with_a_line_for_each_key(studies: Path, tmp_path: Path) -> None:
    before = on_record(studies / "old")
    said = refused("run", written(tmp_path / "old.yaml", more="durability: all"), "--quiet").err
    assert "but these differ:\n  durability: baseline in the study, all now\n" in said
    assert "`tuner fork old NEW-NAME STUDY.YAML`" in said
    assert on_record(studies / "old") == before


def test_a_wrong_name_or_an_experiment_is_not_blamed_on_the_study_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    run_small(tmp_path / "small")
    for more in ((), ("--server", "http://127.0.0.1:9")):
        said = refused(*more, "fork", "small", "a b").complaint
        assert "'NEW-NAME': a name must consist of" in said
        assert "but got 'a b'" in said
    assert refused("fork", "small", "new").complaint.startswith("error: small is an experiment, not a study; use ")


@pytest.mark.campaign
def test_a_study_in_postgresql_can_be_forked(database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "studies"))
    monkeypatch.setenv(STORAGE_VARIABLE, database)
    assert tuner("run", written(tmp_path / "old.yaml"), "--quiet").code == 0
    forked = tuner("fork", "old", "new")
    assert forked.code == 0, forked.err
    assert tuner("run", str(tmp_path / "studies" / "new" / "study.yaml"), "--quiet").code == 0
    assert {each["name"] for each in tuner("studies", "--json").json["studies"]} == {"old", "new"}
    assert "already" in refused("fork", "old", "new").complaint
