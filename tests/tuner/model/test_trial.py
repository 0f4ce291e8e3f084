"""A trial is the same in memory and in JSON, and older code reads newer JSON."""

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_spaces.configs.guarantee import Guarantee
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import InvalidValue
from tests.helpers.trials import through_text, trial
from tuner.model.trial import State, Trial, TrialKind

NUMBERS = st.floats(allow_nan=False)
NAMES = st.text(max_size=12)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | NUMBERS | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
TRIALS = st.builds(
    Trial,
    record_bytes=NAMES,
    number=st.integers(0, 10**9),
    kind=st.sampled_from(TrialKind),
    state=st.sampled_from(State),
    values=st.dictionaries(NAMES, NAMES, max_size=3),
    fingerprint=NAMES,
    guarantee=NAMES,
    params=st.dictionaries(NAMES, st.integers() | NUMBERS | NAMES, max_size=3),
    metrics=st.dictionaries(NAMES, NUMBERS, max_size=3),
    objectives=st.lists(st.none() | NUMBERS, max_size=3).map(tuple),
    violations=st.dictionaries(NAMES, NUMBERS, max_size=3),
    verdict=NAMES,
    because=NAMES,
    flagged=st.booleans(),
    error=NAMES,
    warnings=st.lists(NAMES, max_size=2).map(tuple),
    worker=NAMES,
    attempts=st.integers(1, 9),
    started_at=NAMES,
    duration_s=NUMBERS,
    load_s=NUMBERS,
    value_bytes=NUMBERS,
    round=st.none() | st.integers(0, 9),
    sampler_state=st.dictionaries(NAMES, JSON_VALUES, max_size=3),
)


@settings(max_examples=50)
@given(TRIALS)
def test_every_trial_is_the_same_after_a_round_trip_through_json(kept: Trial) -> None:
    found = through_text(kept)
    assert found == kept
    assert [type(getattr(found, each.name)) for each in fields(Trial)] == [
        type(getattr(kept, each.name)) for each in fields(Trial)
    ]
    assert found.feasible is kept.feasible


def test_every_field_is_in_the_json() -> None:
    stored = {each.name for each in fields(Trial)} - {"window_values"} | {"course"}
    assert set(trial(0).as_json()) == stored


def test_window_values_are_stored_as_course_as_older_releases_did() -> None:
    kept = replace(trial(3), window_values={"mb_per_s": (100.0, 101.5)})
    assert kept.as_json()["course"] == {"mb_per_s": [100.0, 101.5]}
    assert Trial.from_json(kept.as_json()) == kept


def test_the_json_has_json_types_only() -> None:
    plain = trial(0).as_json()
    assert json.loads(json.dumps(plain)) == plain


def test_fields_of_a_newer_release_are_ignored() -> None:
    newer = {**trial(3).as_json(), "altitude_m": 8_848, "kind": "search"}
    assert Trial.from_json(newer) == trial(3)


def test_fields_missing_in_an_older_release_get_their_defaults() -> None:
    kept = replace(trial(3), warnings=("late",), round=2, attempts=3)
    older = {name: value for name, value in kept.as_json().items() if name not in ("warnings", "round", "attempts")}
    assert Trial.from_json(older) == trial(3)


def test_a_trial_without_a_kind_is_refused() -> None:
    with pytest.raises(KeyError, match="kind"):
        Trial.from_json({"record_bytes": "1000", "number": 0})


@pytest.mark.parametrize(
    ("size", "number", "key"), [("1000", 7, "1000/0007"), ("100:70,1000:30", 0, "100:70,1000:30/0000")]
)
def test_a_key_has_record_size_and_number(size: str, number: int, key: str) -> None:
    assert replace(trial(number), record_bytes=size).key == key


def test_the_config_is_parsed_from_the_stored_values() -> None:
    kept = trial(0, config={"linger.ms": "7", "acks": "1"})
    assert kept.config() == ProducerConfig.parse({"acks": 1, "linger.ms": 7})
    assert kept.config().fingerprint == kept.fingerprint
    assert kept.guarantee == str(Guarantee.of(kept.config())) == "acks=1, may reorder on retry"


@pytest.mark.parametrize(
    ("changes", "feasible"),
    [
        ({}, True),
        ({"violations": {"a": 0.0, "b": -1.0}}, True),
        ({"violations": {"a": 0.0, "b": 0.001}}, False),
        ({"objectives": (1.0, None)}, False),
        ({"objectives": ()}, False),
        ({"state": State.FAILED}, False),
    ],
)
def test_only_a_complete_trial_that_keeps_all_constraints_is_feasible(changes: dict[str, Any], feasible: bool) -> None:
    assert replace(trial(0), **changes).feasible is feasible


def test_a_config_that_the_client_does_not_accept_is_named() -> None:
    kept = replace(trial(7), values={"linger.ms": "soon"})
    with pytest.raises(InvalidValue, match=r"^the config of trial 1000/0007: linger\.ms takes"):
        kept.config()
