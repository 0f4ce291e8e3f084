"""Tests of a search space: client and broker accept every drawn config, and it keeps the guarantee."""

import pickle
from collections import Counter

import pytest
from confluent_kafka import Producer
from hypothesis import event, given, settings
from hypothesis import strategies as st

from search_spaces import (
    DURABILITY,
    EmptySpace,
    Guarantee,
    KnobChange,
    ProducerConfig,
    SearchSpace,
    check_record,
    librdkafka,
)
from search_spaces.client_facts.domains import WordList
from tests.helpers.choosers import Random, Recorder, Replay
from tests.helpers.real_librdkafka import values_in_force
from tests.helpers.spaces import spaces

DEFAULTS = ProducerConfig.parse({})
IN_FLIGHT = "max.in.flight.requests.per.connection"


@settings(max_examples=100, deadline=None)
@given(spaces(), st.integers(0, 2**32))
def test_every_draw_fits_the_record_and_keeps_the_guarantee(space: SearchSpace | Exception, seed: int) -> None:
    if isinstance(space, Exception):
        event(type(space).__name__)
        return
    event("a space")
    chooser = Recorder(Random(seed))
    for _ in range(40):
        config = space.draw(chooser)
        assert Guarantee.of(config).at_least(space.floor)
        sizes = space.sizes
        check_record(config, sizes.record_bytes, sizes.key_bytes or None, sizes.topic_max_message_bytes)
        assert space.fixed.items() <= config.values.items()
        params = space.params_of(config)
        assert params is not None
        assert space.draw(Replay(params)) == config
    assert all(len(ways) == 1 for ways in chooser.asked.values())
    assert set(chooser.asked) <= {parameter.name for parameter in space.parameters}


@settings(max_examples=70, deadline=None)
@given(spaces(), st.integers(0, 2**32))
def test_the_real_client_accepts_every_draw_and_holds_its_values(space: SearchSpace | Exception, seed: int) -> None:
    if isinstance(space, Exception):
        return
    chooser = Random(seed)
    for _ in range(5):
        config = space.draw(chooser)
        Producer({**config.values, "bootstrap.servers": "127.0.0.1:1", "log_level": 0})
    held = values_in_force(config.values, config.values)
    for name, value in held.items():
        if librdkafka().catalogue.find(name).kind == "float":
            assert float(value) == pytest.approx(float(config.effective(name)), rel=1e-5, abs=1e-6)
        else:
            assert value == config.effective(name)


def test_a_guarantee_of_order_leaves_only_first_in_first_out() -> None:
    ordered = ProducerConfig.parse({"max.in.flight": 1})
    space = SearchSpace.of(1_000, ordered, changes={"queuing.strategy": KnobChange(choices=("fifo", "lifo"))})
    strategies = {space.draw(Random(seed)).effective("queuing.strategy") for seed in range(40)}
    assert space.floor.ordered
    assert strategies == {"fifo"}
    with pytest.raises(EmptySpace, match=r"queuing\.strategy"):
        SearchSpace.of(1_000, ordered, changes={"queuing.strategy": KnobChange(value="lifo")})


def test_a_level_is_asked_for_only_with_its_codec() -> None:
    space = SearchSpace.of(1_000, DEFAULTS)
    seen: Counter[str] = Counter()
    for seed in range(200):
        chooser = Recorder(Random(seed))
        config = space.draw(chooser)
        levels = [name for name in chooser.asked if name.startswith("compression.level")]
        has_level = config.compression in ("gzip", "lz4", "zstd")
        assert levels == ([f"compression.level.{config.compression}"] if has_level else [])
        seen[config.compression] += 1
    assert set(seen) == {"none", "gzip", "snappy", "lz4", "zstd"}


def test_special_values_are_drawn_often_enough() -> None:
    space = SearchSpace.of(1_000, DEFAULTS)
    configs = [space.draw(Random(seed)) for seed in range(400)]
    assert 15 <= sum(config.linger_ms == 0 for config in configs) <= 80
    assert all(config.linger_ms == 0 or 0.05 <= config.linger_ms <= 100 for config in configs)
    plain = [config.effective_values.integer(IN_FLIGHT) for config in configs if not config.idempotent]
    assert 5 <= plain.count(1_000_000) <= 50
    assert all(requests <= 100 or requests == 1_000_000 for requests in plain)


def test_ranges_follow_the_size_of_the_record() -> None:
    def highest(name: str, record_bytes: int) -> float:
        space = SearchSpace.of(record_bytes, DEFAULTS, changes={name: KnobChange()})
        chooser = Recorder(Random(1))
        for _ in range(50):
            space.draw(chooser)
        return max(high for _, high in chooser.bounds[name])

    by_size = [highest("batch.num.messages", size) for size in (10, 100, 1_000, 10_000)]
    assert by_size == sorted(by_size, reverse=True)
    assert highest("queue.buffering.max.messages", 10) > highest("queue.buffering.max.messages", 10_000)
    names = [{parameter.name for parameter in SearchSpace.of(size, DEFAULTS).parameters} for size in (10, 900_000)]
    assert names[0] - names[1] == {"batch.size", "batch.num.messages", "queue.buffering.max.messages"}
    assert names[1] - names[0] == {"queue.buffering.max.kbytes"}


