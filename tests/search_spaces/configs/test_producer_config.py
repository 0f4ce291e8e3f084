"""Tests of the values that `ProducerConfig.parse` accepts and refuses, and of their canonical form."""

import dataclasses
import pickle

import pytest

from search_spaces import (
    ConfigError,
    ConflictingSpellings,
    ConnectionConfig,
    InvalidValue,
    MisplacedProperty,
    ProducerConfig,
    UnknownProperty,
    Value,
    librdkafka,
)


@pytest.mark.parametrize(
    ("name", "value", "canonical"),
    [
        ("acks", "ALL", "-1"),
        ("acks", 1, "1"),
        ("linger.ms", "0.50", "0.5"),
        ("linger.ms", "1e3", "1000"),
        ("linger.ms", 0.1 + 0.2, "0.3"),
        ("linger.ms", 5.0, "5"),
        ("linger.ms", "-0", "0"),
        ("batch.size", " +16384 ", "16384"),
        ("batch.size", 16384.0, "16384"),
        ("enable.idempotence", True, "true"),
        ("enable.idempotence", "F", "false"),
        ("enable.idempotence", 1, "true"),
        ("compression.type", "ZSTD", "zstd"),
        ("partitioner", " murmur2_random", "murmur2_random"),
    ],
)
def test_values_become_canonical(name: str, value: Value, canonical: str) -> None:
    assert ProducerConfig.parse({name: value}).effective(name) == canonical


@pytest.mark.parametrize(
    ("name", "value"),
    [
        # The client reads the first six values as 1, 8, 16, 4, 10 and 5.
        ("batch.size", "1e3"),
        ("batch.size", "010"),
        ("batch.size", "0x10"),
        ("batch.size", "4294967300"),
        ("batch.size", "10.5"),
        ("linger.ms", "5ms"),
        ("linger.ms", "nan"),
        ("linger.ms", float("inf")),
        ("linger.ms", "0.0001"),
        ("linger.ms", "900000.5"),
        ("linger.ms", ""),
        ("linger.ms", True),
        ("batch.size", 0),
        ("batch.size", "\u0663"),
        ("enable.idempotence", "yes"),
        ("compression.type", "brotli"),
        ("compression.type", "inherit"),
        ("acks", "-2"),
        ("partitioner", ""),
        ("partitioner", "Murmur2_Random"),
        ("compression.type", "lz4 "),
        ("enable.idempotence", "true "),
        ("acks", " all"),
    ],
)
def test_values_that_the_client_would_refuse_or_misread_are_refused(name: str, value: Value) -> None:
    with pytest.raises(InvalidValue) as raised:
        ProducerConfig.parse({name: value})
    assert repr(value if isinstance(value, str | bool) else str(value)) in str(raised.value)
    assert raised.value.name in str(raised.value)


def test_spelling_and_order_do_not_change_the_fingerprint() -> None:
    one = ProducerConfig.parse({"linger.ms": "5.0", "acks": "all", "compression.type": "LZ4"})
    other = ProducerConfig.parse({"compression.codec": "lz4", "request.required.acks": -1, "queue.buffering.max.ms": 5})
    assert one == other
    assert hash(one) == hash(other)
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 16
    assert int(one.fingerprint, 16) >= 0


def test_a_changed_value_or_a_stated_default_changes_the_fingerprint() -> None:
    prints = {ProducerConfig.parse(given).fingerprint for given in ({}, {"linger.ms": 5}, {"linger.ms": 6})}
    assert len(prints) == 3


def test_the_fingerprint_of_a_config_stays_the_same_in_all_releases() -> None:
    assert ProducerConfig.parse({"acks": "1", "linger.ms": "0.5"}).fingerprint == "72f24b53616139f2"


def test_one_property_under_two_names_with_two_values_is_an_error() -> None:
    with pytest.raises(ConflictingSpellings, match=r"linger\.ms=1 and queue\.buffering\.max\.ms=2"):
        ProducerConfig.parse({"linger.ms": 1, "queue.buffering.max.ms": 2})
    assert ProducerConfig.parse({"linger.ms": 1, "queue.buffering.max.ms": "1.0"}).linger_ms == 1


@pytest.mark.parametrize(
    ("name", "role"),
    [("bootstrap.servers", "connection"), ("sasl.password", "connection"), ("log_level", "reserved")],
)
def test_a_misplaced_property_is_refused_and_its_value_is_not_shown(name: str, role: str) -> None:
    with pytest.raises(MisplacedProperty, match=name) as raised:
        ProducerConfig.parse({name: "hunter2"})
    assert raised.value.role == role
    assert "hunter2" not in str(raised.value)


def test_an_unknown_name_does_not_show_its_value() -> None:
    with pytest.raises(UnknownProperty, match=r"sasl\.password") as raised:
        ProducerConfig.parse({"sasl.pasword": "hunter2"})
    assert "hunter2" not in str(raised.value)


def test_typed_properties_include_the_defaults() -> None:
    default = ProducerConfig.parse({})
    assert (default.acks, default.idempotent, default.linger_ms, default.compression) == (
        -1,
        False,
        5,
        "none",
    )
    assert default.max_batch_bytes == 1_000_000
    assert default.queue_bytes == 2**30
    assert ProducerConfig.parse({"message.max.bytes": 5000}).max_batch_bytes == 5000


def test_a_config_can_be_built_only_by_parse() -> None:
    config = ProducerConfig.parse({"acks": 1})
    with pytest.raises(TypeError, match=r"ProducerConfig\.parse"):
        dataclasses.replace(config, pairs=(("acks", "2"),))
    with pytest.raises(dataclasses.FrozenInstanceError):
        config.client = librdkafka()  # type: ignore[misc]


def test_a_config_can_be_pickled() -> None:
    config = ProducerConfig.parse({"acks": 1})
    assert pickle.loads(pickle.dumps(config)) == config
    assert pickle.loads(pickle.dumps(config)).effective("linger.ms") == "5"


def test_updated_accepts_any_name_and_checks_the_result() -> None:
    config = ProducerConfig.parse({"linger.ms": 5, "acks": 1})
    assert config.updated({"queue.buffering.max.ms": 7}).linger_ms == 7
    with pytest.raises(ConfigError, match="idempotent"):
        config.updated({"enable.idempotence": True})


def test_connection_and_measured_config_refuse_each_others_properties() -> None:
    connection = ConnectionConfig.parse({"bootstrap.servers": "b:9092", "sasl.password": "hunter2"})
    assert connection.values == {"bootstrap.servers": "b:9092", "sasl.password": "hunter2"}
    assert "hunter2" not in repr(connection)
    with pytest.raises(MisplacedProperty, match=r"linger\.ms.*knob"):
        ConnectionConfig.parse({"linger.ms": 5})


def test_two_values_of_a_secret_are_not_shown() -> None:
    both = {
        "sasl.oauthbearer.client.secret": "hunter2",
        "sasl.oauthbearer.client.credentials.client.secret": "hunter3",
    }
    with pytest.raises(ConflictingSpellings) as raised:
        ConnectionConfig.parse(both)
    assert "hunter" not in str(raised.value)
