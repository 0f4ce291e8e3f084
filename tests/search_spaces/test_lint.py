"""Tests of the findings about a producer's properties file."""

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_spaces import Client, ConfigError, Guarantee, ProducerConfig, PropertiesFileError, UnknownClient, java
from search_spaces.client import client_in_version, librdkafka
from search_spaces.client_facts.rules import RuleOutcome
from search_spaces.files.java_file import read_java
from search_spaces.files.producer_file import FileClient, read_producer_file
from search_spaces.files.properties_file import format_properties
from search_spaces.lint.findings import About, LintFinding, LintLevel, LintReport
from search_spaces.lint.linting import lint, lint_file
from search_spaces.lint.load_findings import LintLoad
from tests.helpers.real_java_client import constructed
from tests.helpers.real_librdkafka import Refused, values_in_force
from tests.search_spaces.files.test_producer_file import JAVA_FILES
from tests.search_spaces.test_java_client import conflicting_entries
from tests.search_spaces.test_rules import CONFIGS, TAKEN_IN_SILENCE

STRONGEST = Guarantee(acks=-1, ordered=True, idempotent=True)
# Lines that the clients take or refuse for their spelling alone.
SPELT_FOR_JAVA = [
    ("compression.type=lz4", True),
    ("compression.type= lz4 ", True),
    ("compression.type=LZ4", False),
    ("compression.type=", False),
    ("acks=all ", True),
    ("acks=1", True),
    ("acks=-1", True),
    ("acks=ALL", False),
    ("acks=+1", False),
    ("acks=01", False),
    ("enable.idempotence=TRUE", True),
    ("enable.idempotence=true ", True),
    ("enable.idempotence=1", False),
    ("enable.idempotence=t", False),
    ("enable.idempotence=0", False),
    ("batch.size=+5", True),
    ("batch.size=0016384 ", True),
    ("batch.size=5L", False),
    ("linger.ms=3000000000", True),
    ("linger.ms=9223372036854775808", False),
    ("linger.ms=3000000000\tdelivery.timeout.ms=120000", False),
    ("linger.ms=3000000000\tdelivery.timeout.ms=2147483647", True),
    ("compression.gzip.level=0\tcompression.type=lz4", False),
    ("compression.gzip.level=0\tcompression.type=gzip", False),
    ("compression.gzip.level=-1", True),
    ("compression.lz4.level=0", False),
    ("transactional.id=", False),
    ("transactional.id= ", False),
    ("transactional.id=a", True),
    ("transactional.id=a\tacks=1", False),
    ("transactional.id=a\tenable.idempotence=false", False),
    ("transactional.id=a\tdelivery.timeout.ms=120000\ttransaction.timeout.ms=10", True),
    ("metadata.recovery.strategy=NONE", True),
    ("metrics.recording.level=info", False),
]
SPELT_FOR_LIBRDKAFKA = [
    ("compression.type=LZ4", True),
    ("compression.type= lz4", True),
    ("compression.type=lz4 ", False),
    ("acks=ALL", True),
    ("acks=+1", True),
    ("acks= 1 ", True),
    ("acks=all ", False),
    ("acks= all", False),
    ("enable.idempotence=T", True),
    ("enable.idempotence=1", True),
    ("enable.idempotence=true ", False),
    ("enable.idempotence= true", False),
    ("linger.ms= 5 ", True),
    ("batch.size= 5 ", True),
    ("partitioner= random", True),
    ("partitioner=RANDOM", False),
    ("partitioner=random ", False),
    ("queuing.strategy=FIFO", True),
    ("queuing.strategy=fifo ", False),
    ("transactional.id=\tacks=1", True),
    ("transactional.id=a", True),
    ("transactional.id=a\tacks=1", False),
    ("transactional.id=a\tenable.idempotence=false", False),
    ("transactional.id=a\tdelivery.timeout.ms=60000", True),
    ("transactional.id=a\tdelivery.timeout.ms=0", True),
    ("transactional.id=a\tdelivery.timeout.ms=60001", False),
    ("transactional.id=a\tdelivery.timeout.ms=120000\ttransaction.timeout.ms=120000", True),
    ("transactional.id=a\ttransaction.timeout.ms=10000", True),
    ("transactional.id=a\ttransaction.timeout.ms=999", False),
    ("transactional.id=a\ttransaction.timeout.ms=10000\tsocket.timeout.ms=10100", True),
    ("transactional.id=a\ttransaction.timeout.ms=10000\tsocket.timeout.ms=10101", False),
    ("transactional.id=a\ttransaction.timeout.ms=1000\tlinger.ms=2000", False),
    ("transaction.timeout.ms=10000\tsocket.timeout.ms=60000\tdelivery.timeout.ms=120000", True),
    ("transactional.id=\ttransaction.timeout.ms=10000\tdelivery.timeout.ms=120000", True),
]
# A file as teams have it: 22 keys, some of which are not the producer's own.
TWENTY_TWO = """\
bootstrap.servers=broker-1:9092,broker-2:9092
client.id=orders
key.serializer=org.apache.kafka.common.serialization.StringSerializer
value.serializer=io.confluent.kafka.serializers.KafkaAvroSerializer
schema.registry.url=http://registry:8081
interceptor.classes=com.example.Tracing
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required username="u" password="hunter2";
ssl.truststore.location=/etc/trust.jks
ssl.truststore.password=hunter2
metric.reporters=com.example.Reporter
max.block.ms=60000
acks=1
retries=3
batch.size=262144
linger.ms=5
compression.type=lz4
compression.zstd.level=9
buffer.memory=67108864
max.in.flight.requests.per.connection=5
request.timeout.ms=30000
"""


