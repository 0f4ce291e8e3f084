"""A trial and a gain have the same numbers in every table, document and picture."""

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.stored_studies import failed, study
from tuner.model.goals import Goal
from tuner.model.trial import Trial, TrialKind
from tuner.present.comparisons.comparison_view import comparison_rows
from tuner.present.number_text import number
from tuner.present.recommendations.recommendation_words import shown_gains
from tuner.present.report.page import report_page
from tuner.present.report.study_figures import front_figure
from tuner.present.studies.status import status_of
from tuner.present.trial_tables.frames import trials_frame, trials_json
from tuner.present.trial_tables.front_table import front_csv, front_json, front_notes, front_rows
from tuner.present.trial_tables.trial_json import trial_json
from tuner.results.comparisons.comparison import compare
from tuner.results.recommendations.by_goal import recommendations_by_goal
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import StudyResults
from tuner.tracking.study_layout import size_runs

METRICS = ("mb_per_s", "latency_p99_ms")


@pytest.fixture(scope="module")
def drifting(tmp_path_factory: pytest.TempPathFactory) -> StudyResults:
    """A study on a target that becomes twice as fast while it runs, and whose winner costs some throughput."""

    def warmer(trial: Trial) -> Trial:
        speed = min(1.0, 0.5 + trial.number / 40)
        if trial.kind is TrialKind.CONFIRM and trial.values:
            speed *= 0.6
        metrics = dict(trial.metrics)
        metrics |= {name: metrics[name] * speed for name in ("mb_per_s", "records_per_s")}
        return replace(trial, metrics=metrics, objectives=tuple(metrics[name] for name in METRICS))

    return study(tmp_path_factory.mktemp("drifting"), rounds=8, change=warmer)


def test_a_trial_has_the_same_values_in_all_documents(drifting: StudyResults) -> None:
    (size,) = drifting.sizes
    rows = {each["number"]: each for each in trials_json("overnight", trials_frame([size]), METRICS)["trials"]}
    fronts = {each["trial"]: each for each in front_json(drifting, size)["front"]}
    corrected = 0
    for trial in size.trials:
        record = json.loads(json.dumps(trial_json(size, trial)))
        for place, name in enumerate(METRICS):
            value, raw = rows[trial.number][name], rows[trial.number][f"raw_{name}"]
            assert (record["metrics"][name], record["metrics"][f"raw_{name}"]) == (value, raw)
            assert record["objectives"][place] == value
            assert raw == trial.metrics[name], "the results store keeps what was measured"
            corrected += value != raw
            if trial.number in fronts:
                found = fronts[trial.number]
                assert found["objectives"][name] == found["metrics"][name] == value
                assert found["metrics"][f"raw_{name}"] == raw
    assert corrected > 10
    assert "raw_latency_p99_ms,raw_mb_per_s" in front_csv(size).splitlines()[0]


def test_the_baseline_has_one_number_on_all_screens(drifting: StudyResults) -> None:
    """It is the mean of all its measurements, as the note of the front says."""
    (size,) = drifting.sizes
    assert size.baseline is not None
    means = size.estimates.by_config[size.baseline.fingerprint]
    (row,) = [each for each in front_rows(size) if each.is_baseline]
    (status,) = status_of(drifting, None, datetime.now(UTC)).sizes
    for best in status.best:
        found = means[best.metric]
        assert row.metrics[best.metric] == row.estimates[best.metric].value == best.baseline == found.value
        assert size.baseline_metrics[best.metric] != found.value, "otherwise this test proves nothing"


def test_all_trials_of_the_baseline_show_its_number(drifting: StudyResults) -> None:
    (size,) = drifting.sizes
    repeats = [trial for trial in size.trials if trial.kind is TrialKind.BASELINE]
    shown = {size.shown_metrics(trial)["mb_per_s"] for trial in repeats}
    assert len(repeats) > 1
    assert shown == {size.baseline_means["mb_per_s"]}
    assert size.shown_metrics(failed(repeats[0])) == {}


def test_a_recommendation_without_a_confirmation_shows_the_same_number_for_the_baseline(tmp_path: Path) -> None:
    def noisy(trial: Trial) -> Trial:
        faster = 30.0 * (trial.number == 0) if trial.kind is TrialKind.BASELINE else 0.0
        return replace(trial, metrics={**trial.metrics, "mb_per_s": trial.metrics["mb_per_s"] + faster})

    results = study(tmp_path, trials=25, rounds=0, change=noisy)
    (size,) = results.sizes
    (row,) = [each for each in front_rows(size) if each.is_baseline]
    found = recommend(results, size.record_bytes, Goal.THROUGHPUT)
    assert not found.is_baseline
    assert found.baseline_metrics["mb_per_s"] == row.metrics["mb_per_s"]
    assert size.baseline_metrics["mb_per_s"] != row.metrics["mb_per_s"], "otherwise this test proves nothing"


def test_a_comparison_shows_the_number_of_the_front_for_the_baseline(tmp_path: Path) -> None:
    def noisy(trial: Trial) -> Trial:
        value = 300.0 + 60 * (trial.number == 0) if trial.kind is TrialKind.BASELINE else 10.0
        metrics = {**trial.metrics, "mb_per_s": value}
        return replace(trial, metrics=metrics, objectives=tuple(metrics[name] for name in METRICS))

    results = study(tmp_path, trials=25, rounds=0, change=noisy)
    (size,) = results.sizes
    row = front_rows(size)[0]
    found = compare(results, results)
    (cells,) = [each for each in comparison_rows(found, found.sizes[0]) if each[0] == Goal.THROUGHPUT]
    assert number(size.baseline_metrics["mb_per_s"]) != number(row.metrics["mb_per_s"]), "this test proves nothing"
    assert cells[1].startswith(f"{number(row.metrics['mb_per_s'])} MB/s")


