"""Tests of reading a producer's own properties file, for librdkafka or for Java."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Guarantee, translate_to_java
from search_spaces.errors import ConfigProblems
from search_spaces.from_java import JavaProducer, translate_from_java
from search_spaces.producer_file import FileClient, ProducerFile, read_producer_file

STRONGEST = Guarantee(acks=-1, ordered=True, idempotent=True)
JAVA_FILE = """\
bootstrap.servers=broker-1:9092
client.id=orders
key.serializer=org.apache.kafka.common.serialization.StringSerializer
value.serializer=io.confluent.kafka.serializers.KafkaAvroSerializer
schema.registry.url=http://registry:8081
interceptor.classes=com.example.Tracing
security.protocol=SASL_SSL
sasl.mechanism=PLAIN
sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required username="u" password="hunter2";
ssl.truststore.location=/etc/trust.jks
ssl.truststore.password=hunter2
metric.reporters=com.example.Reporter
max.block.ms=60000
acks=all
batch.size=65536
linger.ms=20
compression.type=lz4
buffer.memory=67108864
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "producer.properties"


def read(path: Path, text: str, client: FileClient = FileClient.AUTO) -> ProducerFile:
    path.write_text(text, encoding="utf-8")
    return read_producer_file(path, client)


def test_a_java_file_is_accepted_with_the_guarantee_that_java_gives(path: Path) -> None:
    file = read(path, JAVA_FILE)
    assert Guarantee.of(file.config) == STRONGEST
    assert file.config.effective("batch.size") == "65536"
    assert file.config.effective("linger.ms") == "20"
    assert file.config.effective("queue.buffering.max.kbytes") == "65536"
    assert file.config.effective("max.in.flight") == "5"
    exported = translate_to_java(file.config).properties
    assert (exported["enable.idempotence"], exported["acks"]) == ("true", "all")
    assert exported["buffer.memory"] == "67108864"
    assert exported["max.in.flight.requests.per.connection"] == "5"


def test_what_is_set_aside_is_named_without_its_value(path: Path) -> None:
    notes = " ".join(read(path, JAVA_FILE).notes)
    for name in ("bootstrap.servers", "value.serializer", "interceptor.classes", "sasl.jaas.config", "max.block.ms"):
        assert name in notes
    for value in ("hunter2", "broker-1", "com.example", "registry:8081"):
        assert value not in notes
    assert "for the Java producer" in notes


def test_a_file_for_librdkafka_may_have_connection_properties(path: Path) -> None:
    text = "bootstrap.servers=b:9092\nsasl.password=hunter2\nclient.id=x\nqueue.buffering.max.messages=5000\nacks=1\n"
    file = read(path, text)
    assert dict(file.values) == {"queue.buffering.max.messages": "5000", "acks": "1"}
    (note,) = file.notes
    assert note.endswith("bootstrap.servers, sasl.password, client.id")


@pytest.mark.parametrize("first", ["key.serializer=a.B\n", "queue.buffering.max.messages=100000\n"])
def test_all_problems_of_a_file_are_told_at_once(path: Path, first: str) -> None:
    with pytest.raises(ConfigProblems) as caught:
        read(path, f"{first}acks=7x\nlinger.ms=soon\nbatch.sise=100\nretries=-1\n")
    assert len(caught.value.problems) == 4
    assert all(name in str(caught.value) for name in ("acks", "linger.ms", "batch.size", "retries"))


def test_all_broken_rules_of_a_file_are_told_at_once(path: Path) -> None:
    with pytest.raises(ConfigProblems) as caught:
        read(path, "enable.idempotence=true\nacks=1\nretries=0\n", FileClient.LIBRDKAFKA)
    assert len(caught.value.problems) == 2


def test_a_file_that_names_no_client_stays_librdkafkas_and_says_so(path: Path) -> None:
    file = read(path, "acks=all\n")
    assert not file.config.idempotent
    assert any("baseline_client: java" in note for note in file.notes)
    assert Guarantee.of(read(path, "acks=all\n", FileClient.JAVA).config) == STRONGEST


def test_a_java_knob_in_a_file_for_librdkafka_is_a_problem(path: Path) -> None:
    with pytest.raises(ConfigProblems, match=r"queue\.buffering\.max\.kbytes"):
        read(path, "queue.buffering.max.messages=5000\nbuffer.memory=1000000\n")


