"""What an experiment says: the means of its rows, and what came out of the findings of a paper."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Final

import pytest

import tuner
from runners.performance_model.constants import EMBEDDED
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from search_spaces.client import librdkafka
from search_spaces.properties.catalogue import shown_values
from tests.helpers.small_experiment import SEARCHES, SMALL, ToldOfExperiment, run_small, small
from tests.helpers.trials import trial
from tuner.execution.experiments.experiment import measure_experiment
from tuner.experiment_file import parse_experiment
from tuner.experiment_file.searches import on_cluster
from tuner.model.errors import NotAStudy
from tuner.model.paper import Comparison, Expectation, Finding
from tuner.model.target import Target
from tuner.prediction.probes import calibration_file, defaults_for
from tuner.present.experiments.experiment_plan_view import planned_lines
from tuner.present.experiments.experiment_view import (
    because,
    experiment_json,
    experiment_lines,
    experiment_markdown,
    experiments_csv,
    experiments_markdown,
    notes_of,
    overview_lines,
)
from tuner.present.report.experiment_pictures import draw_experiment
from tuner.present.report.experiment_series import groups, line_setting, series_of
from tuner.results.experiments.checked_findings import FindingOutcome, check
from tuner.results.experiments.experiment_results import ExperimentResults, load_experiment
from tuner.results.experiments.latency_parts import latency_parts
from tuner.results.experiments.row_results import RowResults, mean_of
from tuner.results.study_results import load_results

CUT: Final = """
about: Sizes.
vary: {record_bytes: [10, 100, 1000]}
quick: {exclude: [{record_bytes: [10]}], rounds: 3}
findings:
  - id: one-left
    claim: Records of 1,000 B reach more MB/s than smaller ones.
    source: table 1
    metric: mb_per_s
    of: {record_bytes: 1000}
    each: [{over: {row: record_bytes=10}}, {over: {row: record_bytes=100}}]
    expect: greater
  - id: none-left
    claim: Records of 100 B reach more MB/s than those of 10 B.
    source: table 1
    metric: mb_per_s
    of: {record_bytes: 100}
    over: {record_bytes: 10}
    expect: greater
"""


PARTS: Final = """
about: Parts of a latency.
target: {brokers: 3}
load: {replication: 3, rate_records_per_s: 100, consumers: 1}
rows:
  - {acks: 1}
  - {acks: all}
  - {linger.ms: 5}
"""


LOST: Final = """
about: What a lost broker costs.
target: {brokers: 3}
load: {replication: 3, rate_records_per_s: 100, warmup: 1s, measured: 5s, broker_killed_after: 2.5s}
rounds: 1
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> ExperimentResults:
    return run_small(tmp_path_factory.mktemp("experiment") / "small", ToldOfExperiment())


@pytest.mark.parametrize(
    ("killed_after", "at_s"), [("0s", [1, 2, 3, 4, 5]), ("2s", [-1, 0, 1, 2, 3]), ("2.5s", [-2, -1, 0, 1, 2])]
)
def test_times_around_a_kill_count_from_the_end_of_the_window_in_which_it_came(
    killed_after: str, at_s: list[float], tmp_path: Path
) -> None:
    (row,) = run_small(tmp_path / "small", text=LOST.replace("2.5s", killed_after)).rows
    (moments,) = row.around_loss
    assert [moment.at_s for moment in moments] == at_s


def test_a_mean_has_an_interval() -> None:
    mean = mean_of([90.0, 100.0, 111.111])
    assert mean.value == pytest.approx(100.0, abs=0.01)
    assert mean.low < 100 < mean.high
    assert mean_of([5.0]).low == pytest.approx(5.0)
    assert mean_of([-1.0, 1.0]).value == 0.0


def test_intervals_decide_whether_a_finding_holds(results: ExperimentResults) -> None:
    found = {each.finding.id: each for each in results.findings}
    larger = found["larger-is-faster"]
    assert larger.outcome is FindingOutcome.HOLDS
    assert [each.outcome for each in larger.compared] == [FindingOutcome.HOLDS, FindingOutcome.HOLDS]
    assert found["smaller-is-faster"].outcome is FindingOutcome.FAILS
    assert found["the-cap"].outcome is FindingOutcome.ARTEFACT


