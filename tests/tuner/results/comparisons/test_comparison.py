"""Two studies side by side."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from objectives.scoring import Objective, score
from search_spaces.configs.guarantee import DURABILITY
from tests.helpers.stored_studies import study
from tuner.model.goals import Goal
from tuner.model.trial import Trial
from tuner.present.comparisons.comparison_view import comparison_rows
from tuner.results.comparisons.comparison import compare


def faster(trial: Trial) -> Trial:
    metrics = {**trial.metrics, "mb_per_s": trial.metrics["mb_per_s"] * 1.5}
    return replace(trial, metrics=metrics, objectives=(metrics["mb_per_s"], trial.objectives[1]))


def test_the_better_one_wins_by_goal(tmp_path: Path) -> None:
    found = compare(study(tmp_path / "a"), study(tmp_path / "b", change=faster, facts={"name": "faster"}))
    (size,) = found.sizes
    goals = {each.goal: each for each in size.goals}
    assert goals[Goal.THROUGHPUT].times == pytest.approx(1.5)
    assert goals[Goal.THROUGHPUT].winner == 1
    assert goals[Goal.LATENCY].winner is None
    ours, others = size.hypervolumes
    assert ours is not None
    assert others is not None
    assert others > ours
    record = found.as_json()
    assert (record["schema_version"], record["kind"]) == (1, "comparison")
    assert record["sizes"][0]["goals"]["throughput"]["winner"] == "faster"
    assert found.differences == ()


def test_studies_of_the_same_name_are_called_by_their_folders(tmp_path: Path) -> None:
    found = compare(study(tmp_path / "a"), study(tmp_path / "b"))
    assert found.names == (str(tmp_path / "a"), str(tmp_path / "b"))


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        ({"client_version": "librdkafka 2.17.0"}, "differ in client version: librdkafka 2.16.0 and librdkafka 2.17.0"),
        ({"broker_version": "4.0"}, "differ in broker version"),
        ({"host": {"processor": "Xeon", "cores": "8"}}, "differ in the host's number of cores: 2 and 8"),
        ({"cluster": {}}, "differ in the cluster's number of brokers: 1 and unknown"),
        ({"rates": {"1000": 5.0}}, "differ in the fixed rate of 1000 B records: 20,000.0 and 5.0 records/s"),
        ({"objectives": ["mb_per_s"]}, "differ in objectives: mb_per_s, latency_p99_ms and mb_per_s"),
    ],
)
def test_differences_between_the_studies_are_named(tmp_path: Path, facts: dict[str, object], expected: str) -> None:
    found = compare(study(tmp_path / "a"), study(tmp_path / "b", facts=facts))
    assert any(expected in difference for difference in found.differences)


def test_settings_and_record_sizes_that_differ_are_named(tmp_path: Path) -> None:
    asked = {"workload": {"partitions": 3, "key_bytes": 8}, "baseline": {"acks": "1"}, "constraints": []}
    one = study(tmp_path / "a", record_sizes=("100", "1000"), facts={"question": asked})
    differences = compare(one, study(tmp_path / "b")).differences
    assert "the studies differ in workload.key_bytes: 8 and 0" in differences
    assert "the studies differ in baseline.acks: 1 and not set" in differences
    assert "only one of the two studies searched 100 B records" in differences


def test_an_unfinished_study_is_compared_as_far_as_possible(tmp_path: Path) -> None:
    found = compare(study(tmp_path / "a"), study(tmp_path / "b", trials=0, rounds=0))
    (size,) = found.sizes
    assert [each.times for each in size.goals] == [None, None, None]
    assert (size.hypervolumes[0] is None, size.hypervolumes[1]) == (False, None)


BY_P95 = ["mb_per_s", "latency_p95_ms"]


def with_p95(p95_ms: float) -> Callable[[Trial], Trial]:
    def change(trial: Trial) -> Trial:
        metrics = {**trial.metrics, "latency_p95_ms": p95_ms}
        judged = score(metrics, [Objective(name) for name in BY_P95], ())
        return replace(trial, metrics=metrics, objectives=judged.values, violations=judged.violations)

    return change


def test_a_goal_is_compared_by_the_latency_that_the_study_optimises(tmp_path: Path) -> None:
    by_p95 = {"objectives": BY_P95}
    ours = study(tmp_path / "a", change=with_p95(8.0), facts=by_p95)
    theirs = study(tmp_path / "b", change=with_p95(4.0), facts={**by_p95, "name": "quicker"})
    found = compare(ours, theirs)
    (size,) = found.sizes
    (latency,) = [each for each in size.goals if each.goal is Goal.LATENCY]
    assert latency.metrics == ("latency_p95_ms",)
    assert latency.times == pytest.approx(2.0), "their p99 is the same"
    row = next(each for each in comparison_rows(found, size) if each[0] == "latency")
    assert "ms p99, 8.00 ms p95 (" in row[1]


def test_only_the_rates_of_common_sizes_differ(tmp_path: Path) -> None:
    one = study(tmp_path / "a", record_sizes=("100", "1000"), facts={"rates": {"100": 9.0, "1000": 5.0}})
    found = compare(one, study(tmp_path / "b", facts={"rates": {"1000": 5.0}}))
    assert not [each for each in found.differences if "fixed rate" in each]


def test_the_settings_that_differ_are_named_in_the_words_of_a_study_file(tmp_path: Path) -> None:
    asked = {"workload": {"saturate": [3.0, 10.0]}, "durability": "None", "constraints": ["latency_p99_ms <= 10"]}
    other = {"workload": {"saturate": [2.0, 10.0]}, "durability": str(DURABILITY["any"]), "constraints": []}
    found = compare(study(tmp_path / "a", facts={"question": asked}), study(tmp_path / "b", facts={"question": other}))
    assert found.differences == (
        "the studies differ in durability: baseline and any",
        "the studies differ in workload.saturate.warmup: 3s and 2s",
        "the studies differ in constraints: latency_p99_ms <= 10 and none",
    )
