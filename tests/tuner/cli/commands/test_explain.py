"""`tuner explain`."""

from pathlib import Path

import pytest

from search_spaces.files.properties_file import parse_properties
from tests.helpers.command import tuner
from tests.helpers.stored_studies import WINNER, taken_apart, write_study

LINGER = "linger.ms=2 instead of 5"


def test_explain_says_in_words_what_each_change_brings(studies: Path) -> None:
    taken_apart(write_study(studies / "overnight"))
    ended = tuner("explain", "overnight", "--goal", "throughput")
    assert ended.code == 0
    assert "study overnight, 1000 B records, goal throughput: why trial 7" in ended.out
    assert "compression.type=lz4 instead of none: throughput 1." in ended.out
    assert LINGER in ended.out
    assert "the baseline: broker: a thread of the broker needed a core" in ended.out
    assert "for reaching the front: " in ended.out


def test_explain_as_json_has_every_number(studies: Path) -> None:
    taken_apart(write_study(studies / "overnight", record_sizes=("100", "1000")))
    whole = tuner("explain", "overnight", "--json").json
    assert (whole["schema_version"], whole["kind"], whole["study"]) == (2, "explanations", "overnight")
    assert [each["record_bytes"] for each in whole["explanations"]] == ["100", "1000"]
    bare, taken = whole["explanations"]
    assert (bare["undo_rounds"], taken["undo_rounds"]) == (0, 2)
    effects = {each["knobs"][0]: each for each in taken["effects"]}
    assert set(effects) == set(WINNER)
    assert effects["compression.type"]["shows"]
    assert effects["compression.type"]["gains"]["mb_per_s"]["low"] > 1.0
    assert {change["name"] for change in taken["changes"]} == set(WINNER)
    assert sum(taken["importance"]["front"].values()) == pytest.approx(1.0)
    assert taken["sections"][1]["heading"].startswith("what each change brings")
    assert all(not each["measured"] for each in bare["effects"])


def test_explain_one_record_size_even_one_that_was_not_measured(studies: Path) -> None:
    write_study(studies / "overnight", record_sizes=("100", "1000"))
    one = tuner("explain", "overnight", "--record-bytes", "1000").out
    assert "1000 B records" in one
    assert ", 100 B records" not in one
    near = tuner("explain", "overnight", "--record-bytes", "700")
    assert "records of 700 B were not measured" in near.complaint
    assert "1000 B records" in near.out


def test_a_size_that_was_not_measured_is_named_where_nothing_is_found(studies: Path) -> None:
    write_study(studies / "overnight", record_sizes=("200", "2000"))
    told = tuner("explain", "overnight", "--record-bytes", "100", "--max-p99-ms", "0.01").complaint
    assert told.startswith(
        "error: records of 100 B were not measured, only of 200 and 2000 B, and the nearest size has no"
    )


def test_explain_is_about_the_config_that_meets_the_conditions(studies: Path) -> None:
    write_study(studies / "overnight", rounds=0)
    words = ("overnight", "--goal", "throughput", "--max-p99-ms", "5")
    chosen = tuner("recommend", *words, "--format", "json").json["trial"]["number"]
    assert tuner("explain", *words, "--json").json["explanations"][0]["trial"]["number"] == chosen
    assert tuner("explain", "overnight", "--max-p99-ms", "0.01").code == 5


def test_explain_says_that_a_study_has_just_begun(studies: Path) -> None:
    write_study(studies / "overnight", trials=1, rounds=0, facts={"finished_at": None})
    ended = tuner("explain", "overnight")
    assert "keep what you have" in ended.out
    assert "may still change" in ended.complaint
    write_study(studies / "empty", trials=0, rounds=0)
    assert tuner("explain", "empty").code == 1
    assert tuner("explain", "elsewhere").code == 2


def test_recommend_names_the_explain_command_beside_the_table_only(studies: Path) -> None:
    write_study(studies / "overnight")
    words = ("recommend", "overnight", "--goal", "latency", "--max-p99-ms", "50")
    table = tuner(*words)
    assert "why: tuner explain overnight --goal latency --max-p99-ms 50" in table.complaint
    assert "tuner explain" not in table.out
    pasted = tuner(*words, "--format", "properties")
    assert "tuner explain" not in pasted.err
    assert parse_properties(pasted.out) == WINNER