def test_rows_that_the_load_generator_or_other_processes_limited_decide_nothing(results: ExperimentResults) -> None:
    rows = [
        replace(row, trials=tuple(replace(each, flagged=place > 0) for place, each in enumerate(row.trials)))
        for row in results.rows
    ]
    (finding,) = [each for each in results.spec.findings if each.id == "larger-is-faster"]
    checked = check(finding, rows, 0.95)
    assert checked.outcome is FindingOutcome.UNDECIDED
    limited = "but the load generator or other processes limited record_bytes=100 acks=1 and record_bytes=1000 acks=1"
    assert limited in because(checked)


def test_comparisons_that_the_quick_version_leaves_out_do_not_count(tmp_path: Path) -> None:
    spec = small(CUT, quick=True)
    assert [len(finding.comparisons) for finding in spec.findings] == [2, 1]
    measure_experiment(spec, CUT, tmp_path / "small-quick", ToldOfExperiment(), simulated=SimulatedRunner(0.02))
    one_left, none_left = load_experiment(tmp_path / "small-quick").findings
    assert one_left.outcome is FindingOutcome.HOLDS
    assert len(one_left.compared) == 1
    assert "The quick version leaves out 1 of 2 comparisons" in because(one_left)
    assert none_left.outcome is FindingOutcome.NOT_MEASURED


def test_a_figure_far_from_its_explanation_is_no_artefact() -> None:
    suspected = small().findings[2].artefact
    assert suspected is not None
    assert suspected.explains
    assert not replace(suspected, paper_value=90_000.0).explains


def test_the_report_shows_the_papers_values_beside_ours(results: ExperimentResults) -> None:
    text = "\n".join(experiment_lines(results))
    assert "record_bytes=1000 acks=1 (control)" in text
    assert "holds here" in text
    assert "does not hold here" in text
    assert "Rate cap: the tool was given 102400 records/s" in text
    assert "| 95.0 |" in experiment_markdown(results)
    record = json.loads(json.dumps(experiment_json(results)))
    assert record["rows"][2]["paper"] == {"mb_per_s": 95.0}
    assert record["findings"][0]["outcome"] == "holds here"
    lines = experiments_csv([results]).splitlines()
    assert len(lines) == 1 + 20
    assert lines[0].startswith("row,set.record_bytes,set.acks,round,")


def test_the_report_of_several_begins_with_a_count_of_their_findings(results: ExperimentResults) -> None:
    text = experiments_markdown([results, results])
    assert text.startswith("6 findings in 2 experiments. holds here: ")
    assert "| small | 1 | 1 | 0 | 1 | 0 |" in text
    assert text.count("Rate cap: the tool was given 102400 records/s") == 2
    assert text.count("## small") == 2
    assert text.count("geometric mean over the rounds") == 1


def test_a_warning_of_several_rows_is_one_line_with_their_names(results: ExperimentResults) -> None:
    first, second, *others = results.rows
    hot = []
    for percent, row in ((10, first), (12, second)):
        warned = (replace(each, warnings=(f"it was {percent} % too hot",)) for each in row.trials)
        hot.append(replace(row, trials=tuple(warned)))
    count = len(first.trials) + len(second.trials)
    wanted = f"{first.row.name}; {second.row.name}: it was 10 % too hot (the first of {count} such measurements)"
    assert wanted in notes_of(replace(results, rows=(*hot, *others)))


def test_the_report_says_how_the_environment_changed(results: ExperimentResults) -> None:
    change = "after 3 trials, the client is librdkafka 2.16.0 but was librdkafka 2.15.0"
    wanted = f"The measurements are of different environments, which can't be compared well: {change}."
    assert wanted in notes_of(replace(results, facts={**results.facts, "mixed": [change]}))
    assert wanted not in notes_of(results)


def test_one_round_decides_no_finding(tmp_path: Path) -> None:
    results = run_small(tmp_path / "small", text=SMALL.replace("rounds: 4", "rounds: 1"))
    for text in ("\n".join(experiment_lines(results)), experiment_markdown(results)):
        assert "need at least two rounds" in text
        assert "One round gives no interval; more rounds would." in text
        assert "confidence interval" not in text
        assert "Larger records reach more MB/s" not in text
    mean = experiment_json(results)["rows"][0]["metrics"]["mb_per_s"]
    assert mean["value"] > 0
    assert (mean["low"], mean["high"], mean["rounds"]) == (None, None, 1)
    assert "small:" in overview_lines([results, results])
    assert experiments_csv([results, results]).startswith("experiment,row,")


