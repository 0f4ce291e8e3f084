"""Tests of the translation for the Java producer."""

import pytest

from search_spaces import ProducerConfig, Value, translate_to_java


def java(given: dict[str, Value]) -> dict[str, str]:
    return translate_to_java(ProducerConfig.parse(given)).properties


def test_defaults_that_differ_are_written_out() -> None:
    assert java({}) == {
        "acks": "all",
        "batch.size": "1000000",
        "buffer.memory": str(2**30),
        "compression.type": "none",
        "delivery.timeout.ms": "300000",
        "enable.idempotence": "false",
        "linger.ms": "5",
        "max.in.flight.requests.per.connection": "1000000",
        "max.request.size": "1000000",
        "receive.buffer.bytes": "-1",
        "request.timeout.ms": "30000",
        "retries": "2147483647",
        "send.buffer.bytes": "-1",
    }


def test_an_idempotent_producer_gets_five_requests_in_flight() -> None:
    properties = java({"enable.idempotence": True})
    assert properties["enable.idempotence"] == "true"
    assert properties["max.in.flight.requests.per.connection"] == "5"


@pytest.mark.parametrize(
    ("codec", "level", "expected"),
    [
        ("gzip", 6, {"compression.gzip.level": "6"}),
        ("gzip", 0, {}),
        ("lz4", 2, {"compression.lz4.level": "9"}),
        ("lz4", 9, {"compression.lz4.level": "10"}),
        ("lz4", 12, {"compression.lz4.level": "12"}),
        ("zstd", 0, {"compression.zstd.level": "3"}),
        ("zstd", -1, {}),
    ],
)
def test_a_level_becomes_the_property_of_its_codec(codec: str, level: int, expected: dict[str, str]) -> None:
    properties = java({"compression.type": codec, "compression.level": level})
    assert {name: value for name, value in properties.items() if name.endswith(".level")} == expected


def test_properties_without_a_java_counterpart_are_named() -> None:
    given: dict[str, Value] = {
        "sticky.partitioning.linger.ms": 3,
        "batch.num.messages": 5,
        "partitioner": "random",
    }
    translation = translate_to_java(ProducerConfig.parse(given))
    assert set(translation.without_twin) == set(given)
    assert translation.label == "translated, not measured"
    assert any("partitioner like random" in note for note in translation.notes)


def test_a_fraction_of_a_millisecond_is_rounded_but_not_to_zero() -> None:
    translation = translate_to_java(ProducerConfig.parse({"linger.ms": 0.4}))
    assert translation.properties["linger.ms"] == "1"
    assert any("0.4 became 1" in note for note in translation.notes)


@pytest.mark.parametrize(
    ("timeout_ms", "linger", "expected"),
    [(20_000, 5, ("5", "19995")), (1, 0.9, ("0", "1")), (0, 5, ("5", "30000"))],
)
def test_the_timeouts_fit_together_as_java_demands(timeout_ms: int, linger: float, expected: tuple[str, str]) -> None:
    properties = java({"delivery.timeout.ms": timeout_ms, "linger.ms": linger})
    assert (properties["linger.ms"], properties["request.timeout.ms"]) == expected
    assert int(properties["delivery.timeout.ms"]) >= sum(map(int, expected))


def test_values_that_mean_a_system_default_are_translated() -> None:
    properties = java({"socket.send.buffer.bytes": 1_000_000, "connections.max.idle.ms": 0})
    assert properties["send.buffer.bytes"] == "1000000"
    assert properties["receive.buffer.bytes"] == "-1"
    assert properties["connections.max.idle.ms"] == "-1"
    assert java({"topic.metadata.refresh.interval.ms": -1})["metadata.max.age.ms"] == "2147483647"
