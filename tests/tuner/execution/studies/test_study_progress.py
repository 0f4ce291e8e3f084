"""The progress that a running study writes, as `tuner status` and the service read it."""

import json
import os
from contextlib import closing
from dataclasses import replace
from datetime import datetime
from math import inf
from pathlib import Path

import pytest
from typing_extensions import override

from tests.helpers.studies import StoppedAfter, simulated_study, state_told
from tests.helpers.watched_run import SHOWN, watched_run
from tuner.execution import trial_keeper
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter, SizeProgress
from tuner.execution.trial_keeper import TrialKeeper
from tuner.model.errors import StudyChanged
from tuner.model.facts import CLIENT_VERSION
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import CONFIRMING_KINDS, Trial, TrialKind
from tuner.results.study_results import load_results
from tuner.storage.folder_files import read_progress
from tuner.storage.sqlite import SqliteStore


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("watched") / "small"


@pytest.fixture(scope="module")
def told(folder: Path) -> list[Progress]:
    return watched_run(folder)


def stored_progress(folder: Path) -> Progress:
    stored = read_progress(folder)
    assert stored is not None
    return stored


def messages(told: list[Progress], kind: TrialKind) -> list[str]:
    return list(dict.fromkeys(each.message for each in told if each.kind is kind))


def test_progress_says_in_words_what_is_being_measured(told: list[Progress]) -> None:
    searched = messages(told, TrialKind.SEARCH)
    number = next(each.trial for each in told if each.kind is TrialKind.SEARCH)
    assert searched[:3] == [
        f"1000 B, search trial {number}{phase}" for phase in ("", ": paced phase", ": saturating phase")
    ]
    (first, *_) = messages(told, TrialKind.BURN_IN)
    assert first == "1000 B, burn-in trial 0, the baseline"
    (first, *_) = messages(told, TrialKind.BASELINE)
    assert first.startswith("1000 B, baseline trial ")


def test_a_confirmation_says_its_round_and_what_is_measured(told: list[Progress]) -> None:
    looks, rounds, parts = (messages(told, kind) for kind in CONFIRMING_KINDS)
    for said, whose in ((looks, "one of the best configs"), (rounds, "a winner")):
        assert {each.partition(":")[0].split(", ", 3)[3] for each in said} == {"the baseline", whose}
    assert {each.split(", ")[2].partition(":")[0] for each in rounds} == {"round 1", "round 2"}
    assert {each.split(", ", 2)[2].partition(":")[0] for each in parts} == {
        "round 1, a winner, complete or with one change undone"
    }
    assert rounds[-1].endswith(": saturating phase")


def test_progress_says_how_many_trials_the_mirror_is_behind(told: list[Progress]) -> None:
    counts = [each.behind_mlflow for each in told]
    assert counts[0] == 0
    assert counts == sorted(counts)
    last = told[-1]
    assert last.trial is not None
    assert last.behind_mlflow == last.trial - SHOWN, "all trials before it, except those that the mirror shows"


def test_progress_names_its_process_and_when_the_study_will_end(told: list[Progress], folder: Path) -> None:
    for each in told:
        assert each.pid == os.getpid()
        assert each.started_at <= each.updated_at
        assert each.ends_at is not None
        assert datetime.fromisoformat(each.ends_at) >= datetime.fromisoformat(each.updated_at)
        assert each.state is (StudyState.CONFIRMING if each.kind in CONFIRMING_KINDS else StudyState.RUNNING)
        assert each.trials == 12
    end = stored_progress(folder)
    assert (end.state, end.message, end.trial) == (StudyState.FINISHED, "", None)
    assert load_results(folder).finished


def test_progress_is_read_as_it_was_written(told: list[Progress]) -> None:
    for each in told:
        assert Progress.from_json(json.loads(json.dumps(each.as_json()))) == each


def test_progress_of_an_older_release_is_read() -> None:
    """The progress of earlier releases, at the end of a study and during a trial."""
    ended = {"pid": 7, "state": "finished", "record_bytes": "", "trial": None, "kind": "", "trials": 60, "phase": ""}
    assert Progress.from_json(ended) == Progress(StudyState.FINISHED, trials=60, pid=7)
    during = {**ended, "state": "running", "record_bytes": "1000", "trial": 12, "kind": "search", "phase": "paced"}
    found = Progress.from_json({**during, "of a newer release": 1})
    assert found == Progress(
        StudyState.RUNNING, record_bytes="1000", trial=12, kind=TrialKind.SEARCH, trials=60, phase="paced", pid=7
    )


def test_a_report_that_repeats_the_last_one_is_not_stored_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial_keeper, "_REPEATED_AFTER_S", inf)
    with closing(SqliteStore(tmp_path)) as store:
        keeper = TrialKeeper(store, None, 5, "{}", 0)
        paced = Progress(StudyState.RUNNING, trial=3, phase="paced", ends_at="2026-11-03T07:00:00+00:00")
        keeper.tell(paced)
        keeper.tell(replace(paced, ends_at="2026-11-03T07:00:01+00:00"))
        assert stored_progress(tmp_path).ends_at == paced.ends_at
        keeper.tell(replace(paced, phase="saturate"))
        assert stored_progress(tmp_path).phase == "saturate"


def test_an_error_before_the_first_trial_of_a_resumed_study_is_stored(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure_study(simulated_study(), "", tmp_path, StoppedAfter(3))
    with closing(SqliteStore(tmp_path)) as store:
        store.set_fact(CLIENT_VERSION, "librdkafka 1.0.0")
    with pytest.raises(StudyChanged) as refused:
        measure_study(simulated_study(), "", tmp_path, SilentReporter())
    told = stored_progress(tmp_path)
    assert (told.state, told.message) == (StudyState.FAILED, str(refused.value))


class _Wrapped(SilentReporter):
    """Raises what Python makes of Ctrl-C while code written in C runs, after the first trial."""

    @override
    def trial(self, progress: SizeProgress, trial: Trial) -> None:
        raise SystemError("returned a result with an exception set") from KeyboardInterrupt()


def test_a_signal_during_code_written_in_c_interrupts_the_study(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt):
        measure_study(simulated_study(), "", tmp_path, _Wrapped())
    assert state_told(tmp_path) is StudyState.INTERRUPTED
