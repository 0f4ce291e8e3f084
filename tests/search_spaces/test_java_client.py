"""The Java client: what is known of its releases, compared with producers that are really constructed."""

import itertools
import json
import pickle
from collections.abc import Mapping
from random import Random as Numbers

import pytest

from scripts.make_java_catalogue import RELEASES as LISTED
from scripts.make_java_catalogue import TARGET, as_json
from search_spaces import (
    DURABILITY,
    Client,
    EmptySpace,
    Guarantee,
    InvalidKnob,
    KnobChange,
    MisplacedProperty,
    ProducerConfig,
    Role,
    RuleBroken,
    SearchSpace,
    UnknownClient,
    UnknownProperty,
    Value,
    check_record,
    client_of,
    java,
    librdkafka,
)
from search_spaces.client_facts.domains import Range
from search_spaces.java_client.limits import MOST_HEAP_BYTES, framing_bytes, heap_bytes_for
from search_spaces.space.choosers import RangeEnds
from tests.helpers.choosers import Random
from tests.helpers.real_java_client import RELEASES, constructed, differences

DEFAULTS = ProducerConfig.parse({}, java())
STRONGEST = Guarantee(acks=-1, ordered=True, idempotent=True)
CONFIGS_PER_RELEASE = 600
RELEASES_TO_TRY = [each if each == "4.3.1" else pytest.param(each, marks=pytest.mark.long) for each in RELEASES]


def test_the_kept_list_has_the_form_of_the_script() -> None:
    kept = json.loads(TARGET.read_text(encoding="utf-8"))
    assert kept["releases"] == list(LISTED)
    assert TARGET.read_text(encoding="utf-8") == as_json(LISTED, kept["properties"])


@pytest.mark.parametrize(
    "said", ["java", "java 3.9.1", "java:3.9.1", {"kind": "java", "version": "3.9.1"}, "librdkafka"]
)
def test_a_client_is_named_in_several_forms_and_pickled_by_its_name(said: object) -> None:
    client = client_of(said)
    assert pickle.loads(pickle.dumps(client)) is client
    assert client_of(client.identity) == client
    assert client.version in client.label


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("kafka-python", "must be librdkafka or java, not 'kafka-python'"),
        ("java 2.7.2", "from 2.8 to 4.3, not 2.7.2"),
        ("java 4.9.0", "from 2.8 to 4.3, not 4.9.0"),
        ({"kind": "java", "version": 3.9}, 'such as version: "3.9.1", not 3.9'),
        ({"kind": "java", "release": "3.9.1"}, "has only kind and version, not release"),
        ({"version": "3.9.1"}, "must be librdkafka, java, or"),
        ({"kind": "java", "version": "3.9"}, "a release of kafka-clients, such as 3.9.1, not '3.9'"),
        (7, "must be librdkafka, java, or"),
    ],
)
def test_an_unknown_client_is_refused(said: object, words: str) -> None:
    with pytest.raises(UnknownClient, match=words.replace(".", r"\.").replace("(", r"\(")):
        client_of(said)


def test_releases_differ_in_their_defaults_and_properties() -> None:
    old, middle, new = (ProducerConfig.parse({}, java(version)) for version in ("2.8.2", "3.9.1", "4.3.1"))
    assert [each.linger_ms for each in (old, middle, new)] == [0, 0, 5]
    assert [Guarantee.of(each).idempotent for each in (old, middle, new)] == [False, True, True]
    assert "compression.zstd.level" not in old.client.catalogue
    assert java("3.9.0").catalogue.find("linger.ms") == middle.client.catalogue.find("linger.ms")
    assert len({each.fingerprint for each in (old, middle, new, ProducerConfig.parse({}))}) == 4


@pytest.mark.parametrize("version", ["3.0.0", "3.1.0"])
def test_two_releases_were_not_idempotent_by_default(version: str) -> None:
    assert not ProducerConfig.parse({}, java(version)).idempotent
    assert ProducerConfig.parse({"enable.idempotence": True}, java(version)).idempotent


def test_an_implicit_conflict_switches_idempotence_off() -> None:
    for values in ({"acks": "1"}, {"retries": 0}):
        assert not ProducerConfig.parse(values, java()).idempotent
        with pytest.raises(RuleBroken, match="idempotent"):
            ProducerConfig.parse({**values, "enable.idempotence": True}, java())
    many = {"max.in.flight.requests.per.connection": 6}
    assert not ProducerConfig.parse(many, java("3.9.1")).idempotent
    with pytest.raises(RuleBroken, match=r"since 4\.0 counts as idempotent"):
        ProducerConfig.parse({**many, "acks": "1"}, java("4.0.1"))