def of(report: LintReport, key: str, *about: About) -> list[LintFinding]:
    """Return the findings about a key, of some kinds or of all."""
    return [each for each in report.findings if each.key == key and (not about or each.about in about)]


def checked(entries: Mapping[str, str], client: Client | None = None, load: LintLoad | None = None) -> LintReport:
    return lint(entries, client or java(), load)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "producer.properties"


def test_a_file_with_22_keys_is_read_for_the_client_that_it_shows(path: Path) -> None:
    path.write_text(TWENTY_TWO)
    report = lint_file(path, load=LintLoad(1_000, 2_000))
    assert (report.client, report.assumed) == (java(), False)
    assert report.count(LintLevel.ERROR) == 0
    assert report.guarantee == Guarantee(acks=1, ordered=False, idempotent=False)
    (weaker,) = of(report, "acks", About.GUARANTEE)[:1]
    assert weaker.level is LintLevel.WARNING
    assert "switches idempotence off silently" in weaker.sentence
    (idle,) = of(report, "compression.zstd.level")
    assert (idle.level, idle.about, idle.value) == (LintLevel.WARNING, About.IDLE, "9")
    (unreached,) = of(report, "batch.size", About.IDLE)
    assert "at most 11 (4 %) come together in 5 ms at 2,000 records/s" in unreached.sentence
    (default,) = of(report, "linger.ms", About.DEFAULT)
    assert "it was 0 before 4.0" in default.sentence
    (plugin,) = of(report, "schema.registry.url")
    assert (plugin.level, plugin.value) == (LintLevel.HINT, None)
    assert set(report.set_aside) >= {"sasl.jaas.config", "ssl.truststore.password", "key.serializer", "max.block.ms"}
    assert "hunter2" not in repr(report)


def test_findings_are_ordered_from_errors_to_hints() -> None:
    report = checked({"acks": "1", "batch.sise": "1", "linger.ms": "5"})
    levels = [each.level for each in report.findings]
    assert levels == sorted(levels, key=list(LintLevel).index)
    assert set(levels) == set(LintLevel)


