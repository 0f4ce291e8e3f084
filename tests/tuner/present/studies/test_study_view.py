"""The line for each trial: what it measured in the study's objectives, and its ratio to the baseline."""

import re
from collections.abc import Mapping
from io import StringIO
from pathlib import Path

import pytest

from objectives.scoring import Objective
from tests.helpers.studies import simulated_study
from tests.helpers.trials import SIZE, confirming, failed, trial
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SizeProgress
from tuner.model.goals import Goal
from tuner.model.trial import Trial, TrialKind
from tuner.present.console import Unwrapped
from tuner.present.studies import study_view
from tuner.present.studies.study_view import StudyView
from tuner.results.recommendations.recommend import recommend
from tuner.results.search_state import SearchState

P95 = (Objective("mb_per_s"), Objective("latency_p95_ms"))
FAST = {"linger.ms": "1", "batch.size": "65536", "acks": "1", "compression.type": "lz4", "message.timeout.ms": "9000"}


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> StringIO:
    out = StringIO()
    monkeypatch.setattr(study_view, "ERR", Unwrapped(file=out, width=400))
    return out


def shown(said: StringIO, *trials: Trial, total: int | None = 12, first_round: int = 0) -> list[str]:
    view, search = StudyView(), SearchState(SIZE, P95)
    search.first_round = first_round
    for each in trials:
        search.add(each)
        view.trial(SizeProgress(each.kind, each.number, total, None, search), each)
    return [line.rstrip() for line in said.getvalue().splitlines()]


def measured(
    number: int,
    mb_per_s: float,
    p95_ms: float,
    kind: TrialKind = TrialKind.SEARCH,
    config: Mapping[str, str] | None = None,
) -> Trial:
    return trial(
        number, mb_per_s, None, kind=kind, config=config, objectives=P95, metrics={"latency_p95_ms": p95_ms}
    )  # fmt: skip


def test_the_line_shows_the_latency_that_the_study_optimises(said: StringIO) -> None:
    lines = shown(said, measured(0, 100, 10, TrialKind.BASELINE), measured(1, 150, 5, config={"linger.ms": "1"}))
    assert lines[0].split() == ["1000", "B", "baseline", "1/12", "MB/s", "100", "(1.00x)", "p95", "ms", "10", "(1.00x)"]
    assert lines[1].endswith("MB/s     150 (1.50x)   p95 ms       5 (2.00x)   on the front as trial 1: linger.ms=1")


def test_a_trial_on_the_front_has_the_number_that_other_commands_use(said: StringIO) -> None:
    warm = [measured(number, 100, 10, TrialKind.BURN_IN) for number in (0, 1)]
    search = [measured(3, 150, 5), measured(4, 90, 20), measured(5, 200, 4, config={})]
    lines = shown(said, *warm, measured(2, 100, 10, TrialKind.BASELINE), *search)
    assert " 2/12 " in lines[3]
    assert lines[3].endswith("on the front as trial 3: linger.ms=3")
    assert "trial" not in lines[4]
    assert lines[5].endswith("on the front as trial 5")


def test_a_large_number_is_written_with_all_its_digits(said: StringIO) -> None:
    (line,) = shown(said, measured(0, 100, 10_990, TrialKind.BASELINE))
    assert "p95 ms   10990 (1.00x)" in line


def test_a_stall_in_the_first_baseline_does_not_inflate_ratios(said: StringIO) -> None:
    warm = [measured(number, 100, 10, TrialKind.BURN_IN) for number in (0, 1)]
    lines = shown(said, *warm, measured(2, 100, 60, TrialKind.BASELINE), measured(3, 100, 9))
    assert "x)" not in "".join(lines[:2]), "a burn-in is compared with nothing"
    assert "p95 ms      60 (0.17x)" in lines[2]
    assert "p95 ms       9 (1.11x)" in lines[3]


def test_many_changes_are_cut_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(StringIO):
        def isatty(self) -> bool:
            return True

    lines = {}
    for out in (Terminal(), StringIO()):
        monkeypatch.setattr(study_view, "ERR", Unwrapped(file=out, width=400))
        lines[out.isatty()] = shown(out, measured(0, 100, 10, TrialKind.BASELINE), measured(1, 150, 5, config=FAST))[1]
    assert re.sub(r"\x1b\[[0-9;]*m", "", lines[True]).endswith("and 1 more")
    assert lines[False].count("=") == len(FAST)


