"""Why nothing can be recommended: each constraint with the number of trials that missed it, and the best value."""

from dataclasses import replace
from html import escape
from pathlib import Path

from objectives.scoring import Constraint
from tests.helpers.stored_studies import study
from tests.helpers.trials import baseline, failed, results, trial
from tuner.model.facts import CONSTRAINTS
from tuner.present.report.page import report_page
from tuner.present.trial_tables.front_table import front_markdown
from tuner.results.recommendations.unmet_constraints import missed_constraints, missed_lines

P99 = Constraint("latency_p99_ms", at_most=True, limit=5)
FAST = Constraint("mb_per_s", at_most=False, limit=0.9, of_baseline=True)
LATE = {"held_rate_ratio": 0.4}


def test_each_constraint_has_the_best_value_with_the_rate_held() -> None:
    size = results(
        [
            baseline(0, 100, 10, constraints=(P99, FAST)),
            trial(1, 80, 6.5, constraints=(P99, FAST)),
            trial(2, 95, 7, constraints=(P99, FAST)),
            trial(3, None, 2, metrics=LATE, constraints=(P99, FAST)),
            failed(4),
        ]
    )
    assert missed_lines(size) == [
        "latency_p99_ms <= 5: missed by 3 of 4 trials; best with the fixed rate held: 6.5 (trial 1)",
        "mb_per_s >= 0.9 x baseline: missed by 2 of 4 trials; best with the fixed rate held: 100 (trial 0)",
        "held_rate_ratio >= 0.95: missed by 1 of 4 trials",
    ]


def test_the_value_of_a_trial_stopped_early_counts_and_is_marked() -> None:
    early = trial(1, None, 6, constraints=(P99,), violations={str(P99): 0.2}, stopped_early="a constraint is broken")
    (p99,) = missed_constraints(results([baseline(0, 100, 10, constraints=(P99,)), early]))
    assert (p99.judged, p99.missed, p99.best, p99.trial, p99.stopped_early) == (2, 2, 6, 1, True)
    assert str(p99).endswith("6 (trial 1, stopped early)")


def test_if_no_trial_held_the_rate_the_best_rate_is_named() -> None:
    late = [baseline(0, None, 900, metrics=LATE, constraints=(P99,))]
    late.append(trial(1, None, 700, metrics={"held_rate_ratio": 0.8}, constraints=(P99,)))
    assert missed_lines(results(late)) == [
        "latency_p99_ms <= 5: missed by 2 of 2 trials; no trial with the fixed rate held has a value for it",
        "held_rate_ratio >= 0.95: missed by 2 of 2 trials; best: 0.8 (trial 1)",
    ]


def test_a_metric_that_the_target_does_not_provide_is_named() -> None:
    unknown = Constraint("broker_cpu_ms_per_mb", at_most=True, limit=1)
    trials = [baseline(0, 100, None, constraints=(unknown,)), trial(1, 120, None, constraints=(unknown,))]
    assert missed_lines(results(trials)) == [
        "broker_cpu_ms_per_mb <= 1: missed by 2 of 2 trials; no trial with the fixed rate held has a value for it",
    ]
    assert missed_lines(results([baseline(0, 100, None), trial(1, 120, None)])) == [
        "latency_p99_ms: 2 of 2 trials have no value for it"
    ]


def test_nothing_is_listed_if_a_config_keeps_all_constraints() -> None:
    kept = [baseline(0, 100, 10, constraints=(P99,)), trial(1, 100, 4, constraints=(P99,))]
    assert missed_constraints(results(kept)) == ()
    assert missed_constraints(results([])) == ()


def test_the_report_and_the_table_list_unmet_constraints(tmp_path: Path) -> None:
    tight = str(replace(P99, limit=0.001))
    found = study(tmp_path, trials=12, rounds=0, facts={CONSTRAINTS: [tight]})
    line = missed_lines(found.sizes[0])[0]
    assert line.startswith("latency_p99_ms <= 0.001: missed by 12 of 12 trials; best")
    assert line in front_markdown(found, found.sizes[0])
    assert escape(line) in report_page(found)