def test_acks_all_alone_means_something_else_to_each_client(path: Path) -> None:
    path.write_text("acks=all\n")
    report = lint_file(path)
    assert (report.client, report.assumed) == (librdkafka(), True)
    assert report.guarantee == Guarantee(acks=-1, ordered=False, idempotent=False)
    (hint,) = of(report, "enable.idempotence")
    assert (hint.level, hint.value, hint.given) == (LintLevel.HINT, "false", False)
    for_java = lint_file(path, "java")
    assert (for_java.guarantee, for_java.assumed) == (STRONGEST, False)
    (default,) = of(for_java, "acks")
    assert str(default).startswith("acks=all: is the default")
    assert "it was 1 before 3.0" in default.sentence
    old = lint_file(path, "java", "2.8")
    assert old.guarantee == Guarantee(acks=-1, ordered=False, idempotent=False)
    assert "it is true from 3.0 on" in of(old, "enable.idempotence", About.VERSION)[0].sentence


@pytest.mark.parametrize(
    ("line", "client"),
    [
        ("acks=1", java()),
        ("retries=0", java()),
        ("max.in.flight.requests.per.connection=10", java("3.9.1")),
    ],
)
def test_idempotence_is_switched_off_silently_or_refused(line: str, client: Client) -> None:
    key, _, value = line.partition("=")
    report = checked({key: value}, client)
    weakened = of(report, key, About.GUARANTEE)[0]
    assert (weakened.level, weakened.value) == (LintLevel.WARNING, value)
    assert report.count(LintLevel.ERROR) == 0
    explicit = checked({key: value, "enable.idempotence": "true"}, client)
    (conflict,) = (each for each in explicit.findings if each.level is LintLevel.ERROR)
    assert conflict.about is About.CONFLICT
    assert line in conflict.sentence
    assert "refuses to create the producer" in conflict.sentence
    assert explicit.guarantee is None
    meant = checked({key: value, "enable.idempotence": "false"}, client)
    assert meant.count(LintLevel.WARNING) == meant.count(LintLevel.ERROR) == 0


def test_many_requests_in_flight_are_refused_since_4_0() -> None:
    report = checked({"max.in.flight.requests.per.connection": "10"}, java("4.0.1"))
    (error,) = of(report, "max.in.flight.requests.per.connection", About.CONFLICT)
    assert "since 4.0 counts as idempotent" in error.sentence


def test_two_releases_ignore_their_default() -> None:
    findings = of(checked({}, java("3.0.0")), "enable.idempotence", About.VERSION)
    (finding,) = (each for each in findings if each.level is LintLevel.WARNING)
    assert not finding.given
    assert "KAFKA-13598" in finding.sentence
    assert not of(checked({}, java("3.0.2")), "enable.idempotence", About.GUARANTEE)


@pytest.mark.parametrize(
    ("client", "key", "level", "words"),
    [
        (java(), "batch.sise", LintLevel.ERROR, "did you mean batch.size"),
        (java(), "boostrap.servers", LintLevel.ERROR, "did you mean bootstrap.servers"),
        (java(), "schema.registry.ssl.truststore.location", LintLevel.HINT, "passes it to serializers"),
        (java(), "queue.buffering.max.kbytes", LintLevel.WARNING, "use buffer.memory"),
        (java("3.6.2"), "compression.zstd.level", LintLevel.WARNING, "it exists from 3.8 on"),
        (java(), "auto.include.jmx.reporter", LintLevel.WARNING, "it existed up to 3.9"),
        (librdkafka(), "batch.sise", LintLevel.ERROR, "did you mean batch.size"),
        (librdkafka(), "buffer.memory", LintLevel.ERROR, "use queue.buffering.max.kbytes"),
        (librdkafka(), "key.serializer", LintLevel.ERROR, "librdkafka sends bytes"),
        (librdkafka(), "nobody.knows.this", LintLevel.ERROR, "does not start"),
        (librdkafka(), "fetch.min.bytes", LintLevel.WARNING, "property of consumers"),
        (librdkafka(), "produce.offset.report", LintLevel.WARNING, "no longer uses it"),
        (librdkafka(), "test.mock.num.brokers", LintLevel.WARNING, "mock"),
        (librdkafka(), "dr_msg_cb", LintLevel.ERROR, "only by a call in a program"),
    ],
)
def test_a_name_that_the_client_does_not_read_is_reported_without_its_value(
    client: Client, key: str, level: LintLevel, words: str
) -> None:
    (finding,) = of(checked({key: "5"}, client), key)
    assert (finding.level, finding.value) == (level, None)
    assert words in finding.sentence


