"""Study files that we write can be read: those made of options, and the files that the schema accepts."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces.configs.guarantee import DURABILITY
from search_spaces.space.parameters import KnobChange
from tests.tuner.study_file.corpus import EXAMPLES, GOOD, LEAST
from tuner.model.goals import Goal
from tuner.model.spec import Executor, Method, PhaseSpec, StudySpec
from tuner.study_file import (
    STARTER_TEXT,
    StudyFileError,
    changed_text,
    json_schema,
    knob_setting,
    parse_study,
    renamed,
    sizes_in,
    study_text,
)
from tuner.study_file.errors import Problems
from tuner.study_file.strict_yaml import read_yaml


def _back(text: str) -> StudySpec:
    return parse_study(text, name="unnamed", folder=Path("/"), origin="options", environ={})


def test_options_round_trip(tmp_path: Path) -> None:
    client, producer = tmp_path / "client ${A} #1.properties", tmp_path / "producer: x.properties"
    client.write_text("security.protocol=ssl\n")
    producer.write_text("acks=all\n")
    phase = {"warmup": "1s", "measured": 2.5}
    text = study_text(
        {
            "study": {"name": "night"},
            "target": {"bootstrap": "one:9092,two:9092", "command_config": client, "like": "orders"},
            "workload": {"record_bytes": [100, "100:70,1000:30", "64KiB"], "saturate": phase, "paced": phase},
            "baseline": producer,
            "space": {"linger.ms": {"low": 1, "high": 10}, "batch.size": "off", "acks": "all"},
            "durability": "all",
            "objectives": Goal.LATENCY,
            "constraints": ["latency_p99_ms <= 10"],
            "search": {
                "method": Method.RANDOM,
                "trials": 20,
                "hours": 8,
                "until": "07:00",
                "max_bytes": "50GB",
                "seed": 0,
            },
            "confirm": {"rounds": 0},
            "executor": {"kind": Executor.LOCAL},
        }
    )
    spec = _back(text)
    assert spec.name == "night"
    assert [str(sizes) for sizes in spec.workload.record_sizes] == ["100", "100:0.7,1000:0.3", "65536"]
    assert spec.targets[0].bootstrap == "one:9092,two:9092"
    assert spec.targets[0].connection == {"security.protocol": "ssl"}
    assert spec.baseline.values == {"acks": "-1"}
    assert spec.space["batch.size"] == KnobChange(off=True)
    assert spec.floor == DURABILITY["all"]
    assert [str(constraint) for constraint in spec.constraints] == [
        "mb_per_s >= 0.9 x baseline",
        "latency_p99_ms <= 10",
    ]
    assert (spec.search.method, spec.search.trials, spec.search.hours) == (Method.RANDOM, 20, 8)
    assert (spec.search.until, spec.search.max_bytes, spec.search.seed) == ("07:00", 50 * 10**9, 0)
    assert spec.confirm.rounds == 0
    assert spec.workload.saturate == spec.workload.paced == PhaseSpec(1.0, 2.5)


def test_only_what_is_given_is_written() -> None:
    sections = {
        "study": {"name": "x"},
        "target": {"bootstrap": None, "brokers": None},
        "baseline": {},
        "constraints": [],
    }
    text = study_text({**sections, "workload": {"record_bytes": [1000]}, "durability": None})
    assert text == "study:\n  name: x\nworkload:\n  record_bytes:\n  - 1000\n"


def test_record_sizes_are_written_as_people_write_them() -> None:
    assert sizes_in("100, 64KiB,1000") == [100, "64KiB", 1000]
    assert sizes_in("100:70,1000:30") == ["100:70,1000:30"]


def _text(name: str = "x", **sections: object) -> str:
    return study_text({"study": {"name": name}, "workload": {"record_bytes": [1]}, **sections})


@pytest.mark.parametrize("name", ["1e6", "true", "null", "12-30", "off", "2026", "0x1F", "1.5"])
def test_a_name_that_looks_like_another_type_is_read_back_as_the_same_name(name: str) -> None:
    assert _back(_text(name)).name == name


@given(st.text(st.characters(exclude_categories=["C", "Z"]), min_size=1, max_size=30))
def test_any_text_round_trips(name: str) -> None:
    assert _back(_text(tracking={"experiment": name})).tracking.experiment == name


def test_a_wrong_option_is_refused_when_the_text_is_read() -> None:
    with pytest.raises(StudyFileError, match=r"options, line \d+, search.method"):
        _back(_text(search={"method": "bayes"}))


def _schema() -> Any:
    schema = json_schema()
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize(
    "path", [path for path in (*GOOD, *EXAMPLES) if path.stem != "other_names"], ids=lambda p: p.stem
)
def test_the_schema_accepts_the_files_that_load(path: Path) -> None:
    _schema().validate(read_yaml(path.read_text(), Problems("a file")))


def test_the_schema_accepts_the_starter() -> None:
    _schema().validate(read_yaml(STARTER_TEXT, Problems("a file")))


@pytest.mark.parametrize(
    "line",
    [
        "search: {trails: 5}",
        "search: {trials: 0}",
        "space: {linger_ms: 5}",
        "space: {linger.ms: {lwo: 5}}",
        "baseline: {sasl.password: x}",
        "durability: most",
        "objectives: [latency]",
        "confirm: {goals: [speed]}",
    ],
)
def test_the_schema_refuses_wrong_keys_and_values(line: str) -> None:
    with pytest.raises(jsonschema.ValidationError):
        _schema().validate(read_yaml(LEAST + line, Problems("a file")))


def test_the_schema_describes_every_key() -> None:
    schema = json_schema()
    assert schema["$schema"].endswith("2020-12/schema")
    for section in (schema, *schema["$defs"].values()):
        for name, key in section["properties"].items():
            assert "description" in key or "$ref" in key, name


@pytest.mark.parametrize(
    ("short", "setting"),
    [
        ("0..20", {"low": 0, "high": 20}),
        ("0.1..1e3,log", {"low": 0.1, "high": 1000.0, "log": True}),
        ("0..20,steps=5", {"low": 0, "high": 20, "steps": 5}),
        ("lz4,zstd", {"choices": ["lz4", "zstd"]}),
        ("0, 5 ,20", {"choices": [0, 5, 20]}),
        ("off", "off"),
        ("all", "all"),
        ("true", True),
        ("5", 5),
    ],
)
def test_a_knob_can_be_written_in_a_short_way(short: str, setting: object) -> None:
    assert knob_setting(short) == setting


def test_changed_settings_keep_the_others() -> None:
    text = 'study: a\nworkload: {record_bytes: 100}\nsearch: {trials: 9, hours: 2}\nbaseline: {linger.ms: "${L:-5}"}\n'
    changed = read_yaml(
        changed_text(text, {"search": {"hours": None, "seed": 7}, "study": {"name": "b"}}), Problems("")
    )
    assert changed == {
        "study": {"name": "b"},
        "workload": {"record_bytes": 100},
        "search": {"trials": 9, "seed": 7},
        "baseline": {"linger.ms": "${L:-5}"},
    }


@pytest.mark.parametrize(
    "text",
    [
        "# first\nstudy: a  # the name\nworkload: {record_bytes: 100}\n",
        "study:\n  name: a\nworkload: {record_bytes: 100}\n",
        "workload: {record_bytes: 100}\n",
        '{"study": "a", "workload": {"record_bytes": 100}}',
    ],
)
def test_a_renamed_study_file_differs_in_its_name_alone(text: str) -> None:
    spec = _back(renamed(text, "b"))
    assert spec.name == "b"
    assert spec == replace(_back(text), name="b")
    assert ("# first" in text) == ("# first" in renamed(text, "b"))
