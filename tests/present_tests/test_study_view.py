"""The line for each trial: what it measured in the study's objectives, and its ratio to the baseline."""

from collections.abc import Mapping
from io import StringIO

import pytest
from rich.console import Console

from objectives.scoring import Objective
from tests.builders.trials import SIZE, failed, trial
from tuner.course.reporter import Standing
from tuner.model.trial import Kind, Trial
from tuner.present import study_view
from tuner.present.study_view import StudyView
from tuner.results.size_record import SizeRecord

P95 = (Objective("mb_per_s"), Objective("latency_p95_ms"))
FAST = {"linger.ms": "1", "batch.size": "65536", "acks": "1", "compression.type": "lz4", "message.timeout.ms": "9000"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    out = StringIO()
    monkeypatch.setattr(study_view, "ERR", Console(file=out, width=400))
    return out


def shown(said: StringIO, *trials: Trial, total: int | None = 12) -> list[str]:
    view, record = StudyView(), SizeRecord(SIZE, P95)
    for each in trials:
        record.add(each)
        view.trial(Standing(each.kind, each.number, total, None, record), each)
    return [line.rstrip() for line in said.getvalue().splitlines()]


def measured(
    number: int, mb_per_s: float, p95_ms: float, kind: Kind = Kind.SEARCH, config: Mapping[str, str] | None = None
) -> Trial:
    return trial(
        number, mb_per_s, None, kind=kind, config=config, objectives=P95, metrics={"latency_p95_ms": p95_ms}
    )  # fmt: skip


def test_the_line_shows_the_latency_that_the_study_optimises(said: StringIO) -> None:
    lines = shown(said, measured(0, 100, 10, Kind.BASELINE), measured(1, 150, 5, config={"linger.ms": "1"}))
    assert lines[0].split() == ["1000", "B", "baseline", "1/12", "MB/s", "100", "(1.00x)", "p95", "ms", "10", "(1.00x)"]
    assert lines[1].endswith("MB/s     150 (1.50x)   p95 ms       5 (2.00x)   on the front as trial 1: linger.ms=1")


def test_a_trial_on_the_front_has_the_number_that_other_commands_use(said: StringIO) -> None:
    warm = [measured(number, 100, 10, Kind.STABILISE) for number in (0, 1)]
    search = [measured(3, 150, 5), measured(4, 90, 20), measured(5, 200, 4, config={})]
    lines = shown(said, *warm, measured(2, 100, 10, Kind.BASELINE), *search)
    assert " 2/12 " in lines[3]
    assert lines[3].endswith("on the front as trial 3: linger.ms=3")
    assert "trial" not in lines[4]
    assert lines[5].endswith("on the front as trial 5")


def test_a_stall_in_the_first_baseline_does_not_inflate_ratios(said: StringIO) -> None:
    warm = [measured(number, 100, 10, Kind.STABILISE) for number in (0, 1)]
    lines = shown(said, *warm, measured(2, 100, 60, Kind.BASELINE), measured(3, 100, 9))
    assert "x)" not in "".join(lines[:2]), "a burn-in is compared with nothing"
    assert "p95 ms      60 (0.17x)" in lines[2]
    assert "p95 ms       9 (1.11x)" in lines[3]


def test_many_changes_are_cut_and_failures_say_why(said: StringIO) -> None:
    lines = shown(said, measured(0, 100, 10, Kind.BASELINE), measured(1, 150, 5, config=FAST), failed(2), total=None)
    assert lines[1].endswith("and 1 more")
    assert lines[2].endswith("no measurement: the worker was lost")