@pytest.mark.parametrize(
    ("client", "key", "value"),
    [
        (java(), "linger.ms", "soon"),
        (java(), "compression.type", "zip"),
        (java(), "max.block.ms", "long"),
        (java("3.9.1"), "batch.size", "99999999999"),
        (librdkafka(), "batch.size", "010"),
        (librdkafka(), "linger.ms", "5ms"),
    ],
)
def test_a_value_that_the_client_does_not_take_is_an_error(client: Client, key: str, value: str) -> None:
    report = checked({key: value}, client)
    (error,) = of(report, key)
    assert (error.level, error.about, error.value) == (LintLevel.ERROR, About.VALUE, value)
    assert f"{key} takes " in error.sentence


def test_all_problems_are_reported_together_and_none_twice() -> None:
    entries = {"acks": "7x", "linger.ms": "soon", "batch.sise": "1", "enable.idempotence": "true", "retries": "0"}
    report = checked({**entries, "delivery.timeout.ms": "100"})
    errors = [each.key for each in report.findings if each.level is LintLevel.ERROR]
    # The delivery timeout can't be judged without the linger, and idempotence not without acks.
    assert sorted(errors) == ["acks", "batch.sise", "enable.idempotence", "linger.ms"]


def test_two_names_of_a_property_must_have_the_same_value() -> None:
    same = checked({"linger.ms": "20", "queue.buffering.max.ms": "20"}, librdkafka())
    assert same.count(LintLevel.ERROR) == 0
    report = checked({"linger.ms": "20", "queue.buffering.max.ms": "10"}, librdkafka())
    (error,) = (each for each in report.findings if each.level is LintLevel.ERROR)
    assert "both set linger.ms" in error.sentence


@pytest.mark.parametrize(("rule", "entries"), TAKEN_IN_SILENCE)
def test_what_librdkafka_takes_in_silence_is_a_warning(rule: str, entries: dict[str, str]) -> None:
    (outcome,) = (each.outcome for each in librdkafka().rules if each.name == rule)
    report = checked(entries, librdkafka())
    if rule == "acks-is-none-one-or-all":  # the client takes it, but no broker does
        assert outcome is RuleOutcome.REFUSED
        assert report.count(LintLevel.ERROR) == 1
    else:
        assert outcome is RuleOutcome.IGNORED
        assert report.count(LintLevel.ERROR) == 0
        assert any(each.about is About.IDLE and each.level is LintLevel.WARNING for each in report.findings)


@pytest.mark.parametrize("client", [java(), librdkafka()], ids=lambda client: str(client.kind))
def test_a_transactional_producer_is_idempotent(client: Client) -> None:
    entries = {"transactional.id": "orders-1"}
    assert checked(entries, client).guarantee == STRONGEST
    for wrong in ({"enable.idempotence": "false"}, {"acks": "1"}):
        report = checked({**entries, **wrong}, client)
        (error,) = (each for each in report.findings if each.level is LintLevel.ERROR)
        assert (error.key, error.about) == (next(iter(wrong)), About.CONFLICT)


def entries_of(lines: str) -> dict[str, str]:
    return dict(line.split("=", 1) for line in lines.split("\t"))


@pytest.mark.parametrize(("lines", "taken"), SPELT_FOR_LIBRDKAFKA)
def test_a_line_is_an_error_if_librdkafka_refuses_it(path: Path, lines: str, taken: bool) -> None:
    entries = entries_of(lines)
    try:
        values_in_force(entries, ())
    except Refused:
        assert not taken
    else:
        assert taken
    assert (checked(entries, librdkafka()).count(LintLevel.ERROR) == 0) == taken
    path.write_text(format_properties(entries))
    assert reads(path, FileClient.LIBRDKAFKA) == taken


