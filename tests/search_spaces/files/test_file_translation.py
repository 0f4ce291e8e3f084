"""Tests of the translation of a whole file, property by property."""

import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from search_spaces import ConfigError, Guarantee, ProducerConfig, PropertiesFileError, UnknownClient, java, librdkafka
from search_spaces.client import ClientKind
from search_spaces.errors import ConfigProblems
from search_spaces.files.file_translation import FileTranslation, TranslatedProperty, translate_file
from search_spaces.files.producer_file import FileClient, read_producer_file
from search_spaces.files.properties_file import format_properties
from search_spaces.translation.to_java import translate_to_java
from tests.helpers.real_librdkafka import values_in_force
from tests.search_spaces.files.test_producer_file import JAVA_FILE, JAVA_FILES, works
from tests.search_spaces.test_rules import CONFIGS

RELEASES = ("2.8.2", "3.6.2", "3.9.1", "4.3.1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "producer.properties"


def row(translation: FileTranslation, name: str) -> TranslatedProperty:
    (found,) = (each for each in translation.rows if each.name == name)
    return found


def test_a_file_of_librdkafka_becomes_one_for_java(path: Path) -> None:
    path.write_text("linger.ms=0.5\nqueue.buffering.max.kbytes=65536\nbatch.num.messages=500\n")
    translation = translate_file(path)
    assert (translation.source.client, translation.target.client) == (librdkafka(), java())
    linger = row(translation, "linger.ms")
    assert (linger.value, linger.twin_value, linger.given, linger.written) == ("0.5", "1", True, True)
    queue = row(translation, "queue.buffering.max.kbytes")
    assert (queue.twin, queue.twin_value) == ("buffer.memory", str(65536 * 1024))
    assert translation.without_twin == ("batch.num.messages",)
    assert "has no counterpart" in row(translation, "batch.num.messages").note
    idempotence = row(translation, "enable.idempotence")
    assert (idempotence.given, idempotence.twin_value) == (False, "false")
    assert "the default of the Java client 4.3.1 is true" in idempotence.note
    acks = row(translation, "acks")
    assert (acks.value, acks.twin_value) == ("all", "all")
    assert "the guarantee depends on it" in acks.note
    assert translation.properties["acks"] == "all"
    before, after = translation.guarantees
    assert before == after == Guarantee(acks=-1, ordered=False, idempotent=False)


def test_a_file_of_java_becomes_one_for_librdkafka(path: Path) -> None:
    path.write_text(JAVA_FILE)
    translation = translate_file(path)
    assert (translation.source.client, translation.target.client) == (java(), librdkafka())
    assert translation.guarantees == (Guarantee(-1, ordered=True, idempotent=True),) * 2
    assert row(translation, "buffer.memory").twin == "queue.buffering.max.kbytes"
    assert row(translation, "enable.idempotence").twin_value == "true"
    assert "hunter2" not in repr(translation)
    assert any("sasl.jaas.config" in note for note in translation.notes)


@pytest.mark.parametrize("transaction_ms", [None, 1_000, 10_000, 60_000, 200_000, 900_000])
@pytest.mark.parametrize("lines", ["", "request.timeout.ms=120000\n", "linger.ms=70000\ndelivery.timeout.ms=400000\n"])
def test_librdkafka_accepts_the_translation_of_a_transactional_file(
    path: Path, lines: str, transaction_ms: int | None
) -> None:
    timeout = {} if transaction_ms is None else {"transaction.timeout.ms": str(transaction_ms)}
    path.write_text(f"transactional.id=a\n{lines}" + "".join(f"{name}={value}\n" for name, value in timeout.items()))
    translation = translate_file(path, FileClient.JAVA)
    values_in_force({"transactional.id": "a", **timeout, **translation.properties}, ())
    longest_ms = transaction_ms or 60_000
    assert int(translation.target.effective("delivery.timeout.ms")) <= longest_ms
    lowered = [note for note in translation.notes if "take delivery.timeout.ms" in note]
    assert bool(lowered) == (longest_ms < int(translation.source.effective("delivery.timeout.ms")))
    assert all(f"transaction.timeout.ms={longest_ms}" in note for note in lowered)


@pytest.mark.parametrize(
    ("lines", "delivery_ms"),
    [
        ("", "60000"),
        ("transaction.timeout.ms=90000\n", "90000"),
        ("transaction.timeout.ms=10000\n", "10000"),
        ("delivery.timeout.ms=50000\n", "50000"),
        ("delivery.timeout.ms=0\n", str(2**31 - 1)),
    ],
)
def test_a_transactional_file_of_librdkafka_keeps_its_delivery_timeout_in_java(
    path: Path, lines: str, delivery_ms: str
) -> None:
    path.write_text(f"transactional.id=a\nqueue.buffering.max.kbytes=65536\n{lines}")
    translation = translate_file(path)
    assert translation.properties["delivery.timeout.ms"] == delivery_ms
    delivery = row(translation, "delivery.timeout.ms")
    assert delivery.twin_value == delivery_ms
    assert delivery.given or delivery.value == delivery_ms
    measured = read_producer_file(path, FileClient.LIBRDKAFKA, java()).config
    assert measured.values == translation.target.values


def test_a_property_that_is_left_out_is_shown_with_the_default(path: Path) -> None:
    path.write_text("compression.type=none\nlinger.ms=5\npartitioner.ignore.keys=false\n")
    translation = translate_file(path, FileClient.JAVA)
    linger = row(translation, "linger.ms")
    assert (linger.twin_value, linger.written) == ("5", False)
    assert "left out" in linger.note
    assert row(translation, "partitioner.ignore.keys").twin_value == "murmur2_random"


def test_the_level_goes_with_its_codec_if_the_release_has_levels(path: Path) -> None:
    path.write_text("compression.type=zstd\ncompression.level=5\n")
    assert row(translate_file(path), "compression.level").twin == "compression.zstd.level"
    old = translate_file(path, version="3.6")
    assert (row(old, "compression.level").twin, old.without_twin) == ("", ("compression.level",))
    path.write_text("compression.type=zstd\ncompression.zstd.level=5\n")
    assert row(translate_file(path), "compression.zstd.level").twin == "compression.level"


def test_the_version_decides_the_defaults_of_a_java_file(path: Path) -> None:
    path.write_text("buffer.memory=33554432\n")
    assert translate_file(path, version="3.6").target.linger_ms == 0
    assert translate_file(path).target.linger_ms == 5
    assert not translate_file(path, version="2.8").target.idempotent
    path.write_text("max.in.flight.requests.per.connection=10\n")
    assert translate_file(path, FileClient.JAVA).source.client == java("3.9.1")
    with pytest.raises(ConfigProblems, match=r"since 4\.0 counts as idempotent"):
        translate_file(path, FileClient.JAVA, version=java().version)


def test_a_partitioner_that_java_has_itself_needs_no_twin(path: Path) -> None:
    path.write_text("partitioner=murmur2_random\n")
    assert "does this by itself" in row(translate_file(path), "partitioner").note
    path.write_text("partitioner=random\n")
    assert "has no counterpart" in row(translate_file(path), "partitioner").note


def test_a_batch_fits_in_the_buffer_of_a_small_queue(path: Path) -> None:
    path.write_text("queue.buffering.max.kbytes=10\n")
    assert translate_file(path).properties["batch.size"] == "10240"


@pytest.mark.parametrize(
    ("written_for", "target", "version", "error", "words"),
    [
        (FileClient.AUTO, None, None, ConfigError, "must show which client"),
        (FileClient.JAVA, ClientKind.JAVA, None, ConfigError, "for java already"),
        (FileClient.JAVA, None, "abc", UnknownClient, "must be a release of kafka-clients"),
    ],
)
def test_clients_that_do_not_fit_are_refused(
    path: Path,
    written_for: FileClient,
    target: ClientKind | None,
    version: str | None,
    error: type[ConfigError],
    words: str,
) -> None:
    path.write_text("acks=all\n")
    with pytest.raises(error, match=words):
        translate_file(path, written_for, target, version)


def test_a_file_with_problems_is_refused_with_its_name(path: Path) -> None:
    path.write_text("acks=7x\nlinger.ms=soon\n")
    with pytest.raises(ConfigProblems, match=r"producer\.properties: 2 problems"):
        translate_file(path, FileClient.JAVA)
    with pytest.raises(PropertiesFileError, match="must be readable"):
        translate_file(path.parent)


@settings(deadline=None)
@given(CONFIGS, st.sampled_from(RELEASES))
def test_a_translation_is_never_weaker_than_the_file_of_librdkafka(entries: dict[str, str], version: str) -> None:
    try:
        config = ProducerConfig.parse(entries)
    except ConfigError:
        return
    client = java(version)
    translated = ProducerConfig.parse(translate_to_java(config, client).properties, client)
    assert Guarantee.of(translated).at_least(Guarantee.of(config))


@settings(deadline=None, max_examples=50)
@given(JAVA_FILES.filter(works), st.sampled_from((*RELEASES[:-1], None)))  # the newest refuses some of the files
def test_a_file_translated_back_guarantees_at_least_as_much(entries: dict[str, str], version: str | None) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "producer.properties"
        path.write_text(format_properties({**entries, "key.serializer": "a.B"}))
        there = translate_file(path, version=version)
        path.write_text(format_properties(there.properties))
        back = translate_file(path, FileClient.LIBRDKAFKA, version=version)
    before, after = there.guarantees
    assert after.at_least(before)
    assert back.guarantees[0] == after
    assert back.guarantees[1].at_least(before)
    assert {each.name for each in there.rows if each.given} == set(there.source.values)
    assert {each.twin for each in there.rows if each.written} == set(there.target.values)