def test_failures_say_why(said: StringIO) -> None:
    lines = shown(
        said, measured(0, 100, 10, TrialKind.BASELINE), measured(1, 150, 5, config=FAST), failed(2), total=None
    )
    assert lines[2].endswith("no measurement: the worker was lost")


def test_a_line_of_a_round_names_the_config_and_the_mean_gain_so_far(said: StringIO) -> None:
    found = [measured(0, 100, 10, TrialKind.BASELINE), trial(1, 150, 5, config=FAST)]
    rounds = confirming(2, [(150, 5), (160, 5)], [(100, 10), (80, 10)], FAST)
    lines = [" ".join(line.split()) for line in shown(said, *found, *rounds)[2:]]
    assert lines == [
        "1000 B confirm round 1 baseline MB/s 100",
        "1000 B confirm round 1 winner (trial 1) MB/s 150 (1.50x, mean of 1 round)",
        "1000 B confirm round 2 baseline MB/s 80",
        "1000 B confirm round 2 winner (trial 1) MB/s 160 (1.73x, mean of 2 rounds)",
    ]


def test_a_line_of_a_repeat_or_an_undo_names_what_was_measured(said: StringIO) -> None:
    fast, slower = {"linger.ms": "1", "compression.type": "lz4"}, {"compression.type": "lz4"}
    found = [measured(0, 100, 10, TrialKind.BASELINE), measured(1, 150, 5, config=fast)]
    again = [measured(2, 150, 5, TrialKind.REPEAT, fast), measured(3, 100, 10, TrialKind.REPEAT, {})]
    rounds = [measured(4, 150, 5, TrialKind.CONFIRM, fast), measured(5, 100, 10, TrialKind.CONFIRM, {})]
    undone = [measured(6, 150, 5, TrialKind.UNDO, fast), measured(7, 150, 9, TrialKind.UNDO, slower)]
    lines = shown(said, *found, *again, *rounds, *undone)
    told = ["trial 1 ", "baseline ", "trial 1 ", "trial 1 with linger.ms=5 "]
    for line, each in zip((*lines[2:4], *lines[6:]), told, strict=True):
        assert each in line


def test_a_later_confirmation_counts_and_averages_its_own_rounds(said: StringIO) -> None:
    found = [measured(0, 100, 10, TrialKind.BASELINE), trial(1, 150, 5, config=FAST)]
    rounds = confirming(2, [(150, 5), (200, 5)], [(100, 10), (100, 10)], FAST)
    lines = [" ".join(line.split()) for line in shown(said, *found, *rounds, first_round=1)[-2:]]
    assert lines == [
        "1000 B confirm round 1 baseline MB/s 100",
        "1000 B confirm round 1 winner (trial 1) MB/s 200 (2.00x, mean of 1 round)",
    ]


def test_tuner_confirm_begins_with_round_1(said: StringIO, tmp_path: Path) -> None:
    spec = simulated_study((1000,), rounds=2)
    numbers = []
    for searching in (True, False):
        measure_study(spec, "", tmp_path, StudyView(), searching=searching)
        numbers.append(re.findall(r"B  confirm +round (\d+)", said.getvalue()))
        said.truncate(0)
        said.seek(0)
    assert set(numbers[0]) >= {"1", "2"}
    assert set(numbers[1]) == set(numbers[0])


def test_a_record_size_is_recommended_before_the_next_one_is_measured(said: StringIO, tmp_path: Path) -> None:
    study = measure_study(simulated_study((100, 1000), rounds=8), "", tmp_path, StudyView())
    lines = said.getvalue().splitlines()
    (at,) = (place for place, line in enumerate(lines) if line.startswith("100 B: recommended for "))
    assert not any(line.startswith("  1000 B ") for line in lines[:at])
    goal = Goal(lines[at].removeprefix("100 B: recommended for ").partition(":")[0])
    number = recommend(study, "100", goal).trial.number
    assert f": trial {number}, at least " in lines[at]
    assert "=" in lines[at + 1], "the changed properties follow"
    assert not any("1000 B: recommended" in line for line in lines), "the caller prints all recommendations at the end"