def test_a_blank_that_nobody_sees_is_named() -> None:
    for key, value in (("compression.type", "lz4 "), ("acks", "all "), ("enable.idempotence", "true ")):
        (error,) = of(checked({key: value}, librdkafka()), key, About.VALUE)
        assert error.sentence.endswith(", without a blank around it")


@pytest.mark.parametrize(("lines", "taken"), SPELT_FOR_JAVA)
def test_a_line_is_an_error_if_java_refuses_it(path: Path, lines: str, taken: bool) -> None:
    entries = entries_of(lines)
    assert (checked(entries).count(LintLevel.ERROR) == 0) == taken
    if "metrics.recording.level" not in entries:  # a baseline's own metrics are not read
        path.write_text(format_properties(entries))
        assert reads(path, FileClient.JAVA) == taken


def reads(path: Path, client: FileClient) -> bool:
    try:
        read_producer_file(path, client)
    except ConfigError:
        return False
    return True


@pytest.mark.long
@pytest.mark.broker
def test_the_real_java_client_refuses_the_same_lines() -> None:
    seen = constructed("4.3.1", [entries_of(lines) for lines, _ in SPELT_FOR_JAVA])
    for (lines, taken), each in zip(SPELT_FOR_JAVA, seen, strict=True):
        assert isinstance(each, dict) == taken, lines


def test_a_linger_that_java_lowers_is_a_warning() -> None:
    report = checked({"linger.ms": "3000000000"})
    (warning,) = of(report, "linger.ms", About.IDLE)
    assert (warning.level, warning.value) == (LintLevel.WARNING, "3000000000")
    assert "lowers it to 2147483647" in warning.sentence
    found = read_java({"linger.ms": "3000000000"})
    assert found.config.effective("linger.ms") == "2147483647"
    assert found.notes == ("lowered linger.ms=3000000000 to 2147483647, as the client does",)


def test_a_level_that_java_refuses_is_an_error_with_every_codec() -> None:
    report = checked({"compression.type": "lz4", "compression.gzip.level": "0"})
    levels = [each.level for each in of(report, "compression.gzip.level")]
    assert levels == [LintLevel.ERROR, LintLevel.WARNING]


@pytest.mark.parametrize("client", [java(), java("2.8.2"), librdkafka()], ids=lambda client: client.identity)
def test_a_transactional_producer_without_idempotence_is_refused_and_nothing_else_is_said(client: Client) -> None:
    report = checked({"transactional.id": "a", "enable.idempotence": "false"}, client)
    (error,) = of(report, "enable.idempotence")
    assert (error.level, error.about) == (LintLevel.ERROR, About.CONFLICT)
    assert "a transactional producer must be idempotent" in error.sentence


def test_the_timeouts_of_a_transactional_producer_follow_its_transactions() -> None:
    entries = {"transactional.id": "a", "transaction.timeout.ms": "90000"}
    names = ("delivery.timeout.ms", "socket.timeout.ms", "enable.idempotence")
    ours = librdkafka().effective_values(entries)
    assert {name: ours.text(name) for name in ("socket.timeout.ms", "enable.idempotence")} == values_in_force(
        entries, ("socket.timeout.ms", "enable.idempotence")
    )
    assert [ours.text(name) for name in names] == ["90000", "89900", "true"]
    (default,) = of(checked({**entries, "delivery.timeout.ms": "90000"}, librdkafka()), "delivery.timeout.ms")
    assert "does nothing" in default.sentence
    assert not of(checked({**entries, "delivery.timeout.ms": "80000"}, librdkafka()), "delivery.timeout.ms")


def test_a_line_that_keeps_the_default_of_another_version_of_librdkafka_does_something() -> None:
    report = checked({"socket.nagle.disable": "true"}, librdkafka())
    assert "it was false before 2.10" in of(report, "socket.nagle.disable", About.DEFAULT)[0].sentence
    assert "it was 250 before 2.3" in of(report, "topic.metadata.refresh.fast.interval.ms", About.VERSION)[0].sentence


