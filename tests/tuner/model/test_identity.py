"""A study or an experiment is resumed only with the settings that its trials depend on; other settings may change."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest

from objectives.scoring import Constraint, Objective
from runners.pools.placement import Placement
from runners.workload import RecordSizes, Workload
from search_spaces.configs.guarantee import DURABILITY
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.space.parameters import KnobChange
from tests.helpers.measurements import measurement
from tuner.experiment_file.loading import read_experiment
from tuner.model.errors import StudyChanged
from tuner.model.facts import EXPERIMENT, IDENTITY
from tuner.model.goals import Goal
from tuner.model.identity import check_same_rows, check_unchanged, experiment_identity, settings_shown, study_identity
from tuner.model.measurement_json import measurement_json
from tuner.model.spec import (
    ConfirmSpec,
    Executor,
    Method,
    PhaseSpec,
    RaySpec,
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
    ("target.bootstrap: not set in the study, broker:9092 now", {"targets": (Target("broker:9092"),)}),
    ("targets[1].brokers: not set in the study, 1 now", {"targets": (Target(), Target())}),
    ("target.brokers: 1 in the study, 3 now", {"targets": (Target(brokers=3),)}),
    ("target.topic: not set in the study, orders now", {"targets": (Target(topic="orders"),)}),
    ("target.like: not set in the study, orders now", {"targets": (Target(like="orders"),)}),
    ("target.container: not set in the study, apache/kafka now", {"targets": (Target(container="apache/kafka"),)}),
    ("workload.key_bytes: 0 in the study, 16 now", {"workload": replace(LOAD, key_bytes=16)}),
    (
        "workload.compressibility_ratio: 0.5 in the study, 0.1 now",
        {"workload": replace(LOAD, compressibility_ratio=0.1)},
    ),
    ("workload.partitions: 3 in the study, 12 now", {"workload": replace(LOAD, partitions=12)}),
    ("workload.replication: 1 in the study, 3 now", {"workload": replace(LOAD, replication=3)}),
    ("workload.producers: 1 in the study, 2 now", {"workload": replace(LOAD, producers=2)}),
    ("workload.consumers: not set in the study, 1 now", {"workload": replace(LOAD, consumers=1)}),
    ("workload.different_keys: not set in the study, 9 now", {"workload": replace(LOAD, different_keys=9)}),
    (
        "workload.most_frequent_key_ratio: not set in the study, 0.2 now",
        {"workload": replace(LOAD, most_frequent_key_ratio=0.2)},
    ),
    ("workload.paced.peak_ratio: not set in the study, 3 now", {"workload": replace(LOAD, peak_ratio=3.0)}),
    (
        "workload.paced.rate_records_per_s: not set in the study, 5000 now",
        {"workload": replace(LOAD, rate_records_per_s=5e3)},
    ),
    ("workload.paced.rate_ratio: 0.3 in the study, 0.5 now", {"workload": replace(LOAD, rate_ratio=0.5)}),
    ("workload.seed: 0 in the study, 1 now", {"workload": replace(LOAD, seed=1)}),
    (
        "workload.saturate.measured: 10s in the study, 11s now",
        {"workload": replace(LOAD, saturate=PhaseSpec(3.0, 11.0))},
    ),
    ("workload.paced.warmup: 2s in the study, 1.5s now", {"workload": replace(LOAD, paced=PhaseSpec(1.5, 10.0))}),
    ("baseline.linger.ms: not set in the study, 9 now", {"baseline": ProducerConfig.parse({"linger.ms": 9})}),
    (
        "space.linger.ms: low: 1, high: 20 in the study, low: 1, high: 30 now",
        {"space": {**SPEC.space, "linger.ms": KnobChange(low=1, high=30)}},
    ),
    ("space.acks: all in the study, not set now", {"space": {"linger.ms": KnobChange(low=1, high=20)}}),
    (
        "space.acks: all in the study, choices: [1, all] now",
        {"space": {**SPEC.space, "acks": KnobChange(choices=("1", "all"))}},
    ),
    ("space.acks: all in the study, on now", {"space": {**SPEC.space, "acks": KnobChange()}}),
    ("space.acks: all in the study, off now", {"space": {**SPEC.space, "acks": KnobChange(off=True)}}),
    (
        "space.linger.ms: low: 1, high: 20 in the study, low: 1, high: 20, log: false now",
        {"space": {**SPEC.space, "linger.ms": KnobChange(low=1, high=20, log=False)}},
    ),
    ("durability: baseline in the study, idempotent now", {"floor": DURABILITY["idempotent"]}),
    ("search.method: bayesian in the study, random now", {"search": SearchSpec(method=Method.RANDOM)}),
    (
        "search.method: bayesian in the study, a function of the user's now",
        {"search": SearchSpec(sampler="<lambda> of the user's")},
    ),
    ("search.seed: 0 in the study, 1 now", {"search": SearchSpec(seed=1)}),
    ("search.startup_trials: 10 in the study, 20 now", {"search": SearchSpec(startup_trials=20)}),
    ("search.baseline_every: 10 in the study, 5 now", {"search": SearchSpec(baseline_every=5)}),
    ("search.grid_steps: 3 in the study, 4 now", {"search": SearchSpec(grid_steps=4)}),
    ("executor.kind: ray or local in the study, simulated now", {"executor": Executor.SIMULATED}),
    ("executor.placement: not set in the study, a, b now", {"placement": Placement(("a", "b"))}),
    ("executor.consumer_zone: not set in the study, b now", {"placement": Placement(consumer_zone="b")}),
]
MAY_CHANGE: list[dict[str, Any]] = [
    {"name": "other"},
    {"constraints": (P99,)},
    {"space": dict(reversed(list(SPEC.space.items())))},
    {"workload": replace(LOAD, record_sizes=(*LOAD.record_sizes, RecordSizes.fixed(100)))},
    {"search": SearchSpec(trials=500, hours=8, until="06:00", max_bytes=10**12, burn_in_max=2, transfer=False)},
    {"search": SearchSpec(racing=False)},
    {"confirm": ConfirmSpec(rounds=9, goals=(Goal.LATENCY,))},
    {"tracking": TrackingSpec(uri="http://mlflow:5000", enabled=False)},
    {"safety": SafetySpec(max_failures_in_a_row=1)},
    {"executor": Executor.LOCAL},
    {"ray": RaySpec("head:6379")},
    {"targets": (Target(connection={"ssl.ca.location": "/ca.pem"}),)},
]


def on_record(spec: StudySpec) -> dict[str, Any]:
    """Return the identity as it comes back from the results store."""
    kept: dict[str, Any] = json.loads(json.dumps(study_identity(spec)))
    return kept


def test_the_same_settings_are_equal_after_being_stored() -> None:
    check_unchanged("overnight", study_identity(SPEC), on_record(SPEC))


@pytest.mark.parametrize(("line", "changes"), CHANGED)
def test_a_changed_setting_is_named_in_a_line_of_its_own(line: str, changes: dict[str, Any]) -> None:
    rule, *lines, advice = refusal(study_identity(replace(SPEC, **changes)))
    assert rule == "the study overnight can only be resumed with the settings of its trials, but these differ:"
    assert lines == [f"  {line}"]
    assert "give the study another name" in advice
    kept = line.startswith(("target", "workload", "baseline", "executor"))
    assert ("tuner fork overnight NEW-NAME STUDY.YAML" in advice) is not kept


def refusal(asked: dict[str, Any], was: StudySpec = SPEC) -> list[str]:
    """Return the lines of the error for changed settings."""
    with pytest.raises(StudyChanged) as caught:
        check_unchanged("overnight", asked, on_record(was))
    return str(caught.value).split("\n")


def test_the_configs_that_a_verification_measures_may_not_change() -> None:
    fast, slow = (
        replace(SPEC, confirm=ConfirmSpec(configs=(ProducerConfig.parse({"linger.ms": ms}),))) for ms in (1, 9)
    )
    check_unchanged("verify-1", study_identity(fast), on_record(fast))
    said = refusal(study_identity(slow), fast)
    assert said[1:-1] == ["  verified: linger.ms=1 in the study, linger.ms=9 now"]


def test_each_of_several_changed_settings_is_named() -> None:
    load = replace(LOAD, saturate=PhaseSpec(1.0, 11.0))
    said = refusal(study_identity(replace(SPEC, workload=load, baseline=ProducerConfig.parse({"acks": "1"}))))
    assert said[1:-1] == [
        "  baseline.acks: not set in the study, 1 now",
        "  workload.saturate.measured: 10s in the study, 11s now",
        "  workload.saturate.warmup: 3s in the study, 1s now",
    ]


def test_objectives_must_be_the_same_but_an_unused_phase_may_differ() -> None:
    now = study_identity(replace(SPEC, objectives=(Objective("mb_per_s"),)))
    assert now["workload"]["paced"] is None
    assert refusal(now)[1:-1] == [
        "  objectives: mb_per_s, latency_p99_ms in the study, mb_per_s now",
        "  workload.paced: measured in the study, not measured now",
    ]
    longer = replace(SPEC, objectives=(Objective("mb_per_s"),), workload=replace(LOAD, paced=PhaseSpec(1.0, 60.0)))
    check_unchanged("overnight", study_identity(longer), json.loads(json.dumps(now)))


@pytest.mark.parametrize("changes", MAY_CHANGE)
def test_constraints_limits_names_and_where_things_run_may_change(changes: dict[str, Any]) -> None:
    check_unchanged("overnight", study_identity(replace(SPEC, **changes)), on_record(SPEC))


def test_the_settings_of_a_stored_study_are_shown_by_their_keys_in_a_study_file() -> None:
    shown = settings_shown(on_record(replace(SPEC, baseline=ProducerConfig.parse({"linger.ms": 9}))))
    assert (shown["workload.saturate.warmup"], shown["workload.paced.measured"]) == ("3s", "10s")
    assert (shown["durability"], shown["baseline.linger.ms"]) == ("baseline", "9")
    assert shown["space.acks"] == "all"
    assert "not set" not in shown.values()
    assert {key.partition(".")[0] for key in shown} == {"workload", "durability", "baseline", "space"}
    assert settings_shown({}) == {}, "of an old study"


def test_no_secret_is_in_the_identity_or_in_a_label() -> None:
    secret = Target("broker:9092", connection={"sasl.password": "s3cret", "sasl.username": "us3r"})
    spec = replace(SPEC, targets=(secret,))
    told = f"{study_identity(spec)} {secret.label} {spec!r}"
    assert "broker:9092" in told
    assert "s3cret" not in told
    assert "us3r" not in told


EXPERIMENT_SPEC, _ = read_experiment("thesis-default", {})
ROW = EXPERIMENT_SPEC.rows[0]


def test_a_load_has_the_settings_that_the_first_release_with_experiments_stored() -> None:
    load = experiment_identity(EXPERIMENT_SPEC)[f"row {ROW.name}"]["load"]
    assert list(load) == [
        "record_sizes",
        "key_bytes",
        "compressibility_ratio",
        "partitions",
        "replication",
        "warmup_s",
        "measured_s",
        "rate_records_per_s",
        "consumers",
        "seed",
    ]


@pytest.mark.parametrize("change", [{"consumers": 1}, {"key_bytes": 2, "different_keys": 9}, {"peak_ratio": 2.0}])
def test_a_row_with_another_load_is_refused(change: dict[str, Any]) -> None:
    facts = {EXPERIMENT: True, IDENTITY: experiment_identity(EXPERIMENT_SPEC)}
    check_same_rows(EXPERIMENT_SPEC, facts)
    other = replace(ROW, workload=replace(ROW.workload, rate_records_per_s=10.0, **change))
    paced = replace(ROW, workload=replace(ROW.workload, rate_records_per_s=10.0))
    facts[IDENTITY] = experiment_identity(replace(EXPERIMENT_SPEC, rows=(paced, *EXPERIMENT_SPEC.rows[1:])))
    with pytest.raises(StudyChanged, match=f"row {ROW.name}"):
        check_same_rows(replace(EXPERIMENT_SPEC, rows=(other, *EXPERIMENT_SPEC.rows[1:])), facts)


def test_a_stored_measurement_has_every_setting_of_its_load() -> None:
    stored = measurement_json(measurement())["workload"]
    assert {*stored} == {each.name for each in fields(Workload)} - {"record_sizes"} | {"record_bytes", "load"}