def test_names_of_librdkafka_have_a_hint_and_roles_are_kept() -> None:
    with pytest.raises(UnknownProperty, match=r"the Java client 4\.3\.1 has no property .*use buffer\.memory"):
        ProducerConfig.parse({"queue.buffering.max.kbytes": 1}, java())
    with pytest.raises(MisplacedProperty, match="serializers"):
        ProducerConfig.parse({"key.serializer": "org.example.Avro"}, java())
    roles = {entry.name: entry.role for entry in java().catalogue}
    assert roles["bootstrap.servers"] is Role.CONNECTION
    assert roles["ssl.truststore.password"] is Role.CONNECTION
    assert java().catalogue.find("ssl.truststore.password").secret


def test_leading_zeros_are_decimal_in_java_and_refused_for_librdkafka() -> None:
    assert ProducerConfig.parse({"batch.size": "010000"}, java()).max_batch_bytes == 10_000
    with pytest.raises(ValueError, match="whole decimal number"):
        ProducerConfig.parse({"batch.size": "010000"})


def test_a_record_must_fit_in_a_request_and_in_the_buffer() -> None:
    most = 1_048_576 - framing_bytes(1_048_000, 0)
    check_record(DEFAULTS, most)
    with pytest.raises(RuleBroken, match=r"max\.request\.size to at least 1048577"):
        check_record(DEFAULTS, most + 1)
    with pytest.raises(RuleBroken, match=r"must fit in buffer\.memory"):
        check_record(DEFAULTS.updated({"max.request.size": 200_000, "buffer.memory": 100_000}), 150_000)


def test_configs_of_both_clients_differ() -> None:
    assert ProducerConfig.parse({"acks": "1"}) != ProducerConfig.parse({"acks": "1"}, java())
    assert ProducerConfig.parse({"acks": "1"}).client == librdkafka()


def test_a_space_of_the_java_client_keeps_the_guarantee_of_its_defaults() -> None:
    space = SearchSpace.of(1_000, DEFAULTS)
    for seed in range(200):
        config = space.draw(Random(seed))
        assert Guarantee.of(config) == STRONGEST
        params = space.params_of(config)
        assert params is not None
        assert space.client == java()


def test_the_ends_of_linger_are_reached() -> None:
    changes = {knob.name: KnobChange(off=True) for knob in java().knobs if knob.name != "linger.ms"}
    space = SearchSpace.of(1_000, DEFAULTS, changes=changes)
    assert {config.effective("linger.ms") for config in space.grid(4)} == {"0", "3", "16", "100"}
    assert space.grid_size(4) == 4


@pytest.mark.parametrize(("record_bytes", "key_bytes"), [(1, 0), (10, 0), (10, 16), (47, 0), (1_000, 0)])
def test_the_largest_heap_holds_every_buffer_of_a_space(record_bytes: int, key_bytes: int) -> None:
    space = SearchSpace.of(record_bytes, DEFAULTS, key_bytes=key_bytes, partitions=3)
    high = high_of(space, "buffer.memory")
    assert heap_bytes_for(high, record_bytes, key_bytes) <= MOST_HEAP_BYTES
    assert high == 2**30 or heap_bytes_for(high + 1_000, record_bytes, key_bytes) > MOST_HEAP_BYTES


def test_the_mean_size_of_records_bounds_the_buffer() -> None:
    alike, mixed = SearchSpace.of(10_000, DEFAULTS), SearchSpace.of(10_000, DEFAULTS, mean_record_bytes=20.0)
    assert high_of(alike, "buffer.memory") == 2**30
    assert heap_bytes_for(high_of(mixed, "buffer.memory"), 20.0, 0) <= MOST_HEAP_BYTES


def test_a_space_has_configs_even_if_the_largest_buffer_has_no_room_for_all_partitions() -> None:
    space = SearchSpace.of(1, DEFAULTS, partitions=100_000)
    for seed in range(50):
        space.draw(Random(seed))


@pytest.mark.parametrize("record_bytes", [34_000_000, 60_000_000])
def test_records_larger_than_the_default_buffer_are_searched(record_bytes: int) -> None:
    baseline = DEFAULTS.updated({"buffer.memory": 200_000_000, "max.request.size": 64_000_000})
    space = SearchSpace.of(record_bytes, baseline, topic_max_message_bytes=65_000_000)
    for seed in range(50):
        check_record(space.draw(Random(seed)), record_bytes)
    with pytest.raises(RuleBroken, match=r"must fit in buffer\.memory .*buffer\.memory=1000000"):
        SearchSpace.of(
            record_bytes,
            baseline,
            topic_max_message_bytes=65_000_000,
            changes={"buffer.memory": KnobChange(low=1_000_000, high=200_000_000)},
        )


@pytest.mark.parametrize("change", [KnobChange(low=-1, high=9), KnobChange(choices=("-1", "0", "6"))])
def test_a_range_with_the_level_that_gzip_does_not_have_is_refused(change: KnobChange) -> None:
    with pytest.raises(InvalidKnob, match=r"valid, but got -1.*gzip\.level=0; choose .* without 0"):
        SearchSpace.of(1_000, DEFAULTS, changes={"compression.gzip.level": change})
    SearchSpace.of(1_000, DEFAULTS, changes={"compression.gzip.level": KnobChange(choices=("-1", "1", "6"))})
    SearchSpace.of(1_000, DEFAULTS, changes={"compression.zstd.level": KnobChange(low=-5, high=9)})