@pytest.mark.parametrize(
    "line", ["group.id=app", "auto.offset.reset=earliest", "enable.auto.commit=false", "isolation.level=read_committed"]
)
def test_a_line_of_a_consumer_shows_no_client(path: Path, line: str) -> None:
    path.write_text(f"{line}\nlinger.ms=20\n")
    assert lint_file(path).assumed
    path.write_text(f"{line}\nlinger.ms=20\nstatistics.interval.ms=1000\n")
    assert (lint_file(path).client, lint_file(path).assumed) == (librdkafka(), False)
    path.write_text(f"{line}\nlinger.ms=20\nvalue.serializer=com.example.Ours\n")
    assert (lint_file(path).client, lint_file(path).assumed) == (java(), False)


def test_a_partitioner_of_the_users_is_fine() -> None:
    entries = {"partitioner.class": "com.example.Ours", "partitioner.ignore.keys": "true"}
    report = checked(entries)
    assert not of(report, "partitioner.class")
    (idle,) = of(report, "partitioner.ignore.keys")
    assert idle.level is LintLevel.WARNING


def test_a_level_needs_its_codec() -> None:
    report = checked({"compression.type": "zstd", "compression.zstd.level": "9"})
    assert not of(report, "compression.zstd.level")
    entries = {"compression.type": "snappy", "compression.level": "3"}
    (warning,) = of(checked(entries, librdkafka()), "compression.level")
    assert "which has no levels" in warning.sentence


def test_a_default_that_is_written_out_does_nothing_or_protects() -> None:
    entries = {"compression.type": "none", "linger.ms": "0", "enable.idempotence": "true"}
    report = checked(entries, java("3.9.1"))
    assert "does nothing" in of(report, "compression.type", About.DEFAULT)[0].sentence
    assert "it is 5 from 4.0 on" in of(report, "linger.ms", About.DEFAULT)[0].sentence
    assert "refuses values" in of(report, "enable.idempotence", About.DEFAULT)[0].sentence
    assert not of(checked({"linger.ms": "0"}, java("4.0.1")), "linger.ms", About.DEFAULT)


def test_memory_is_that_of_a_full_queue() -> None:
    (java_memory,) = of(checked({"buffer.memory": "67108864"}), "buffer.memory", About.MEMORY)
    assert "67.1 MB of the Java heap" in java_memory.sentence
    assert "4,096 partitions" in java_memory.sentence
    (sized,) = of(checked({}, load=LintLoad(10)), "buffer.memory", About.MEMORY)
    assert "objects of its records of 10 B take another" in sized.sentence
    (memory,) = of(checked({}, librdkafka()), "queue.buffering.max.kbytes", About.MEMORY)
    assert "1.1 GB of keys and values, and 232 B for each of up to 100,000 records" in memory.sentence
    (full,) = of(checked({}, librdkafka(), LintLoad(100)), "queue.buffering.max.kbytes", About.MEMORY)
    assert "33.2 MB: 100,000 records of 100 B" in full.sentence


@pytest.mark.parametrize(
    ("entries", "record_bytes", "words"),
    [
        ({"max.request.size": "60000000", "buffer.memory": "60000000"}, 50_000_000, "the open batch of 1 partition,"),
        ({"max.request.size": "60000000"}, 30_000_000, "the open batch of 1 partition,"),
        ({"batch.size": "1000"}, 100_000, "the open batches of 335 partitions,"),
        ({"batch.size": "0"}, 1_000, None),
        ({"batch.size": "0"}, None, None),
        ({}, 50_000_000, None),
    ],
)
def test_a_large_record_takes_more_of_the_buffer_than_a_batch(
    entries: dict[str, str], record_bytes: int | None, words: str | None
) -> None:
    load = None if record_bytes is None else LintLoad(record_bytes)
    (memory,) = of(checked(entries, load=load), "buffer.memory", About.MEMORY)
    if words is None:
        assert "partition" not in memory.sentence
    else:
        assert words in memory.sentence


