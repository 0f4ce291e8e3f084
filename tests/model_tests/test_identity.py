"""A study is resumed only with the settings that its trials depend on; other settings may change."""

import json
from dataclasses import replace
from typing import Any

import pytest

from objectives.scoring import Constraint, Objective
from runners.workload import RecordSizes
from search_spaces.parameters import KnobChange
from search_spaces.producer_config import DURABILITY, ProducerConfig
from tuner.model.errors import StudyChanged
from tuner.model.identity import check_unchanged, study_identity, target_label
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Goal,
    Method,
    PhaseSpec,
    SafetySpec,
    SearchSpec,
    StudySpec,
    TrackingSpec,
    WorkloadSpec,
)
from tuner.model.target import Target

LOAD = WorkloadSpec((RecordSizes.fixed(1_000),))
SPEC = StudySpec("overnight", LOAD, space={"linger.ms": KnobChange(low=1, high=20), "acks": KnobChange(value="all")})
P99 = Constraint("latency_p99_ms", at_most=True, limit=10)

CHANGED: list[tuple[str, dict[str, Any]]] = [
    ("target", {"targets": (Target("broker:9092"),)}),
    ("target", {"targets": (Target(), Target())}),
    ("target", {"targets": (Target(brokers=3),)}),
    ("target", {"targets": (Target(topic="orders"),)}),
    ("target", {"targets": (Target(like="orders"),)}),
    ("target", {"targets": (Target(container="apache/kafka"),)}),
    ("workload", {"workload": replace(LOAD, key_bytes=16)}),
    ("workload", {"workload": replace(LOAD, compressibility_ratio=0.1)}),
    ("workload", {"workload": replace(LOAD, partitions=12)}),
    ("workload", {"workload": replace(LOAD, replication=3)}),
    ("workload", {"workload": replace(LOAD, producers=2)}),
    ("workload", {"workload": replace(LOAD, rate_records_per_s=5e3)}),
    ("workload", {"workload": replace(LOAD, rate_ratio=0.5)}),
    ("workload", {"workload": replace(LOAD, seed=1)}),
    ("workload", {"workload": replace(LOAD, saturate=PhaseSpec(3.0, 11.0))}),
    ("workload", {"workload": replace(LOAD, paced=PhaseSpec(1.0, 10.0))}),
    ("baseline", {"baseline": ProducerConfig.parse({"linger.ms": 9})}),
    ("space", {"space": {**SPEC.space, "linger.ms": KnobChange(low=1, high=30)}}),
    ("space", {"space": {}}),
    ("durability", {"floor": DURABILITY["idempotent"]}),
    ("constraints", {"constraints": (P99,)}),
    ("search", {"search": SearchSpec(method=Method.RANDOM)}),
    ("search", {"search": SearchSpec(seed=1)}),
    ("search", {"search": SearchSpec(startup_trials=20)}),
    ("search", {"search": SearchSpec(baseline_every=5)}),
    ("search", {"search": SearchSpec(grid_steps=4)}),
    ("executor", {"executor": Executor.SIMULATED}),
]
MAY_CHANGE: list[dict[str, Any]] = [
    {"name": "other"},
    {"space": dict(reversed(list(SPEC.space.items())))},
    {"workload": replace(LOAD, record_sizes=(*LOAD.record_sizes, RecordSizes.fixed(100)))},
    {"search": SearchSpec(trials=500, hours=8, until="06:00", max_bytes=10**12, burn_in_max=2, transfer=False)},
    {"search": SearchSpec(racing=False)},
    {"confirm": ConfirmSpec(rounds=9, goals=(Goal.LATENCY,))},
    {"tracking": TrackingSpec(uri="http://mlflow:5000", enabled=False)},
    {"safety": SafetySpec(max_failures_in_a_row=1)},
    {"executor": Executor.LOCAL},
    {"ray_address": "ray://head:10001"},
    {"targets": (Target(connection={"ssl.ca.location": "/ca.pem"}),)},
]


def on_record(spec: StudySpec) -> dict[str, Any]:
    """Return the identity as it comes back from the results store."""
    kept: dict[str, Any] = json.loads(json.dumps(study_identity(spec)))
    return kept


def test_the_same_settings_are_equal_after_being_stored() -> None:
    check_unchanged("overnight", study_identity(SPEC), on_record(SPEC))


@pytest.mark.parametrize(("section", "changes"), CHANGED)
def test_changed_settings_are_refused_naming_only_their_section(section: str, changes: dict[str, Any]) -> None:
    now = study_identity(replace(SPEC, **changes))
    with pytest.raises(StudyChanged) as caught:
        check_unchanged("overnight", now, on_record(SPEC))
    was = on_record(SPEC)
    assert [name for name in was if f"{name} is {now[name]} but was {was[name]}" in str(caught.value)] == [section]
    assert "the study overnight can only be resumed" in str(caught.value)
    assert "give the study another name" in str(caught.value)


def test_the_configs_that_a_verification_measures_may_not_change() -> None:
    fast, slow = (
        replace(SPEC, confirm=ConfirmSpec(configs=(ProducerConfig.parse({"linger.ms": ms}),))) for ms in (1, 9)
    )
    check_unchanged("verify-1", study_identity(fast), on_record(fast))
    with pytest.raises(StudyChanged, match=r"verified is \[{'linger.ms': '9'}\] but was \[{'linger.ms': '1'}\]"):
        check_unchanged("verify-1", study_identity(slow), on_record(fast))


def test_each_of_several_changed_sections_is_named() -> None:
    now = study_identity(replace(SPEC, constraints=(P99,), baseline=ProducerConfig.parse({"acks": "1"})))
    with pytest.raises(StudyChanged, match=r"baseline is .*acks.* but was {}; constraints is .*p99.* but was \[\]"):
        check_unchanged("overnight", now, on_record(SPEC))


def test_objectives_count_but_a_phase_that_nothing_needs_does_not() -> None:
    now = study_identity(replace(SPEC, objectives=(Objective("mb_per_s"),)))
    assert now["workload"]["paced"] is None
    with pytest.raises(StudyChanged, match=r"objectives is \['mb_per_s'\] but was"):
        check_unchanged("overnight", now, on_record(SPEC))
    longer = replace(SPEC, objectives=(Objective("mb_per_s"),), workload=replace(LOAD, paced=PhaseSpec(1.0, 60.0)))
    check_unchanged("overnight", study_identity(longer), json.loads(json.dumps(now)))


@pytest.mark.parametrize("changes", MAY_CHANGE)
def test_limits_names_and_where_things_run_may_change(changes: dict[str, Any]) -> None:
    check_unchanged("overnight", study_identity(replace(SPEC, **changes)), on_record(SPEC))


def test_no_secret_is_in_the_identity_or_in_a_label() -> None:
    secret = Target("broker:9092", connection={"sasl.password": "s3cret", "sasl.username": "us3r"})
    spec = replace(SPEC, targets=(secret,))
    told = f"{study_identity(spec)} {target_label(secret)} {spec!r}"
    assert "broker:9092" in told
    assert "s3cret" not in told
    assert "us3r" not in told


@pytest.mark.parametrize(
    ("target", "label"),
    [
        (Target(), "embedded"),
        (Target(brokers=3), "embedded, 3 brokers"),
        (Target(container="apache/kafka:4.3.1"), "container apache/kafka:4.3.1"),
        (Target("a:1,b:2"), "a:1,b:2"),
    ],
)
def test_a_target_has_a_label_for_people(target: Target, label: str) -> None:
    assert target_label(target) == label
