"""Tests of reading a producer's own properties file, for librdkafka or for Java."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import Guarantee, ProducerConfig, java, translate_to_java
from search_spaces.errors import ConfigProblems
from search_spaces.files.java_file import read_java
from search_spaces.files.producer_file import FileClient, ProducerFile, read_producer_file
from search_spaces.translation.from_java import translate_from_java

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
def test_all_problems_of_a_file_are_reported_together(path: Path, first: str) -> None:
    with pytest.raises(ConfigProblems) as caught:
        read(path, f"{first}acks=7x\nlinger.ms=soon\nbatch.sise=100\nretries=-1\n")
    assert len(caught.value.problems) == 4
    assert all(name in str(caught.value) for name in ("acks", "linger.ms", "batch.size", "retries"))


def test_all_broken_rules_of_a_file_are_reported_together(path: Path) -> None:
    with pytest.raises(ConfigProblems) as caught:
        read(path, "enable.idempotence=true\nacks=1\nretries=0\n", FileClient.LIBRDKAFKA)
    assert len(caught.value.problems) == 2


def test_a_file_that_names_no_client_stays_librdkafkas_and_says_so(path: Path) -> None:
    file = read(path, "acks=all\n")
    assert not file.config.idempotent
    assert file.notes[-1].endswith("; if the file is for the Java producer, add its key.serializer line")
    advised = read_producer_file(path, advice="give --file-client java").notes[-1]
    assert advised.endswith("add its key.serializer line, or give --file-client java")
    assert Guarantee.of(read(path, "acks=all\n", FileClient.JAVA).config) == STRONGEST


def test_a_consumer_property_does_not_turn_a_java_file_into_a_librdkafka_file(path: Path) -> None:
    serializers = "key.serializer=a.B\nvalue.serializer=a.B\n"
    shared = "bootstrap.servers=b:9092\ngroup.id=app\nlinger.ms=20\nbatch.size=65536\n"
    file = read(path, serializers + shared)
    assert Guarantee.of(file.config) == STRONGEST
    assert any("is for the Java producer" in note for note in file.notes)
    unclear = read(path, shared)
    assert any("if the file is for the Java producer" in note for note in unclear.notes)


def test_an_empty_transactional_id_is_none_for_librdkafka_and_refused_by_java(path: Path) -> None:
    file = read(path, "transactional.id=\nacks=1\n", FileClient.LIBRDKAFKA)
    assert (dict(file.values), file.transaction_timeout_ms) == ({"acks": "1"}, None)
    with pytest.raises(ConfigProblems, match=r"transactional\.id takes text that is not empty"):
        read(path, "transactional.id=\n", FileClient.JAVA)


def test_a_java_knob_in_a_file_for_librdkafka_is_a_problem(path: Path) -> None:
    with pytest.raises(ConfigProblems, match=r"queue\.buffering\.max\.kbytes"):
        read(path, "queue.buffering.max.messages=5000\nbuffer.memory=1000000\n")


@pytest.mark.parametrize("client", FileClient)
def test_a_transactional_producer_is_idempotent(path: Path, client: FileClient) -> None:
    assert Guarantee.of(read(path, "transactional.id=orders-1\n", client).config) == STRONGEST


@pytest.mark.parametrize("line", ["acks=1", "retries=0", "max.in.flight.requests.per.connection=10"])
def test_java_switches_idempotence_off_only_if_it_was_not_asked_for(line: str) -> None:
    entries = dict([line.split("=")])
    assert not read_java(entries).config.idempotent
    with pytest.raises(ConfigProblems, match="an idempotent producer"):
        read_java({**entries, "enable.idempotence": "true"})


def test_a_file_with_many_requests_in_flight_is_for_an_older_client_unless_one_is_named() -> None:
    entries = {"max.in.flight.requests.per.connection": "10"}
    assert read_java(entries).client == java("3.9.1")
    for named in (java("4.0.1"), java()):
        with pytest.raises(ConfigProblems, match=r"since 4\.0 counts as idempotent"):
            read_java(entries, named)


def test_a_file_that_the_measured_client_refuses_is_not_read_for_an_older_one(path: Path) -> None:
    path.write_text("max.in.flight.requests.per.connection=10\n")
    with pytest.raises(ConfigProblems, match=r"since 4\.0 counts as idempotent"):
        read_producer_file(path, FileClient.JAVA, java())
    assert read_producer_file(path, FileClient.JAVA, java("3.9.1")).client == java("3.9.1")


def test_what_has_no_effect_is_left_out_and_named() -> None:
    entries = {"compression.type": "lz4", "compression.zstd.level": "9", "partitioner.class": "com.example.Ours"}
    found = read_java(entries)
    assert found.config.values == {"compression.type": "lz4"}
    assert [sentence.split(":")[0] for sentence in found.notes] == [
        "left out partitioner.class=com.example.Ours",
        "left out compression.zstd.level=9",
    ]


def test_a_file_is_read_for_the_client_that_is_measured(path: Path) -> None:
    path.write_text(JAVA_FILE, encoding="utf-8")
    file = read_producer_file(path, client=java("3.9.1"))
    assert file.config == ProducerConfig.parse(
        {"acks": "all", "batch.size": 65536, "linger.ms": 20, "compression.type": "lz4", "buffer.memory": 67108864},
        java("3.9.1"),
    )
    (note,) = file.notes
    assert "key.serializer" in note
    path.write_text("acks=all\n", encoding="utf-8")
    file = read_producer_file(path, client=java())
    assert (file.config.idempotent, file.notes) == (True, ())


def test_a_file_of_librdkafka_is_translated_for_the_java_client(path: Path) -> None:
    path.write_text("queue.buffering.max.kbytes=65536\nlinger.ms=0.5\ncompression.level=5\ncompression.type=zstd\n")
    file = read_producer_file(path, client=java())
    assert Guarantee.of(file.config) == Guarantee(acks=-1, ordered=False, idempotent=False)
    assert file.config.queue_bytes == 65536 * 1024
    assert file.config.effective("compression.zstd.level") == "5"
    assert any("translated to the Java client 4.3.1" in note for note in file.notes)
    file = read_producer_file(path, client=java("3.6.2"))
    assert any("has no compression.zstd.level" in note for note in file.notes)


def test_java_refuses_a_delivery_timeout_that_is_too_short() -> None:
    with pytest.raises(ConfigProblems, match=r"delivery\.timeout\.ms=100, linger\.ms=5 \(default\)"):
        read_java({"delivery.timeout.ms": "100"})
    assert read_java({"request.timeout.ms": "200000"}).config.effective("delivery.timeout.ms") == "200005"


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
        "linger.ms": numbers(0, 10_000) | numbers(0, INT_MAX),
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


def works(entries: dict[str, str]) -> bool:
    """Return whether the producer can send at all: its batches must fit in its buffer."""
    return int(entries.get("batch.size", "16384")) <= int(entries.get("buffer.memory", "33554432"))


@given(JAVA_FILES.filter(works))
def test_a_translation_is_never_weaker_than_the_java_file(entries: dict[str, str]) -> None:
    given_config = read_java(entries).config
    config, _ = translate_from_java(given_config)
    assert Guarantee.of(config).at_least(Guarantee.of(given_config))
    back = ProducerConfig.parse(translate_to_java(config).properties, java())
    assert Guarantee.of(back).at_least(Guarantee.of(given_config))


@given(JAVA_FILES.filter(works))
def test_a_translation_to_librdkafka_and_back_keeps_the_values(entries: dict[str, str]) -> None:
    there = read_java(entries).config.effective_values
    back = ProducerConfig.parse(
        translate_to_java(translate_from_java(read_java(entries).config)[0]).properties, java()
    ).effective_values
    for name in ("acks", "enable.idempotence", "compression.type"):
        assert back.text(name) == there.text(name)
    # librdkafka's ranges are narrower.
    assert back.integer("batch.size") == min(10**9, max(1, there.integer("batch.size")))
    assert back.integer("linger.ms") == min(900_000, there.integer("linger.ms"))
    codec = there.text("compression.type")
    highest = 12
    if codec in ("none", "snappy"):
        return
    level, now = (each.integer(f"compression.{codec}.level") for each in (there, back))
    if codec == "gzip":
        assert now == level
    elif codec == "lz4":
        assert now == (level if level == 9 else min(highest, max(3, level)))
    else:
        assert now == (3 if level == 0 else min(highest, max(1, level)))