@pytest.mark.parametrize("high", [2, 100, 50_000])
def test_a_special_value_is_reached_from_every_range(high: int) -> None:
    space = SearchSpace.of(1_000, DEFAULTS, changes={"send.buffer.bytes": KnobChange(low=-1, high=high)})
    assert {space.draw(Random(seed)).effective("send.buffer.bytes") for seed in range(50)} <= {"-1", str(high)}
    ends = [space.draw(RangeEnds("", "", at_high=at_high)) for at_high in (False, True)]
    assert [each.effective("send.buffer.bytes") for each in ends] == ["-1", str(high)]


def high_of(space: SearchSpace, name: str) -> int:
    (parameter,) = (each for each in space.parameters if each.name == name)
    assert isinstance(parameter.domain, Range)
    return int(parameter.domain.high)


def test_timeouts_that_are_searched_cover_linger_and_request() -> None:
    changes = {
        "delivery.timeout.ms": KnobChange(low=3_000, high=60_000),
        "request.timeout.ms": KnobChange(low=1_000, high=30_000),
        "linger.ms": KnobChange(low=20, high=80),
    }
    space = SearchSpace.of(
        100, DEFAULTS, changes={**changes, "delivery.timeout.ms": KnobChange(low=30_080, high=60_000)}
    )
    for seed in range(300):
        force = space.draw(Random(seed)).effective_values
        assert force.integer("delivery.timeout.ms") >= force.integer("linger.ms") + force.integer("request.timeout.ms")
    with pytest.raises(EmptySpace, match=r"delivery\.timeout\.ms must be at least"):
        SearchSpace.of(100, DEFAULTS, changes={**changes, "delivery.timeout.ms": KnobChange(low=100, high=900)})


def _spaces(client: Client) -> list[SearchSpace]:
    wide = {"acks", "enable.idempotence"}
    asked = {
        knob.name: KnobChange()
        for knob in client.knobs
        if not knob.codec and knob.name not in wide and knob.name != "partitioner.ignore.keys"
    }
    baselines: tuple[dict[str, Value], ...] = (
        {},
        {"acks": "1"},
        {"retries": 0},
        {"reconnect.backoff.ms": 2_000, "delivery.timeout.ms": 31_000},
    )
    return [
        SearchSpace.of(
            record_bytes,
            ProducerConfig.parse(baseline, client),
            key_bytes=key_bytes,
            partitions=partitions,
            changes=changes,
            floor=DURABILITY[floor],
        )
        for record_bytes, baseline, (key_bytes, partitions), changes, floor in itertools.product(
            (10, 1_000, 200_000), baselines, ((0, 6), (16, 1)), ({}, asked), ("baseline", "any")
        )
    ]


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("release", RELEASES_TO_TRY)
def test_the_client_refuses_ignores_and_changes_no_drawn_config(release: str) -> None:
    spaces = _spaces(java(release))
    chosen = Numbers(1)
    configs = [chosen.choice(spaces).draw(Random(seed)) for seed in range(CONFIGS_PER_RELEASE)]
    configs += [point for space in spaces for point in space.starting_points(ProducerConfig.parse({}, space.client))]
    for config, seen in zip(configs, constructed(release, [each.values for each in configs]), strict=True):
        assert isinstance(seen, dict), (config.values, seen)
        assert differences(config, seen) == [], config.values
        assert (seen["#ordered"] == "true") <= Guarantee.of(config).ordered


def conflicting_entries() -> list[dict[str, str]]:
    """Return files of a few properties, with all combinations of values that may conflict."""
    values = {
        "acks": ("0", "1", "all"),
        "retries": ("0", "3"),
        "max.in.flight.requests.per.connection": ("1", "5", "6"),
        "enable.idempotence": ("true", "false"),
        "linger.ms": ("0", "100000"),
        "delivery.timeout.ms": ("30000", "200000"),
    }
    optional = [[{}, *({name: word} for word in words)] for name, words in values.items()]
    return [dict(pair for part in parts for pair in part.items()) for parts in itertools.product(*optional)]


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("release", RELEASES_TO_TRY)
def test_the_client_derives_the_values_that_this_project_states(release: str) -> None:
    """Configs of a few properties that conflict, so that the client refuses them or changes others."""
    client = java(release)
    given = conflicting_entries()
    for each, seen in zip(given, constructed(release, given), strict=True):
        config = _parsed(each, client)
        if config is None or isinstance(seen, str):
            assert config is None
            assert isinstance(seen, str), each
        else:
            assert differences(config, seen) == [], each


def _parsed(values: Mapping[str, str], client: Client) -> ProducerConfig | None:
    """Return the config of these values; None if they break a rule."""
    try:
        return ProducerConfig.parse(values, client)
    except RuleBroken:
        return None