@pytest.mark.parametrize("client", FileClient)
def test_a_transactional_producer_is_idempotent(path: Path, client: FileClient) -> None:
    assert Guarantee.of(read(path, "transactional.id=orders-1\n", client).config) == STRONGEST


@pytest.mark.parametrize("line", ["acks=1", "retries=0", "max.in.flight.requests.per.connection=10"])
def test_java_gives_idempotence_up_only_if_it_was_not_asked_for(line: str) -> None:
    entries = dict([line.split("=")])
    assert not JavaProducer.parse(entries).guarantee.idempotent
    with pytest.raises(ConfigProblems, match="idempotent Java producer"):
        JavaProducer.parse({**entries, "enable.idempotence": "true"})


def test_java_refuses_a_delivery_timeout_that_is_too_short() -> None:
    with pytest.raises(ConfigProblems, match=r"100 is less than 30005"):
        JavaProducer.parse({"delivery.timeout.ms": "100"})
    assert JavaProducer.parse({"request.timeout.ms": "200000"}).numbers["delivery.timeout.ms"] == 200_005


def numbers(low: int, high: int) -> st.SearchStrategy[str]:
    return st.integers(low, high).map(str)


INT_MAX = 2**31 - 1
JAVA_FILES = st.fixed_dictionaries(
    {},
    optional={
        "acks": st.sampled_from(["0", "1", "all", "-1"]),
        "retries": numbers(0, INT_MAX) | st.just("0"),
        "max.in.flight.requests.per.connection": numbers(1, 10) | numbers(1, INT_MAX),
        "batch.size": numbers(0, INT_MAX),
        "buffer.memory": numbers(0, 2**63 - 1) | numbers(0, 10**8),
        "max.request.size": numbers(0, INT_MAX),
        "linger.ms": numbers(0, 10_000) | numbers(0, 2**63 - 1),
        "request.timeout.ms": numbers(0, INT_MAX),
        "compression.type": st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
        "compression.gzip.level": numbers(1, 9) | st.just("-1"),
        "compression.lz4.level": numbers(1, 17),
        "compression.zstd.level": numbers(-131072, 22),
        "send.buffer.bytes": numbers(-1, INT_MAX),
        "receive.buffer.bytes": numbers(-1, INT_MAX),
        "retry.backoff.ms": numbers(0, 2**63 - 1),
        "retry.backoff.max.ms": numbers(0, 2**63 - 1),
        "reconnect.backoff.ms": numbers(0, 2**63 - 1),
        "reconnect.backoff.max.ms": numbers(0, 2**63 - 1),
        "metadata.max.age.ms": numbers(0, 2**63 - 1),
        "connections.max.idle.ms": numbers(-1, 2**63 - 1),
        "socket.connection.setup.timeout.ms": numbers(0, 2**63 - 1),
        "partitioner.ignore.keys": st.sampled_from(["true", "false"]),
    },
)


@given(JAVA_FILES)
def test_a_translation_is_never_weaker_than_the_java_file(entries: dict[str, str]) -> None:
    java = JavaProducer.parse(entries)
    config, _ = translate_from_java(java)
    assert Guarantee.of(config).at_least(java.guarantee)
    back = JavaProducer.parse(translate_to_java(config).properties)
    assert back.guarantee.at_least(java.guarantee)


@given(JAVA_FILES)
def test_the_way_to_librdkafka_and_back_keeps_the_values(entries: dict[str, str]) -> None:
    java = JavaProducer.parse(entries)
    back = JavaProducer.parse(translate_to_java(translate_from_java(java)[0]).properties)
    assert back.words["acks"] == java.words["acks"]
    assert back.words["enable.idempotence"] == java.words["enable.idempotence"]
    assert back.words["compression.type"] == java.words["compression.type"]
    # librdkafka's ranges are narrower.
    assert back.numbers["batch.size"] == min(10**9, max(1, java.numbers["batch.size"]))
    assert back.numbers["linger.ms"] == min(900_000, java.numbers["linger.ms"])
    name = f"compression.{java.words['compression.type']}.level"
    highest = 12
    if name == "compression.gzip.level":
        assert back.numbers[name] == java.numbers[name]
    elif name == "compression.lz4.level":
        level = java.numbers[name]
        assert back.numbers[name] == (level if level == 9 else min(highest, max(3, level)))
    elif name == "compression.zstd.level":
        level = java.numbers[name]
        assert back.numbers[name] == (3 if level == 0 else min(highest, max(1, level)))
