"""Tests of the rules between knobs, compared with the real client."""

from collections.abc import Mapping

import pytest
from confluent_kafka import Producer
from hypothesis import event, given, settings
from hypothesis import strategies as st

from search_spaces import (
    ConfigError,
    ProducerConfig,
    Property,
    Role,
    RuleBroken,
    Value,
    librdkafka,
)
from tests.helpers.real_librdkafka import Refused, values_in_force

CATALOGUE = librdkafka().catalogue
KNOBS = [entry for entry in CATALOGUE if entry.role is Role.PRODUCER]
IDEMPOTENT = {"enable.idempotence": "true"}

REFUSED_BY_CLIENT: list[tuple[str, dict[str, str]]] = [
    ("idempotence-needs-acks-all", {**IDEMPOTENT, "acks": "1"}),
    ("idempotence-limits-in-flight", {**IDEMPOTENT, "max.in.flight": "6"}),
    ("idempotence-needs-retries", {**IDEMPOTENT, "retries": "0"}),
    ("idempotence-needs-fifo", {**IDEMPOTENT, "queuing.strategy": "lifo"}),
    ("idempotence-fixes-backpressure", {**IDEMPOTENT, "queue.buffering.backpressure.threshold": "2"}),
    ("linger-within-delivery-timeout", {"linger.ms": "100", "delivery.timeout.ms": "50"}),
    ("linger-within-delivery-timeout", {"linger.ms": "300000"}),
    ("reconnect-backoff-within-limit", {"reconnect.backoff.ms": "20000"}),
]
TAKEN_IN_SILENCE: list[tuple[str, dict[str, str]]] = [
    ("acks-is-none-one-or-all", {"acks": "2"}),
    ("batch-within-message-max", {"batch.size": "2000000"}),
    ("batch-within-queue-bytes", {"batch.size": "20000", "queue.buffering.max.kbytes": "10"}),
    ("batch-within-queue-messages", {"batch.num.messages": "11", "queue.buffering.max.messages": "10"}),
    ("message-within-queue-bytes", {"message.max.bytes": "20000", "queue.buffering.max.kbytes": "10"}),
    ("level-fits-codec", {"compression.type": "gzip", "compression.level": "12"}),
    ("level-fits-codec", {"compression.type": "snappy", "compression.level": "1"}),
    ("level-fits-codec", {"compression.level": "3"}),
    ("request-timeout-within-socket-timeout", {"request.timeout.ms": "60001"}),
    (
        "request-timeout-within-delivery-timeout",
        {"request.timeout.ms": "2000", "delivery.timeout.ms": "1000"},
    ),
    ("retry-backoff-within-limit", {"retry.backoff.ms": "2000"}),
    ("metadata-backoff-within-limit", {"topic.metadata.refresh.fast.interval.ms": "2000"}),
]


@pytest.mark.parametrize(("rule", "given"), REFUSED_BY_CLIENT + TAKEN_IN_SILENCE)
def test_the_error_names_the_broken_rule_and_the_values(rule: str, given: dict[str, str]) -> None:
    with pytest.raises(RuleBroken, match=rule) as raised:
        ProducerConfig.parse(given)
    assert raised.value.rule == rule
    assert any(f"{name}={value}" in str(raised.value) for name, value in given.items())


@pytest.mark.parametrize(("rule", "given"), REFUSED_BY_CLIENT)
def test_the_client_refuses_what_breaks_a_rule(rule: str, given: dict[str, str]) -> None:
    with pytest.raises(Refused):
        values_in_force(given, ())


@pytest.mark.parametrize(("rule", "given"), TAKEN_IN_SILENCE)
def test_the_client_silently_accepts_what_breaks_other_rules(rule: str, given: dict[str, str]) -> None:
    values_in_force(given, ())


def test_every_rule_is_tested_and_has_real_knobs_and_a_source() -> None:
    assert {rule.name for rule in librdkafka().rules} == {rule for rule, _ in REFUSED_BY_CLIENT + TAKEN_IN_SILENCE}
    for rule in librdkafka().rules:
        assert all(CATALOGUE.find(knob).role is Role.PRODUCER for knob in rule.knobs)
        assert rule.source
        assert rule.statement


def test_no_rule_names_a_version_of_the_client_that_a_new_catalogue_would_leave_behind() -> None:
    for rule in (*librdkafka().rules, *librdkafka().transaction_rules):
        assert librdkafka().version not in f"{rule.statement} {rule.source}"


@pytest.mark.parametrize(
    "given",
    [
        {"delivery.timeout.ms": 0, "linger.ms": 900_000},
        {"queue.buffering.max.messages": 0, "batch.num.messages": 1_000_000},
        {"message.max.bytes": 5000},
        {"retry.backoff.max.ms": 50},
        {"delivery.timeout.ms": 4},
        {"compression.type": "zstd", "compression.level": 12},
        {"compression.type": "snappy", "compression.level": -1},
        {**IDEMPOTENT, "acks": "all", "max.in.flight": 5},
    ],
)
def test_zero_for_no_limit_and_defaults_break_no_rule(given: dict[str, Value]) -> None:
    ProducerConfig.parse(given)


def _values(entry: Property) -> st.SearchStrategy[str]:
    if entry.kind == "bool":
        return st.sampled_from(["true", "false"])
    if entry.choices is not None:
        return st.sampled_from(entry.choices)
    low, high = entry.low, entry.high
    assert low is not None, entry.name
    assert high is not None, entry.name
    if entry.kind == "float":
        return st.floats(low, high).map(lambda number: f"{number:.3f}")
    near_default = int(float(entry.default or low))
    edges = st.sampled_from([int(low), int(low) + 1, near_default, int(high)])
    return st.one_of(edges, st.integers(int(low), int(high))).map(str)


CONFIGS = st.lists(st.sampled_from(KNOBS), max_size=5, unique_by=lambda entry: entry.name).flatmap(
    lambda entries: st.fixed_dictionaries({entry.name: _values(entry) for entry in entries})
)


@settings(max_examples=300, deadline=None)
@given(CONFIGS)
def test_the_client_accepts_and_holds_every_parsed_config(
    given: Mapping[str, str],
) -> None:
    try:
        config = ProducerConfig.parse(given)
    except ConfigError as error:
        event(type(error).__name__)
        return
    event("taken")
    Producer({**config.values, "bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    held = values_in_force(config.values, [entry.name for entry in KNOBS])
    for name, value in held.items():
        if CATALOGUE.find(name).kind == "float":
            # The client prints floats with six digits.
            assert float(config.effective(name)) == pytest.approx(float(value), rel=1e-5, abs=1e-6)
        else:
            assert config.effective(name) == value, name


@settings(max_examples=200, deadline=None)
@given(CONFIGS)
def test_parse_refuses_every_config_that_the_client_refuses(given: Mapping[str, str]) -> None:
    try:
        values_in_force(given, ())
    except Refused:
        event("refused")
        with pytest.raises(ConfigError):
            ProducerConfig.parse(given)