def test_findings_say_what_lines_mean_at_a_size_and_a_rate() -> None:
    load = LintLoad(1_000, 20_000)
    entries = {"linger.ms": "5", "batch.size": "200000", "max.in.flight.requests.per.connection": "5"}
    report = checked(entries, load=load)
    (linger,) = of(report, "linger.ms", About.LOAD)
    assert "fills 51 % of a batch: 101 records of 1,000 B of 198 at 20,000 records/s" in linger.sentence
    assert "waits 5 ms" in linger.sentence
    (in_flight,) = of(report, "max.in.flight.requests.per.connection", About.LOAD)
    assert "answers each request within 49.5 ms" in in_flight.sentence
    (queue,) = of(report, "buffer.memory", About.LOAD)
    assert "enough for 1.7 s" in queue.sentence
    assert "send() waits" in queue.sentence
    full = checked({"linger.ms": "20", "batch.size": "16384"}, load=load)
    assert "no batch waits this long: it is full after 0.75 ms" in of(full, "linger.ms", About.LOAD)[0].sentence
    assert not of(full, "batch.size", About.IDLE)
    none = checked({"linger.ms": "0"}, load=load)
    assert "a record comes every 0.05 ms" in of(none, "linger.ms", About.LOAD)[0].sentence


def test_a_default_that_matters_is_explained_too() -> None:
    report = checked({"acks": "all"}, load=LintLoad(1_000, 20_000))
    (linger,) = of(report, "linger.ms", About.LOAD)
    assert str(linger).startswith("linger.ms=5 (default): ")


def test_a_limit_that_is_never_reached_first_does_nothing() -> None:
    entries = {"queue.buffering.max.kbytes": "1048576", "batch.size": "1000000"}
    report = checked(entries, librdkafka(), LintLoad(10, 1e6))
    assert "queue.buffering.max.messages=100000 is reached first" in (
        of(report, "queue.buffering.max.kbytes", About.IDLE)[0].sentence
    )
    assert of(report, "queue.buffering.max.messages", About.LOAD)
    many = checked({"batch.num.messages": "100000"}, librdkafka(), LintLoad(1_000, 1e6))
    assert "batch.size=1000000 is reached first" in of(many, "batch.num.messages", About.IDLE)[0].sentence


@pytest.mark.parametrize(
    ("client", "key"), [(java(), "max.request.size"), (librdkafka(), "message.max.bytes")], ids=["java", "librdkafka"]
)
def test_a_record_that_is_too_large_is_an_error(client: Client, key: str) -> None:
    report = checked({}, client, LintLoad(2_000_000, 10))
    (error,) = (each for each in report.findings if each.level is LintLevel.ERROR)
    assert (error.key, error.about) == (key, About.LOAD)
    assert report.guarantee is None


