"""Tests of the changes that a study file makes to knobs, and of the errors that name knob, rule and value."""

import pickle

import pytest

from search_spaces import (
    DURABILITY,
    ConfigError,
    EmptySpace,
    InvalidKnob,
    InvalidValue,
    KnobChange,
    MisplacedProperty,
    ProducerConfig,
    RuleBroken,
    SearchSpace,
    UnknownProperty,
    Value,
)
from tests.helpers.choosers import Random

IN_FLIGHT = "max.in.flight.requests.per.connection"


def space_of(changes: dict[str, KnobChange], floor: str = "baseline", **baseline: Value) -> SearchSpace:
    given = {name.replace("_", "."): value for name, value in baseline.items()}
    return SearchSpace.of(1_000, ProducerConfig.parse(given), changes=changes, floor=DURABILITY[floor])


def drawn(space: SearchSpace, name: str) -> set[str]:
    return {space.draw(Random(seed)).effective(name) for seed in range(150)}


@pytest.mark.parametrize(
    ("changes", "kind", "message"),
    [
        ({"linger": KnobChange(value="1")}, UnknownProperty, "librdkafka has no property 'linger'"),
        ({"batch.sise": KnobChange()}, UnknownProperty, r"did you mean batch\.size"),
        ({"sasl.password": KnobChange(value="hunter2")}, MisplacedProperty, r"sasl\.password does not belong here"),
        ({"debug": KnobChange(value="all")}, MisplacedProperty, "debug does not belong"),
        (
            {"linger.ms": KnobChange(low=5, high=1)},
            InvalidKnob,
            r"knob linger\.ms: low must be at most high, but got low=5",
        ),
        ({"linger.ms": KnobChange(value="5ms")}, InvalidValue, r"linger\.ms takes a decimal number"),
        (
            {"linger.ms": KnobChange(value="5", low=1)},
            InvalidKnob,
            r"knob linger\.ms: .*only one of.*value and a range",
        ),
        ({"batch.size": KnobChange(low=10.5)}, InvalidValue, r"batch\.size takes a whole decimal number.*10\.5"),
        ({"batch.size": KnobChange(low=0, high=10, log=True)}, InvalidValue, r"batch\.size takes.*from 1 to"),
        ({"batch.size": KnobChange(steps=0)}, InvalidKnob, r"knob batch\.size: a grid needs at least one.*steps=0"),
        ({"batch.size": KnobChange(choices=())}, InvalidKnob, "choices must not be empty"),
        ({"batch.size": KnobChange(choices=("1e4", "x"))}, InvalidValue, "not '1e4'"),
        (
            {"batch.size": KnobChange(choices=("5000", "+5000"))},
            InvalidKnob,
            "each choice may be listed only once, but got 5000 twice",
        ),
        (
            {"compression.type": KnobChange(low=1, high=2)},
            InvalidKnob,
            "a property that is not a number takes .*choices.*, but got a range",
        ),
        ({"compression.type": KnobChange(choices=("lz5",))}, InvalidValue, r"compression\.type takes one of.*'lz5'"),
        ({"retry.backoff.ms": KnobChange(low=5)}, InvalidKnob, r"knob retry\.backoff\.ms: both low and high"),
        ({"retry.backoff.ms": KnobChange()}, InvalidKnob, "low and high, or choices, must be given"),
        ({"retries": KnobChange(low=0, high=9, log=True)}, InvalidKnob, "a logarithmic range must start above 0"),
        (
            {"linger.ms": KnobChange(), "queue.buffering.max.ms": KnobChange()},
            InvalidKnob,
            r"knob linger\.ms: .*only once, under one name, but got it again as queue\.buffering\.max\.ms",
        ),
        (
            {"acks": KnobChange(value="1")},
            EmptySpace,
            r"the knob acks: the guarantee must be at least acks=all.*acks=1",
        ),
        (
            {"acks": KnobChange(choices=("1", "all"))},
            InvalidKnob,
            "knob acks: every choice must keep the guarantee.*but got 1",
        ),
        ({"acks": KnobChange(choices=("all", "2"))}, InvalidValue, "acks takes 0, 1 or all"),
        (
            {"batch.size": KnobChange(low=100_000), "queue.buffering.max.kbytes": KnobChange(value="64")},
            EmptySpace,
            r"the knob batch\.size: .*rule batch-within-queue-bytes.*queue\.buffering\.max\.kbytes=64",
        ),
        (
            {"linger.ms": KnobChange(low=50), "delivery.timeout.ms": KnobChange(low=10, high=40)},
            EmptySpace,
            r"linger\.ms.*rule linger-within-delivery-timeout.*delivery\.timeout\.ms is 10 to 40",
        ),
        (
            {"enable.idempotence": KnobChange(value="true"), IN_FLIGHT: KnobChange(choices=("6", "10"))},
            EmptySpace,
            "the knob max.in.flight.*at most 5 requests in flight.*enable.idempotence=true",
        ),
        (
            {"enable.idempotence": KnobChange(value="true"), "retries": KnobChange(value="0")},
            RuleBroken,
            "idempotence-needs-retries",
        ),
        ({"batch.size": KnobChange(value="2000000")}, RuleBroken, "batch-within-topic"),
        ({"compression.level": KnobChange(value="12")}, RuleBroken, r"level-fits-codec.*compression\.type=gzip"),
        (
            {"compression.type": KnobChange(value="lz4"), "compression.level.gzip": KnobChange(value="3")},
            InvalidKnob,
            r"knob compression\.level\.gzip: its codec must be searched too, but got only lz4",
        ),
    ],
)
def test_an_invalid_change_raises_an_error_that_names_it(
    changes: dict[str, KnobChange], kind: type[ConfigError], message: str
) -> None:
    with pytest.raises(kind, match=message) as raised:
        space_of(changes)
    copy = pickle.loads(pickle.dumps(raised.value))
    assert str(copy) == str(raised.value)
    assert copy.__dict__ == raised.value.__dict__
    assert "hunter2" not in str(copy)


