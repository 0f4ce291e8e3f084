"""How far a study is, as another terminal sees it."""

import json
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from objectives.ratios import Ratio, ratio_text
from tests.helpers.stored_studies import failed, study
from tests.helpers.watched_run import watched_run
from tuner.model.goals import Goal
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import Trial, TrialKind
from tuner.present.studies.status import Recommended, Status, status_of

UNFINISHED = {"finished_at": None}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> list[Progress]:
    """Return the progress reports of a study that this process ran."""
    return watched_run(tmp_path_factory.mktemp("watched") / "small")


@pytest.fixture
def searching(told: list[Progress]) -> Progress:
    """Return the last report from the search."""
    return [each for each in told if each.kind is TrialKind.SEARCH and each.phase == "saturated"][-1]


@pytest.fixture
def confirming(told: list[Progress]) -> Progress:
    """Return the first report from a confirmation round."""
    return next(each for each in told if each.kind is TrialKind.CONFIRM and each.phase)


def asked(folder: Path, progress: Progress | None, **options: Any) -> Status:
    results = study(folder, **{"trials": 12, "rounds": 0, "facts": UNFINISHED, **options})
    return status_of(results, progress, datetime.now(UTC))


@pytest.mark.parametrize(
    ("in_queue", "shown"),
    [("running", "running"), ("pausing", "pausing"), ("cancelling", "cancelling"), ("paused", "paused")],
)
def test_a_study_that_was_asked_to_stop_is_not_shown_as_running(
    tmp_path: Path, searching: Progress, in_queue: str, shown: str
) -> None:
    found = asked(tmp_path, searching).in_queue(in_queue)
    assert found.state == shown
    assert found.doing.startswith("1000 B, search trial"), "its process has not stopped yet"


def test_the_status_of_a_running_study_names_its_trial(tmp_path: Path, searching: Progress) -> None:
    found = asked(tmp_path, searching)
    assert found.state is StudyState.RUNNING
    assert found.doing == f"1000 B, search trial {searching.trial}: saturating phase"
    assert found.behind_mlflow == searching.behind_mlflow > 1
    assert found.updated_at == searching.updated_at
    (size,) = found.sizes
    assert (size.done, size.total) == (12, 60)
    assert [best.metric for best in size.best] == ["mb_per_s", "latency_p99_ms"]
    assert size.best[0].times is not None
    assert size.best[0].times > 1
    assert found.as_json()["kind"] == "status"


def test_the_status_of_a_confirmation_names_the_round(tmp_path: Path, confirming: Progress) -> None:
    found = asked(tmp_path, confirming, rounds=1)
    assert found.state is StudyState.CONFIRMING
    assert found.doing.startswith(f"1000 B, confirm trial {confirming.trial}, round 1, ")


def test_a_study_that_has_ended_reports_no_lag_of_mlflow(tmp_path: Path, searching: Progress) -> None:
    """`tuner sync` may have brought MLflow up to date since the study ended."""
    assert asked(tmp_path, replace(searching, state=StudyState.FINISHED), facts={}).behind_mlflow == 0


def test_the_end_is_taken_from_the_progress_report(tmp_path: Path, searching: Progress) -> None:
    ends_at = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    assert asked(tmp_path, replace(searching, ends_at=ends_at)).left_s == pytest.approx(7200, abs=60)


def test_without_a_reported_end_it_is_estimated_from_the_trials(tmp_path: Path, searching: Progress) -> None:
    assert asked(tmp_path, replace(searching, ends_at=None)).left_s == pytest.approx(48 * 30.0)


def test_a_study_whose_process_is_gone_was_interrupted(tmp_path: Path, confirming: Progress) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    found = asked(tmp_path, replace(confirming, pid=process.pid))
    assert found.state is StudyState.INTERRUPTED
    assert (found.doing, found.left_s, found.behind_mlflow) == ("", None, 0)


def test_a_process_that_started_later_with_the_same_pid_is_another_one(tmp_path: Path, searching: Progress) -> None:
    reused = replace(searching, process_started=f"{searching.process_started}0")
    assert asked(tmp_path, reused).state is StudyState.INTERRUPTED


