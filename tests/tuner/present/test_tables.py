"""Rows as CSV, and the tables that are printed so."""

import csv
import io

from tests.helpers.command import tuner
from tuner.present.comparisons.comparison_view import comparison_csv
from tuner.present.tables import csv_of


def read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_inner_mappings_become_columns_and_a_missing_value_is_empty() -> None:
    text = csv_of([{"a": 1, "host": {"name": "x, y", "cores": 2}, "runs": [1, 2]}, {"a": 2, "b": None}])
    assert text.splitlines()[0] == "a,host.name,host.cores,b"
    assert read(text) == [
        {"a": "1", "host.name": "x, y", "host.cores": "2", "b": ""},
        {"a": "2", "host.name": "", "host.cores": "", "b": ""},
    ]


def test_a_table_without_rows_keeps_its_columns() -> None:
    assert csv_of([], ("b", "a")) == "b,a\n"
    assert csv_of([{"a": 1}], ("b", "a")) == "b,a\n,1\n"


def test_a_comparison_has_a_line_for_each_study_and_goal() -> None:
    best = {
        "trial": 3,
        "metrics": {"mb_per_s": 9.5},
        "gains_over_own_baseline": {"mb_per_s": {}},
        "values": {"acks": "1"},
    }
    goal = {"winner": "before", "second_times_better": 0.8, "recommended": [best, None]}
    record = {"studies": ["before", "after"], "sizes": [{"record_bytes": "100", "goals": {"latency": goal}}]}
    first, second = read(comparison_csv(record))
    assert (first["study"], first["trial"], first["metrics.mb_per_s"], first["values.acks"]) == (
        "before",
        "3",
        "9.5",
        "1",
    )
    assert (second["study"], second["trial"], second["winner"]) == ("after", "", "before")
    assert not [name for name in first if "gains" in name]


def test_the_knobs_of_a_plan_are_a_table() -> None:
    rows = read(tuner("plan", "--record-bytes", "100,1000", "--knob", "linger.ms=0..20", "--csv").out)
    found = [row for row in rows if row["name"] == "linger.ms"]
    assert [(row["record_bytes"], row["range"]) for row in found] == [
        (size, "0.05 to 20, log, or 0") for size in ("100", "1000")
    ]