def test_changes_that_cannot_keep_the_floor_are_an_error() -> None:
    with pytest.raises(EmptySpace, match=r"enable\.idempotence.*no duplicates"):
        space_of({"enable.idempotence": KnobChange(value="false")}, "idempotent")
    with pytest.raises(EmptySpace, match=r"enable\.idempotence.*ordered"):
        space_of({"retries": KnobChange(value="0")}, "idempotent")
    off = KnobChange(off=True)
    with pytest.raises(EmptySpace, match=r"enable\.idempotence.*ordered"):
        space_of({"enable.idempotence": off, IN_FLIGHT: off}, "ordered")


def test_a_record_that_does_not_fit_is_an_error() -> None:
    with pytest.raises(RuleBroken, match="record-within-topic"):
        SearchSpace.of(2_000_000, ProducerConfig.parse({}))
    with pytest.raises(RuleBroken, match="record-within-message-max"):
        SearchSpace.of(20_000, ProducerConfig.parse({"message.max.bytes": 10_000}))


def test_fixed_and_switched_off_knobs_are_not_parameters() -> None:
    changes = {"linger.ms": KnobChange(value="7"), "batch.size": KnobChange(off=True), IN_FLIGHT: KnobChange(off=True)}
    space = space_of(changes, batch_size=32_768, retry_backoff_ms=50)
    assert space.fixed == {"linger.ms": "7", "batch.size": "32768", "retry.backoff.ms": "50"}
    assert not {parameter.name for parameter in space.parameters} & set(changes)
    assert IN_FLIGHT not in space.draw(Random(0)).values


def test_a_space_without_knobs_to_search_has_no_choice() -> None:
    off = {parameter.name: KnobChange(off=True) for parameter in space_of({}).parameters}
    assert not space_of(off).has_choice
    assert not space_of(off | {"linger.ms": KnobChange(value="7")}).has_choice
    assert not space_of(off | {"linger.ms": KnobChange(choices=("7",))}).has_choice
    only_level = off | {"compression.type": KnobChange(value="zstd"), "compression.level.zstd": KnobChange(value="3")}
    assert not space_of(only_level).has_choice, "a level that is fixed stays a parameter"
    assert space_of(off | {"linger.ms": KnobChange()}).has_choice
    assert space_of({}).has_choice


def test_draws_stay_within_ranges_and_choices() -> None:
    space = space_of({"batch.size": KnobChange(choices=("8192", "65536")), "linger.ms": KnobChange(low=2, high=3)})
    assert drawn(space, "batch.size") == {"8192", "65536"}
    lingers = {float(linger) for linger in drawn(space, "linger.ms")}
    assert min(lingers) >= 2
    assert max(lingers) <= 3


def test_a_logarithmic_range_from_zero_keeps_zero() -> None:
    lingers = drawn(space_of({"linger.ms": KnobChange(low=0, high=20)}), "linger.ms")
    assert "0" in lingers
    assert all(0.05 <= float(linger) <= 20 for linger in lingers - {"0"})


def test_any_property_of_the_producer_becomes_a_knob() -> None:
    partitioners = ("random", "murmur2_random")
    space = space_of({"partitioner": KnobChange(choices=partitioners), "retries": KnobChange(value="9")})
    assert drawn(space, "partitioner") == set(partitioners)
    assert space.fixed["retries"] == "9"
    assert drawn(space_of({"socket.keepalive.enable": KnobChange()}), "socket.keepalive.enable") == {"true", "false"}
    parameters = space_of({"retry.backoff.ms": KnobChange(low=5, high=500)}).parameters
    backoff = next(parameter for parameter in parameters if parameter.name == "retry.backoff.ms")
    assert (backoff.text, backoff.unit, backoff.default) == ("5 to 500", "ms", "100")


def test_a_level_can_be_fixed_for_all_codecs_or_kept_from_the_baseline() -> None:
    fixed = space_of({"compression.level": KnobChange(value="4")})
    kept = space_of({"compression.level": KnobChange(off=True)}, compression_type="zstd", compression_level=7)
    for seed in range(60):
        config = fixed.draw(Random(seed))
        assert config.effective("compression.level") == ("-1" if config.compression in ("none", "snappy") else "4")
        config = kept.draw(Random(seed))
        assert config.effective("compression.level") == ("7" if config.compression == "zstd" else "-1")


def test_numbers_that_a_rule_forbids_for_a_config_are_not_offered() -> None:
    space = space_of({IN_FLIGHT: KnobChange(choices=("1", "5", "100"))})
    pairs = {(config.idempotent, config.effective(IN_FLIGHT)) for config in map(space.draw, map(Random, range(200)))}
    assert pairs == {(False, "1"), (False, "5"), (False, "100"), (True, "1"), (True, "5")}


@pytest.mark.parametrize("high", [1, 2, 3, 49_999, 50_000, 65_535, 65_536, 100_000])
def test_a_special_value_is_reached_from_every_range(high: int) -> None:
    name = "socket.send.buffer.bytes"
    others = {each.name: KnobChange(off=True) for each in space_of({}).parameters}
    space = space_of({**others, name: KnobChange(low=0, high=high)})
    assert {"0", str(high)} <= {config.effective(name) for config in space.grid(5)}
    assert {"0", str(high)} <= drawn(space, name) | {str(high)}
