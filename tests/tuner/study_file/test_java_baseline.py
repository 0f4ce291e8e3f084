"""Tests of study files whose baseline is a file for the Java producer."""

from pathlib import Path

import pytest

from search_spaces import Guarantee
from tuner.study_file import StudyFileError, read_study_file

STUDY = "workload: {record_bytes: 100}\nbaseline: producer.properties\n"


def write(folder: Path, properties: str, extra: str = "") -> Path:
    (folder / "producer.properties").write_text(properties, encoding="utf-8")
    study = folder / "study.yaml"
    study.write_text(STUDY + extra, encoding="utf-8")
    return study


def test_a_java_file_is_the_baseline_and_the_study_says_so(tmp_path: Path) -> None:
    spec, _ = read_study_file(write(tmp_path, "acks=all\nkey.serializer=com.example.Bytes\n"))
    assert Guarantee.of(spec.baseline) == Guarantee(acks=-1, ordered=True, idempotent=True)
    assert spec.baseline.effective("batch.size") == "16384"
    assert any("key.serializer" in note for note in spec.baseline_notes)


def test_a_study_file_says_which_client_its_baseline_is_for(tmp_path: Path) -> None:
    spec, _ = read_study_file(write(tmp_path, "acks=all\n", "baseline_client: java\n"))
    assert spec.baseline.idempotent
    spec, _ = read_study_file(write(tmp_path, "acks=all\n"))
    assert not spec.baseline.idempotent


def test_all_problems_of_a_baseline_file_are_in_one_error(tmp_path: Path) -> None:
    with pytest.raises(StudyFileError) as caught:
        read_study_file(write(tmp_path, "acks=7\nlinger.ms=soon\nkey.serializer=com.example.Bytes\n"))
    for word in ("line 2, baseline", "producer.properties", "acks", "linger.ms"):
        assert word in str(caught.value)