@pytest.mark.parametrize("days", [-1, 1])
def test_a_study_still_runs_after_the_clock_was_set(tmp_path: Path, searching: Progress, days: int) -> None:
    then = (datetime.now(UTC) + timedelta(days=days)).isoformat()
    assert asked(tmp_path, replace(searching, updated_at=then)).state is StudyState.RUNNING


def test_a_report_of_an_earlier_release_is_judged_by_its_time(tmp_path: Path, searching: Progress) -> None:
    old = replace(searching, process_started="")
    assert asked(tmp_path / "same", old).state is StudyState.RUNNING
    long_ago = datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    assert asked(tmp_path / "later", replace(old, updated_at=long_ago)).state is StudyState.INTERRUPTED


@pytest.mark.parametrize(
    ("progress", "facts", "expected"),
    [
        (None, {}, StudyState.FINISHED),
        (Progress(StudyState.FINISHED), {}, StudyState.FINISHED),
        (None, UNFINISHED, StudyState.NOT_STARTED),
        (Progress(StudyState.FAILED), UNFINISHED, StudyState.FAILED),
        (Progress(StudyState.RUNNING), UNFINISHED, StudyState.INTERRUPTED),
        (Progress(StudyState.RUNNING, alive=True), UNFINISHED, StudyState.RUNNING),
        (Progress(StudyState.RUNNING, alive=False), UNFINISHED, StudyState.INTERRUPTED),
    ],
)
def test_the_state_follows_from_progress_and_facts(
    tmp_path: Path, progress: Progress | None, facts: dict[str, Any], expected: StudyState
) -> None:
    assert asked(tmp_path, progress, facts=facts).state is expected


def test_failures_are_listed_and_counted(tmp_path: Path, searching: Progress) -> None:
    found = asked(tmp_path, searching, change=lambda trial: failed(trial) if trial.number in (4, 9) else trial)
    assert found.sizes[0].failed == 2
    assert found.failures == (("1000/0004", "the broker did not answer"), ("1000/0009", "the broker did not answer"))


def test_a_study_bounded_by_time_has_no_total(tmp_path: Path, searching: Progress) -> None:
    unbounded = {"trials_per_size": None, "totals": {"1000": None}}
    found = asked(tmp_path, replace(searching, ends_at=None), facts={**UNFINISHED, **unbounded})
    assert found.sizes[0].total is None
    assert found.left_s is None


def test_a_grid_that_ends_early_has_its_own_total(tmp_path: Path, searching: Progress) -> None:
    found = asked(tmp_path, replace(searching, ends_at=None), facts={**UNFINISHED, "totals": {"1000": 14}})
    assert (found.sizes[0].done, found.sizes[0].total) == (12, 14)
    assert found.left_s == pytest.approx(2 * 30.0)


def test_a_study_that_has_just_begun_has_no_best_config(tmp_path: Path, told: list[Progress]) -> None:
    found = asked(tmp_path, replace(told[0], ends_at=None), trials=0)
    assert found.doing == "1000 B, burn-in trial 0, the baseline"
    assert found.sizes[0].best == ()
    assert found.left_s is None


def test_the_best_so_far_is_a_mean_and_not_a_lucky_trial(tmp_path: Path, confirming: Progress) -> None:
    def lucky(trial: Trial) -> Trial:
        if trial.number != 7:
            return trial
        return replace(trial, metrics={**trial.metrics, "mb_per_s": 400.0}, objectives=(400.0, trial.objectives[1]))

    found = asked(tmp_path, confirming, rounds=3, change=lucky)
    by_metric = {best.metric: best for best in found.sizes[0].best}
    assert by_metric["mb_per_s"].trial == 7
    assert 100 < by_metric["mb_per_s"].value < 200, "the mean of one lucky trial and three others"
    assert by_metric["latency_p99_ms"].trial != 7