def test_percentiles_of_a_repeated_config_are_of_the_same_trials(tmp_path: Path) -> None:
    """So a p50 is never higher than the p95 beside it, though the first of the trials was slow."""
    slow = 3.0

    def repeated(trial: Trial) -> Trial:
        values = {"linger.ms": "1", "compression.type": "zstd", "batch.size": "500000"}
        factor = slow if trial.number in (0, 1) else 1.0
        p95 = 10.0 * factor
        metrics = {**trial.metrics, "latency_p50_ms": 0.9 * p95, "latency_p95_ms": p95, "latency_p99_ms": 1.1 * p95}
        metrics |= {"latency_p999_ms": 1.2 * p95, "latency_max_ms": 1.3 * p95, "held_rate_ratio": 1.0}
        if trial.number == 2:
            del metrics["latency_max_ms"]
        if trial.kind is TrialKind.SEARCH:
            config = ProducerConfig.parse(values)
            trial = replace(trial, values=config.values, fingerprint=config.fingerprint, guarantee="at least once")
        objectives = (metrics["mb_per_s"], metrics["latency_p95_ms"])
        return replace(trial, metrics=metrics, objectives=objectives, violations={})

    results = study(
        tmp_path, trials=30, rounds=0, change=repeated, facts={"objectives": ["mb_per_s", "latency_p95_ms"]}
    )
    (size,) = results.sizes
    names = ["latency_p50_ms", "latency_p95_ms", "latency_p99_ms", "latency_p999_ms", "latency_max_ms"]
    assert size.baseline is not None
    for metrics in (
        size.metrics_of(size.trial(1)),
        size.shown_metrics(size.trial(1)),
        size.shown_metrics(size.baseline),
        size.baseline_means,
        recommend(results, size.record_bytes, Goal.LATENCY).metrics,
        *(row.metrics for row in front_rows(size)),
    ):
        shown = [metrics[name] for name in names]
        assert shown == sorted(shown)
        assert metrics["latency_p50_ms"] == pytest.approx(0.9 * metrics["latency_p95_ms"])
    assert size.raw_metrics(size.trial(1))["raw_latency_p50_ms"] == 0.9 * slow * 10.0
    assert size.metrics_of(size.trial(2))["held_rate_ratio"] == 1.0


def test_a_baseline_that_is_the_best_so_far_has_a_gain_of_one(tmp_path: Path) -> None:
    """If the baseline is the best config so far, both have one value."""

    def noisy(trial: Trial) -> Trial:
        metrics = dict(trial.metrics)
        metrics["mb_per_s"] = 300.0 + 20 * (trial.number == 0) if trial.kind is TrialKind.BASELINE else 10.0
        return replace(trial, metrics=metrics, objectives=tuple(metrics[name] for name in METRICS))

    (size,) = status_of(study(tmp_path, trials=25, rounds=0, change=noisy), None, datetime.now(UTC)).sizes
    throughput = size.best[0]
    assert throughput.trial == 0
    assert throughput.value == throughput.baseline
    assert throughput.times == 1.0


def test_the_notes_say_what_is_corrected_for_drift(drifting: StudyResults) -> None:
    (size,) = drifting.sizes
    notes = " ".join(front_notes(size))
    assert "all numbers are corrected" not in notes + report_page(drifting)
    assert "the numbers of the search and of the front are corrected for it" in notes
    assert (f"The trials up to {max(size.estimates.forgotten, default=-1)} count for no mean" in notes) is bool(
        size.estimates.forgotten
    )
    assert size.estimates.forgotten


def test_the_report_shows_the_values_of_the_front(drifting: StudyResults) -> None:
    (size,) = drifting.sizes
    trial = next(each for each in size.front_trials if number(size.shown_metrics(each)["mb_per_s"]) != number(
        each.metrics["mb_per_s"]
    ))  # fmt: skip
    shown, raw = size.shown_metrics(trial)["mb_per_s"], trial.metrics["mb_per_s"]
    hovers = [text for trace in front_figure(size, {}).data for text in trace.hovertext or ()]
    (hover,) = [text for text in hovers if text.startswith(f"<b>trial {trial.number}</b>")]
    assert f"throughput, MB/s: {number(shown)}<br>" in hover
    assert f"raw_mb_per_s: {number(raw)}<br>" in hover
    table = report_page(drifting).partition("<summary>All trials")[2]
    (row,) = [each for each in table.split("<tr>") if each.startswith(f'<td class="n" data-value={trial.number}>')]
    assert f"data-value={shown:.6g}>{number(shown)}</td>" in row
    assert f"data-value={raw:.6g}>{number(raw)}</td>" in row
    assert "raw_mb_per_s" in table


def test_a_gain_has_the_same_interval_everywhere(drifting: StudyResults) -> None:
    (size,) = drifting.sizes
    found = recommendations_by_goal(drifting, size)
    (runs,) = size_runs(drifting)
    points = {point.name: point.value for point in runs.parent("FINISHED").points}
    (told,) = status_of(drifting, None, datetime.now(UTC)).sizes
    by_goal: dict[Goal, Any] = {each.goal: each.gains for each in told.recommended}
    for goal, each in found.items():
        for metric, ratio in shown_gains(each).items():
            ends = (points[f"{goal}/{metric}_gain_low"], points[f"{goal}/{metric}_gain_high"])
            assert ends == (ratio.low, ratio.high)
            if metric in by_goal[goal]:
                assert by_goal[goal][metric] == ratio
    prices = [
        each.gains[metric].low != ratio.low for each in found.values() for metric, ratio in shown_gains(each).items()
    ]
    assert any(prices), "some metric has another interval as a price"