def test_a_calibration_is_not_advised_to_add_rounds(tmp_path: Path) -> None:
    load = Workload(RecordSizes.fixed(1000), rate_records_per_s=1_000.0)
    text = calibration_file(defaults_for(librdkafka(), load), Target(), load, 4, EMBEDDED)
    results = run_small(tmp_path / "small", text=text)
    for report in ("\n".join(experiment_lines(results)), experiment_markdown(results)):
        assert "One round gives no interval; more rounds would." in report
        assert "--rounds" not in report


def test_the_plan_says_time_and_bytes() -> None:
    text = "\n".join(planned_lines(small()))
    assert "4 rows in 4 rounds: 20 measurements" in text
    assert "GB are sent" in text
    assert "acks=all" in text
    assert "acks=-1" not in text


def test_a_command_for_studies_names_the_right_command(results: ExperimentResults) -> None:
    with pytest.raises(NotAStudy, match="tuner experiment report small"):
        load_results(results.folder)


def test_a_trend_is_the_change_along_the_line_through_all_rows(tmp_path: Path) -> None:
    text = """
about: Sizes.
vary: {record_bytes: [10, 100, 1000]}
rounds: 3
findings:
  - {id: grows, claim: It grows., source: us, metric: mb_per_s, along: record_bytes, expect: greater}
"""
    results = run_small(tmp_path / "small", text=text)
    (checked,) = results.findings
    assert checked.outcome is FindingOutcome.HOLDS
    ratio = checked.compared[0].ratio
    first, last = results.rows[0].mean("mb_per_s"), results.rows[-1].mean("mb_per_s")
    assert ratio is not None
    assert first is not None
    assert last is not None
    # The line goes near the first and the last point, but not through them.
    assert ratio.value == pytest.approx(last.value / first.value, rel=0.5)
    assert "at the largest record_bytes / at the smallest" in because(checked)


def test_an_experiment_is_drawn(results: ExperimentResults, tmp_path: Path) -> None:
    picture = tmp_path / "small.png"
    draw_experiment(results, picture)
    few = tmp_path / "few.png"
    draw_experiment(results, few, most=1)
    assert picture.read_bytes().startswith(b"\x89PNG")
    assert few.stat().st_size < picture.stat().st_size


def test_rows_along_three_numbers_make_a_line(tmp_path: Path) -> None:
    results = run_small(tmp_path / "small", text=CUT.replace("findings", "rounds: 2\nfindings", 1))
    along = line_setting(results.rows)
    assert groups(results.rows) == [("record_bytes", results.rows)]
    (series,) = series_of(results.rows, "mb_per_s", along)
    assert (along, series.name) == ("record_bytes", "")
    assert [row.row.number(along) for row, _ in series.measured] == [10, 100, 1000]


def test_rows_are_measured_with_what_a_search_recommends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    spec = tuner.api.run_searches(small(SEARCHES), mlflow=False)
    best = tuner.recommend("small-random", 1000, "latency").config
    assert spec.row("found").config.values == best.values != {"acks": "1"}
    assert spec.searches == ()
    measure_experiment(spec, SEARCHES, tmp_path / "small", ToldOfExperiment(), simulated=SimulatedRunner(0.02))
    results = tuner.load_experiment("small")
    assert results.spec.row("found").config.values == best.values
    assert all(trial.values == best.values for trial in results.rows[1].trials)
    said = f"found: the config is what the study small-random recommends: {shown_values(best.values)}."
    assert said in "\n".join(experiment_lines(results))
    # Once rows are being measured, a longer search does not change them.
    again = tuner.api.run_searches(small(SEARCHES.replace("trials: 10", "trials: 16")), mlflow=False)
    assert [row.config for row in again.rows] == [row.config for row in spec.rows]
    assert len(tuner.load_study("small-random").size(1000).candidates) <= 10


