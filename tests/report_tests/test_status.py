"""How far a study is, as other terminals see it."""

import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.report_tests.studies import failed, study
from tuner.report.status import Status, StudyState, status_of

UNFINISHED = {"finished_at": None}


def told(**values: Any) -> dict[str, Any]:
    """What a driver tells; this process is the driver."""
    now = datetime.now(UTC).isoformat()
    usual: dict[str, Any] = {"pid": os.getpid(), "state": "running", "record_bytes": "1000", "trial": 12, "trials": 60}
    return {
        **usual,
        "kind": "search",
        "phase": "saturate",
        "updated_at": now,
        "ends_at": None,
        "message": "",
        "behind_mlflow": 3,
        **values,
    }


def asked(folder: Path, progress: dict[str, Any], **options: Any) -> Status:
    results = study(folder, **{"trials": 12, "rounds": 0, "facts": UNFINISHED, **options})
    return status_of(results, progress, datetime.now(UTC))


def test_a_study_that_runs(tmp_path: Path) -> None:
    found = asked(tmp_path, told())
    assert found.state is StudyState.RUNNING
    assert found.doing == "1000 B, trial 12, search, saturate"
    assert found.left_s == pytest.approx(48 * 30.0)
    assert found.behind_mlflow == 3
    (size,) = found.sizes
    assert (size.done, size.total) == (12, 60)
    assert [best.metric for best in size.best] == ["mb_per_s", "latency_p99_ms"]
    assert size.best[0].times is not None
    assert size.best[0].times > 1
    assert found.as_json()["kind"] == "status"


def test_the_driver_knows_best_when_it_ends(tmp_path: Path) -> None:
    ends_at = (datetime.now(UTC) + timedelta(hours=2)).isoformat()
    assert asked(tmp_path, told(ends_at=ends_at)).left_s == pytest.approx(7200, abs=60)


def test_a_driver_that_is_gone_was_interrupted(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    found = asked(tmp_path, told(pid=process.pid, state="confirming"))
    assert found.state is StudyState.INTERRUPTED
    assert (found.doing, found.left_s) == ("", None)


def test_a_process_that_got_the_number_later_is_another(tmp_path: Path) -> None:
    long_ago = datetime(2020, 1, 1, tzinfo=UTC).isoformat()
    assert asked(tmp_path, told(updated_at=long_ago)).state is StudyState.INTERRUPTED


@pytest.mark.parametrize(
    ("progress", "facts", "expected"),
    [
        ({}, {}, StudyState.FINISHED),
        ({"state": "finished"}, {}, StudyState.FINISHED),
        ({}, UNFINISHED, StudyState.INTERRUPTED),
        ({"state": "failed"}, UNFINISHED, StudyState.FAILED),
        ({"state": "running", "pid": "?"}, UNFINISHED, StudyState.INTERRUPTED),
    ],
)
def test_states(tmp_path: Path, progress: dict[str, Any], facts: dict[str, Any], expected: StudyState) -> None:
    assert asked(tmp_path, progress, facts=facts).state is expected


def test_failures_are_told_and_counted(tmp_path: Path) -> None:
    found = asked(tmp_path, told(), change=lambda trial: failed(trial) if trial.number in (4, 9) else trial)
    assert found.sizes[0].failed == 2
    assert found.failures == (("1000/0004", "the broker did not answer"), ("1000/0009", "the broker did not answer"))


def test_a_study_bounded_by_time_has_no_total(tmp_path: Path) -> None:
    found = asked(tmp_path, told(), facts={**UNFINISHED, "trials_per_size": None})
    assert found.sizes[0].total is None
    assert found.left_s is None


def test_a_study_that_has_just_begun(tmp_path: Path) -> None:
    found = asked(tmp_path, told(trial=None, record_bytes="", kind="", phase="starting the cluster"), trials=0)
    assert found.doing == "starting the cluster"
    assert found.sizes[0].best == ()
    assert found.left_s is None