@pytest.mark.parametrize(
    ("record_bytes", "rate", "words"),
    [
        (0, None, "record size takes 1 to"),
        (1, 0.0, "rate takes 0.001 to"),
        (1, float("nan"), "not nan"),
        (1, 1e12, "not 1000000000000.0"),
    ],
)
def test_a_load_out_of_range_is_refused(record_bytes: int, rate: float | None, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        LintLoad(record_bytes, rate)


@pytest.mark.parametrize(
    ("said", "version", "label"),
    [
        ("java", "3.6", "java 3.6.2"),
        ("java", "3.6.1", "java 3.6.1"),
        ("java:3.9", None, "java 3.9.1"),
        ("java", None, "java 4.3.1"),
        ("librdkafka", "2.16", "librdkafka 2.16.0"),
    ],
)
def test_a_version_may_be_a_minor_one(said: str, version: str | None, label: str) -> None:
    client = client_in_version(said, version)
    assert f"{client.kind} {client.version}" == label


@pytest.mark.parametrize(
    ("said", "version", "words"),
    [
        ("java", "abc", "must be a release of kafka-clients"),
        ("java", "2.5", "from 2.8 to 4.3"),
        ("java", "9.9", "from 2.8 to 4.3"),
        ("java:3.9", "3.6", "one version"),
        ("librdkafka", "1.9", "must be 2.16.0"),
        ("kafka-python", None, "must be librdkafka or java"),
        ("kafka-python", "2", "must be librdkafka or java"),
    ],
)
def test_a_version_that_is_not_known_is_refused(said: str, version: str | None, words: str) -> None:
    with pytest.raises(UnknownClient, match=re.escape(words)):
        client_in_version(said, version)


def test_a_file_that_cant_be_read_is_refused(path: Path) -> None:
    with pytest.raises(PropertiesFileError, match="must be readable"):
        lint_file(path)
    with pytest.raises(PropertiesFileError, match="must be readable"):
        lint_file(path.parent)


def test_every_changed_default_is_the_default_of_its_version() -> None:
    for change in java().default_changes:
        release = client_in_version("java", change.since)
        assert release.catalogue.find(change.name).default == change.after
    assert {change.name for change in java().default_changes} >= {"acks", "enable.idempotence", "linger.ms"}
    for change in librdkafka().default_changes:
        assert librdkafka().catalogue.find(change.name).default == change.after


@settings(deadline=None)
@given(JAVA_FILES, st.sampled_from(["2.8.2", "3.6.2", "4.3.1"]), st.integers(1, 10**6), st.floats(0.001, 1e9))
def test_a_java_file_without_errors_can_be_used(
    entries: dict[str, str], version: str, record_bytes: int, rate: float
) -> None:
    client = java(version)
    report = lint(entries, client)
    lint(entries, client, LintLoad(record_bytes, rate))
    if report.count(LintLevel.ERROR):
        assert report.guarantee is None
        with pytest.raises(ConfigError):
            ProducerConfig.parse(read_java(entries, client).values, client)
    else:
        assert report.guarantee == Guarantee.of(read_java(entries, client).config)


@settings(deadline=None)
@given(CONFIGS, st.integers(1, 10**6), st.floats(0.001, 1e9))
def test_a_librdkafka_file_without_errors_and_warnings_can_be_used(
    entries: dict[str, str], record_bytes: int, rate: float
) -> None:
    report = lint(entries, librdkafka())
    lint(entries, librdkafka(), LintLoad(record_bytes, rate))
    try:
        config = ProducerConfig.parse(entries)
    except ConfigError:
        assert report.count(LintLevel.ERROR) + report.count(LintLevel.WARNING)
    else:
        assert report.count(LintLevel.ERROR) + report.count(LintLevel.WARNING) == 0
        assert report.guarantee == Guarantee.of(config)


@settings(max_examples=200, deadline=None)
@given(CONFIGS)
def test_what_the_real_librdkafka_refuses_is_an_error(entries: dict[str, str]) -> None:
    report = lint(entries, librdkafka())
    try:
        values_in_force(entries, ())
    except Refused:
        assert report.count(LintLevel.ERROR)
    else:  # brokers refuse other numbers, but the client does not
        assert report.count(LintLevel.ERROR) == (entries.get("acks", "-1") not in ("-1", "0", "1"))


@pytest.mark.long
@pytest.mark.broker
@pytest.mark.parametrize("release", ["3.9.1", "4.3.1"])
def test_what_the_real_java_client_refuses_is_an_error_and_what_it_switches_off_a_warning(release: str) -> None:
    files = conflicting_entries()
    for entries, seen in zip(files, constructed(release, files), strict=True):
        report = lint(entries, java(release))
        if isinstance(seen, str):
            assert report.count(LintLevel.ERROR), entries
            continue
        assert report.count(LintLevel.ERROR) == 0, entries
        assert report.guarantee is not None
        assert report.guarantee.idempotent == (seen["#idempotent"] == "true"), entries
        silent = seen["#idempotent"] == "false" and "enable.idempotence" not in entries
        assert silent == any(
            each.about is About.GUARANTEE and each.level is LintLevel.WARNING for each in report.findings
        )


def test_idempotence_that_is_switched_off_in_words_is_no_protection() -> None:
    (found,) = of(checked({"acks": "1", "enable.idempotence": "false"}, java()), "enable.idempotence", About.DEFAULT)
    assert "switches idempotence off" in found.sentence