def test_results_are_read_without_the_secrets_of_the_cluster(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    secret = (
        "properties: {security.protocol: sasl_ssl, sasl.mechanism: PLAIN, sasl.username: me, sasl.password: '${PW}'}"
    )
    settings = tmp_path / "client.properties"
    settings.write_text("client.id=me\n")
    target = f"{{bootstrap: '${{KAFKA}}', command_config: {settings}, {secret}}}"
    text = SEARCHES.replace("\nload:", f"\ntarget: {target}\ntracking: {{uri: '${{MLFLOW}}'}}\nload:")
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(tmp_path))
    environ = {"PW": "very secret", "KAFKA": "127.0.0.1:1", "MLFLOW": "http://127.0.0.1:1"}
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    spec = parse_experiment(text, name="small", folder=tmp_path, origin="small.yaml", environ=environ)
    (search,) = spec.searches
    assert ("${PW}" in search.text, "very secret" in search.text) == (True, False)
    measure_experiment(spec, text, tmp_path / "small", ToldOfExperiment(), simulated=SimulatedRunner(0.02))
    for name in environ:
        monkeypatch.delenv(name)
    settings.unlink()
    results = tuner.load_experiment("small")
    assert (results.finished, results.spec.target.bootstrap) == (True, "127.0.0.1:1")
    assert b"very secret" not in b"".join(file.read_bytes() for file in tmp_path.rglob("*") if file.is_file())


def test_a_search_moves_to_another_cluster_with_its_experiment(tmp_path: Path) -> None:
    settings = tmp_path / "client.properties"
    settings.write_text("client.id=me\n")
    (search,) = small(SEARCHES.replace("\nload:", "\ntarget: {brokers: 3}\nload:")).searches
    moved = on_cluster(search, "127.0.0.1:1", settings)
    assert [target.bootstrap for target in moved.study.targets] == ["127.0.0.1:1"]
    assert "brokers" not in moved.text
    assert str(settings) in moved.text
    assert moved.study.workload == search.study.workload


def test_the_quick_version_limits_its_searches() -> None:
    spec = small(SEARCHES + "quick: {load: {partitions: 5}, max_bytes_per_trial: 1GB}\n", quick=True)
    (search,) = spec.searches
    assert (search.study.safety.max_bytes_per_trial, search.study.workload.partitions) == (10**9, 5)
    assert search.study.name == "small-quick-random"
    with pytest.raises(ValueError, match="needs the text of its file"):
        tuner.run_experiment(spec)


def test_a_limit_is_shown_with_its_unit(results: ExperimentResults) -> None:
    compared = Comparison({"record_bytes": 1000, "acks": 1}, None, limit=2)
    finding = Finding("fast", "It is fast.", "none", "latency_p50_ms", (compared,), Expectation.SMALLER)
    shown = because(check(finding, results.rows, 0.95))
    assert "arithmetic mean of record_bytes=1000 acks=1 / 2 ms = " in shown


def test_nothing_is_proven_by_values_that_are_all_zero(results: ExperimentResults) -> None:
    rows = [
        replace(row, trials=tuple(replace(each, metrics={**each.metrics, "lost_records": 0.0}) for each in row.trials))
        for row in results.rows
    ]
    some, other = {"record_bytes": 1000, "acks": 1}, {"record_bytes": 100, "acks": 1}
    for compared in (Comparison(some, None, limit=1), Comparison(some, other)):
        finding = Finding("none-lost", "Nothing is lost.", "none", "lost_records", (compared,), Expectation.SMALLER)
        checked = check(finding, rows, 0.95)
        assert checked.outcome is FindingOutcome.UNDECIDED
        assert "no ratio, as a value is 0 in 4 rounds" in because(checked)


def test_the_parts_of_a_latency_add_up_to_the_whole() -> None:
    spec = small(PARTS)
    values = {
        "acks=1": [(2.0, 7.0), (3.0, 8.0), (4.0, 9.0)],
        "acks=all": [(5.0, 6.0), (2.0, 7.0), (9.0, 11.0)],
        "linger.ms=5": [(6.0, 8.0)] * 3,
    }
    rows = []
    for row in spec.rows:
        trials = tuple(
            replace(trial(turn), round=turn, metrics={"latency_p50_ms": until, "end_to_end_p50_ms": whole})
            for turn, (until, whole) in enumerate(values[row.name])
        )
        rows.append(RowResults(row, trials, row.name == spec.control, ()))
    (parts,) = latency_parts(ExperimentResults(spec, Path("small"), {}, tuple(rows), ()))
    assert (parts.row, parts.of_leader) == ("acks=all", "acks=1")
    assert parts.leader_ms.value == pytest.approx(3.0)
    # In the second round, the leader alone took longer than all replicas.
    assert parts.replication_ms.value == pytest.approx((3 - 1 + 5) / 3)
    assert parts.fetch_ms.value == pytest.approx((1 + 5 + 2) / 3)
    assert parts.end_to_end_ms.value == pytest.approx(8.0)