def test_nothing_is_recommended_while_a_size_is_being_confirmed(tmp_path: Path, confirming: Progress) -> None:
    assert asked(tmp_path, confirming, rounds=3).sizes[0].recommended == ()


def test_recommendations_are_shown_once_a_size_is_confirmed(tmp_path: Path) -> None:
    found = asked(tmp_path, None, rounds=3, facts={})
    (size,) = found.sizes
    assert [(each.goal, each.trial) for each in size.recommended] == [
        (goal, 7) for goal in (Goal.BALANCED, Goal.THROUGHPUT, Goal.LATENCY)
    ]
    balanced, throughput, latency = size.recommended
    assert list(balanced.gains) == ["mb_per_s", "latency_p99_ms"]
    assert (list(throughput.gains), list(latency.gains)) == (["mb_per_s"], ["latency_p99_ms"])
    gain = throughput.gains["mb_per_s"]
    assert str(throughput).startswith("throughput: trial 7, gain (")
    assert (
        f"interval): throughput {gain}; at least {ratio_text(gain.low)} times better throughput, latency p99 improves"
        in str(throughput)
    )
    (kept,) = json.loads(json.dumps(found.as_json()))["sizes"]
    assert kept["recommended"][1]["gains"]["mb_per_s"]["low"] == gain.low


@pytest.mark.parametrize("hour", [21, 19])
def test_a_size_is_confirmed_when_the_next_one_has_begun(tmp_path: Path, searching: Progress, hour: int) -> None:
    """The clock may have been set back between the two record sizes."""

    def at(trial: Trial) -> Trial:
        return replace(trial, started_at=f"2026-03-01T{hour if trial.record_bytes == '1000' else 20}:00:00+00:00")

    found = asked(tmp_path, searching, rounds=3, record_sizes=("100", "1000"), change=at)
    assert [bool(size.recommended) for size in found.sizes] == [True, False]


def test_the_last_failures_are_shown_although_the_clock_was_set_back(tmp_path: Path, searching: Progress) -> None:
    def fail(trial: Trial) -> Trial:
        lost = failed(trial) if trial.kind is TrialKind.SEARCH else trial
        return replace(lost, started_at=f"2026-03-01T{23 - trial.number}:00:00+00:00")

    shown = [key for key, _ in asked(tmp_path, searching, change=fail).failures]
    assert shown == ["1000/0008", "1000/0009", "1000/0011"]


def test_a_line_names_its_goal_once() -> None:
    told = "keep the baseline for the goal latency: no config is proven better for it"
    kept = Recommended(Goal.LATENCY, 0, is_baseline=True, gains={}, in_short=told)
    assert str(kept) == "latency: keep the baseline, because no config is proven better for this goal"


def test_a_line_names_each_ratio_once() -> None:
    gains = {"mb_per_s": Ratio(0.96, 0.91, 1.01, 8, 0.8, 1.1), "latency_p99_ms": Ratio(1.5, 1.3, 1.7, 8, 1, 2)}
    told = "at least 1.30 times better latency p99, throughput is not worse (0.91 to 1.01)"
    both = Recommended(Goal.BALANCED, 4, False, gains, told)
    assert str(both) == f"balanced: trial 4, gain (95 % interval): latency p99 1.50 (1.30 to 1.70); {told}"
    stricter = {**gains, "mb_per_s": Ratio(1.2, 1.1, 1.3, 8, 0.9, 1.5, level=0.975)}
    each = "throughput 1.20 (1.10 to 1.30; 97.5 %); latency p99 1.50 (1.30 to 1.70; 95 %)"
    assert f", gain (interval; its level): {each}; " in str(replace(both, gains=stricter))
    neither = replace(both, gains={"mb_per_s": gains["mb_per_s"]}, in_short="better in the mean of all objectives")
    assert str(neither) == "balanced: trial 4, better in the mean of all objectives"


def test_a_recommendation_without_a_gain_says_so() -> None:
    assert (
        str(Recommended(Goal.LATENCY, 9, False, {}))
        == "latency: trial 9, not confirmed against the baseline, so no gain is claimed"
    )
