"""Tests of study files that name their client."""

from pathlib import Path

import pytest

from search_spaces import Guarantee, java, librdkafka
from tuner.model.errors import StudyChanged
from tuner.model.identity import check_unchanged, study_identity
from tuner.model.spec import StudySpec
from tuner.study_file import StudyFileError, read_study_file

STRONGEST = Guarantee(acks=-1, ordered=True, idempotent=True)


def study(folder: Path, text: str) -> StudySpec:
    path = folder / "study.yaml"
    path.write_text(f"workload: {{record_bytes: 1000}}\n{text}", encoding="utf-8")
    spec, _ = read_study_file(path, {"RELEASE": "3.9.1"})
    return spec


@pytest.mark.parametrize(
    ("text", "client"),
    [
        ("", librdkafka()),
        ("client: librdkafka\n", librdkafka()),
        ("client: java\n", java()),
        ('client: {kind: java, version: "3.9.1"}\n', java("3.9.1")),
        ("client: java:3.9.1\n", java("3.9.1")),
        ("client: {kind: java, version: '${RELEASE}'}\n", java("3.9.1")),
    ],
)
def test_a_study_names_its_client(tmp_path: Path, text: str, client: object) -> None:
    assert study(tmp_path, text).client == client


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("client: kafka-python\n", "the client must be librdkafka or java"),
        ("client: {kind: java, version: 3.9}\n", 'a version must be text, such as version: "3.9.1"'),
        ('client: {kind: java, version: "3.9"}\n', "a release of kafka-clients, such as 3.9.1, not '3.9'"),
        ("client: {kind: python}\n", "the client must be librdkafka or java, not 'python'"),
        ("client: java:2.7.0\n", "must be from 2.8 to 4.3"),
        ("client: {kind: java, release: x}\n", "a client has only kind and version"),
    ],
)
def test_a_wrong_client_is_refused_with_its_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(StudyFileError) as caught:
        study(tmp_path, text)
    assert words in str(caught.value)
    assert "line 2, client" in str(caught.value)


def test_properties_and_knobs_are_those_of_the_client(tmp_path: Path) -> None:
    spec = study(
        tmp_path,
        "client: java\nbaseline: {buffer.memory: 67108864}\n"
        "space: {max.request.size: on, compression.lz4.level: off}\n",
    )
    assert spec.baseline.queue_bytes == 67_108_864
    assert set(spec.space) == {"max.request.size", "compression.lz4.level"}
    with pytest.raises(StudyFileError, match=r"use buffer\.memory"):
        study(tmp_path, "client: java\nbaseline: {queue.buffering.max.kbytes: 1000}\n")
    with pytest.raises(StudyFileError, match=r"use message\.max\.bytes"):
        study(tmp_path, "space: {max.request.size: on}\n")


def test_a_java_file_is_not_translated_in_a_study_of_the_java_client(tmp_path: Path) -> None:
    (tmp_path / "producer.properties").write_text("acks=all\nlinger.ms=7\nbootstrap.servers=b:9092\n")
    spec = study(tmp_path, "client: java\nbaseline: producer.properties\n")
    assert spec.baseline.values == {"acks": "-1", "linger.ms": "7"}
    assert Guarantee.of(spec.baseline) == STRONGEST
    (note,) = spec.baseline_notes
    assert "bootstrap.servers" in note


def test_a_file_of_librdkafka_is_translated_in_a_study_of_the_java_client(tmp_path: Path) -> None:
    (tmp_path / "producer.properties").write_text("enable.idempotence=true\nqueue.buffering.max.kbytes=65536\n")
    spec = study(tmp_path, "client: java\nbaseline: producer.properties\n")
    assert spec.baseline.client == java()
    assert spec.baseline.queue_bytes == 65536 * 1024
    assert Guarantee.of(spec.baseline) == STRONGEST
    assert any("the translation is measured, not librdkafka" in note for note in spec.baseline_notes)


def test_another_client_forbids_going_on_with_a_study(tmp_path: Path) -> None:
    first = study_identity(study(tmp_path, ""))
    assert "client" not in first  # as older releases stored it
    other = study_identity(study(tmp_path, "client: java\n"))
    with pytest.raises(StudyChanged, match=r"client: librdkafka in the study, java 4\.3\.1 now"):
        check_unchanged("orders", other, first)
    newer = study_identity(study(tmp_path, "client: java:3.9.1\n"))
    with pytest.raises(StudyChanged, match=r"client: java 3\.9\.1 in the study, java 4\.3\.1 now"):
        check_unchanged("orders", other, newer)
    check_unchanged("orders", first, {**first, "client": "librdkafka"})