def test_batches_may_exceed_the_default_limit_but_not_the_topics() -> None:
    space = SearchSpace.of(1_000, DEFAULTS, topic_max_message_bytes=4_000_000)
    sizes = set()
    for seed in range(100):
        config = space.draw(Random(seed))
        sizes.add(config.max_batch_bytes)
        assert config.effective_values.integer("batch.size") == config.max_batch_bytes
    assert 1_000_000 < max(sizes) <= 4_000_000
    off = {"batch.size": KnobChange(off=True)}
    small = SearchSpace.of(1_000, DEFAULTS, topic_max_message_bytes=50_000, changes=off)
    assert small.draw(Random(0)).max_batch_bytes == 50_000


@pytest.mark.parametrize(
    ("key_bytes", "partitions", "partitioner"), [(8, 3, "random"), (0, 1, "random"), (0, 3, "murmur2")]
)
def test_sticky_linger_is_not_searched_where_it_has_no_effect(
    key_bytes: int, partitions: int, partitioner: str
) -> None:
    baseline = ProducerConfig.parse({"partitioner": partitioner})
    space = SearchSpace.of(100, baseline, key_bytes=key_bytes, partitions=partitions)
    assert "sticky.partitioning.linger.ms" not in {parameter.name for parameter in space.parameters}


@pytest.mark.parametrize("name", [name for name, floor in DURABILITY.items() if floor is not None])
def test_the_floor_decides_which_acks_are_searched(name: str) -> None:
    floor = DURABILITY[name]
    assert floor is not None
    space = SearchSpace.of(100, ProducerConfig.parse({"acks": 0}), floor=floor)
    drawn = {Guarantee.of(space.draw(Random(seed))) for seed in range(200)}
    assert all(guarantee.at_least(floor) for guarantee in drawn)
    assert {guarantee.acks for guarantee in drawn} == {0: {0, 1, -1}, 1: {1, -1}, -1: {-1}}[floor.acks]
    assert {guarantee.idempotent for guarantee in drawn} == ({True} if floor.idempotent else {False, True})


def test_the_default_floor_is_the_baselines_guarantee() -> None:
    space = SearchSpace.of(100, ProducerConfig.parse({"acks": 1, "max.in.flight": 1}))
    assert space.floor == Guarantee(1, ordered=True, idempotent=False)
    drawn = [space.draw(Random(seed)) for seed in range(100)]
    assert all(config.idempotent or config.effective_values.integer(IN_FLIGHT) == 1 for config in drawn)


def test_a_space_can_be_pickled() -> None:
    space = SearchSpace.of(100, DEFAULTS, changes={"linger.ms": KnobChange(low=1, high=5)})
    copy = pickle.loads(pickle.dumps(space))
    assert copy == space
    assert hash(copy) == hash(space)
    assert copy.draw(Random(3)) == space.draw(Random(3))


def test_a_value_that_was_not_offered_is_an_error() -> None:
    space = SearchSpace.of(1_000, DEFAULTS)
    params = space.params_of(DEFAULTS)
    assert params is not None
    for wrong in ({IN_FLIGHT: 161}, {"linger.ms": 101.0}, {"linger.ms": "fast"}, {"compression.type": "brotli"}):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            space.draw(Replay({**params, **wrong}))
    with pytest.raises(ValueError, match=r"every parameter.*enable\.idempotence has none"):
        space.draw(Replay({}))


def test_every_knob_is_a_property_with_a_source() -> None:
    space = SearchSpace.of(
        10, DEFAULTS, changes={knob.name: KnobChange() for knob in librdkafka().knobs}, floor=DURABILITY["any"]
    )
    assert {parameter.name for parameter in space.parameters} == {knob.name for knob in librdkafka().knobs}
    for parameter in space.parameters:
        assert parameter.default == DEFAULTS.effective(parameter.sets)
        assert len(parameter.source) > 20
        assert parameter.text


@pytest.mark.parametrize("record_bytes", [1, 2])
def test_tiny_records_on_a_topic_with_large_batches_are_searched(record_bytes: int) -> None:
    space = SearchSpace.of(record_bytes, ProducerConfig.parse({}), topic_max_message_bytes=10_000_000)
    most = {p.name: p.domain.span[1] for p in space.parameters if not isinstance(p.domain, WordList)}
    assert most["batch.num.messages"] == ProducerConfig.parse({}).client.catalogue.find("batch.num.messages").high
