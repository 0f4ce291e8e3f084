"""`tuner lint` and `tuner translate` as a user types them."""

import os
from pathlib import Path

import pytest

from search_spaces.files.properties_file import parse_properties, read_properties
from tests.helpers.command import tuner
from tests.search_spaces.test_lint import TWENTY_TWO
from tuner.model.errors import ExitCode

LIBRDKAFKA = "linger.ms=0.5\nqueue.buffering.max.kbytes=65536\nbatch.num.messages=500\nsasl.password=hunter2\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def java_file(folder: Path) -> Path:
    path = folder / "producer.properties"
    path.write_text(TWENTY_TWO)
    return path


@pytest.fixture
def librdkafka_file(folder: Path) -> Path:
    path = folder / "librdkafka.properties"
    path.write_text(LIBRDKAFKA)
    return path


def test_lint_prints_one_line_for_each_finding(java_file: Path) -> None:
    ended = tuner("lint", java_file.name, "--record-bytes", "1000", "--rate", "2000")
    assert ended.code == 0, ended.err
    head, *lines = ended.out.splitlines()
    assert head == "producer.properties, for the Java client 4.3.1: guarantee: acks=1, may reorder on retry"
    assert any(line.startswith("warning  acks=1: switches idempotence off") for line in lines)
    *findings, aside, counts = lines
    assert all(line.startswith(("warning  ", "hint     ")) for line in findings)
    assert "sasl.jaas.config" in aside
    assert counts.startswith("0 errors, 2 warnings, ")
    assert "hunter2" not in ended.out + ended.err


def test_lint_prints_json(java_file: Path) -> None:
    ended = tuner("lint", java_file.name, "--client", "java", "--client-version", "3.6", "--json")
    assert ended.code == 0, ended.err
    record = ended.json
    assert (record["schema_version"], record["kind"]) == (1, "lint")
    assert record["client"] == {"kind": "java", "version": "3.6.2", "assumed": False}
    (level,) = (each for each in record["findings"] if each["key"] == "compression.zstd.level")
    assert (level["level"], level["about"], level["value"]) == ("warning", "name", None)
    assert "exists from 3.8 on" in level["sentence"]
    assert sum(record["counts"].values()) == len(record["findings"])
    assert "hunter2" not in ended.out


def test_lint_ends_with_an_exit_code_of_its_own_if_there_are_errors(folder: Path) -> None:
    (folder / "p.properties").write_text("enable.idempotence=true\nacks=1\nlinger.msec=5\n")
    ended = tuner("lint", "p.properties", "--client", "java")
    assert ended.code == ExitCode.FAULTY_FILE
    errors = [line for line in ended.out.splitlines() if line.startswith("error")]
    assert [line.split()[1] for line in errors] == ["linger.msec:", "enable.idempotence=true:"]
    assert "Traceback" not in ended.err
    assert tuner("lint", "p.properties", "--client", "java", "--json").json["guarantee"] is None


def test_lint_says_which_client_it_assumed(folder: Path) -> None:
    (folder / "p.properties").write_text("acks=all\n")
    ended = tuner("lint", "p.properties")
    assert ended.code == 0
    assert "for librdkafka" in ended.out
    assert "--client java" in ended.err


def test_translate_prints_a_file_to_paste_and_a_table_beside_it(librdkafka_file: Path) -> None:
    ended = tuner("translate", librdkafka_file.name, "--from", "librdkafka", "--to", "java")
    assert ended.code == 0, ended.err
    assert "# not measured: run `tuner verify FILE --client java:4.3.1`" in ended.out
    assert "# no counterpart: batch.num.messages" in ended.out
    properties = parse_properties(ended.out)
    assert (properties["linger.ms"], properties["buffer.memory"]) == ("1", "67108864")
    assert properties["enable.idempotence"] == "false"
    assert "queue.buffering.max.kbytes=65536" in ended.err
    assert "buffer.memory=67108864" in ended.err
    assert "guarantee: acks=all, may reorder on retry; the same after the translation" in ended.err
    assert "sasl.password" in ended.err
    assert "hunter2" not in ended.out + ended.err


def test_translate_writes_a_file_that_lint_accepts(java_file: Path, folder: Path) -> None:
    output = folder / "out.properties"
    words = ("translate", java_file.name, "--from", "java", "--client-version", "3.9", "--output", str(output))
    for _ in range(2):  # the second time, the file is recognised and replaced
        ended = tuner(*words, "--json")
        assert ended.code == 0, ended.err
    record = ended.json
    assert record["properties"] == read_properties(output)
    assert (record["from"]["version"], record["to"]["kind"]) == ("3.9.1", "librdkafka")
    assert record["label"] == "translated, not measured"
    assert f"tuner verify {output} --client librdkafka" in output.read_text()
    assert tuner("lint", str(output), "--client", "librdkafka").code == 0
    output.write_text("acks=all\n")
    assert "--force" in tuner(*words).complaint


def test_a_file_that_shows_no_client_is_not_said_to_have_a_wrong_version(folder: Path) -> None:
    (folder / "p.properties").write_text("acks=all\n")
    assert "--client-version" not in tuner("translate", "p.properties").err


def test_a_comment_behind_a_value_is_named_as_the_mistake(folder: Path) -> None:
    (folder / "p.properties").write_text("linger.ms=5 # five\n")
    said = "linger.ms takes a decimal number from 0 to 900,000 (a comment needs a line of its own)"
    assert f"error    linger.ms=5 # five: {said}\n" in tuner("lint", "p.properties").out
    assert f"{said}, not '5 # five'" in tuner("translate", "p.properties", "--to", "java").complaint


def test_a_name_of_librdkafka_in_a_file_for_java_is_said_to_be_unknown_to_java(folder: Path) -> None:
    (folder / "p.properties").write_text("key.serializer=S\ncompression.type=zstd\ncompression.level=3\n")
    ended = tuner("translate", "p.properties", "--from", "java")
    assert "ignored in p.properties, because they do not tune the producer: key.serializer\n" in ended.err
    assert "ignored in p.properties, because the Java client does not have them: compression.level\n" in ended.err


def test_a_file_for_librdkafka_is_not_said_to_have_names_that_java_lacks(folder: Path) -> None:
    (folder / "p.properties").write_text("linger.ms=5\nstatistics.interval.ms=1000\nsecurity.protocol=PLAINTEXT\n")
    ended = tuner("translate", "p.properties", "--to", "java")
    ignored = "statistics.interval.ms, security.protocol"
    assert f"ignored in p.properties, because they do not tune the producer: {ignored}\n" in ended.err


def test_the_name_of_a_translated_file_need_not_be_utf_8(folder: Path) -> None:
    (folder / os.fsdecode(b"old\xff.properties")).write_text("acks=all\n")
    ended = tuner("translate", os.fsdecode(b"old\xff.properties"), "--to", "java", "--output", "new.properties")
    assert ended.code == 0, ended.err
    assert "translated from old\\udcff.properties" in (folder / "new.properties").read_text()


@pytest.mark.parametrize(("to", "kinds"), [("java", ("librdkafka", "java")), ("librdkafka", ("java", "librdkafka"))])
def test_a_file_that_shows_no_client_is_for_the_client_that_is_not_the_target_of_the_translation(
    folder: Path, to: str, kinds: tuple[str, str]
) -> None:
    (folder / "p.properties").write_text("acks=all\nlinger.ms=5\n")
    record = tuner("translate", "p.properties", "--to", to, "--json").json
    assert (record["from"]["kind"], record["to"]["kind"]) == kinds


WRONG = [
    (["lint", "missing.properties"], "missing.properties: a properties file must be readable"),
    (["lint", "."], "error: .: a properties file must be readable: Is a directory"),
    (["lint", "producer.properties", "--client", "kafka-python"], "must be librdkafka or java, not 'kafka-python'"),
    (["lint", "producer.properties", "--client-version", "x"], "must be a release of kafka-clients"),
    (["lint", "producer.properties", "--client-version", "9.9"], "from 2.8 to 4.3"),
    (["lint", "producer.properties", "--rate", "5"], "--rate needs --record-bytes"),
    (["lint", "producer.properties", "--record-bytes", "0"], "Invalid value for '--record-bytes'"),
    (["lint", "producer.properties", "--record-bytes", "1", "--rate", "-5"], "Invalid value for '--rate'"),
    (["translate", "missing.properties"], "missing.properties: a properties file must be readable"),
    (["translate", "."], "error: .: a properties file must be readable: Is a directory"),
    (["translate", "producer.properties", "--to", "java"], "a translation must be for the other client, but producer"),
    (["translate", "producer.properties", "--to", "java"], "is for java already"),
    (["translate", "producer.properties", "--to", "kafka-python"], "kafka-python"),
    (["translate", "producer.properties", "--client-version", "x"], "must be a release of kafka-clients"),
    (["translate", "unclear.properties"], "name the client with --from"),
    (["translate", "producer.properties", "--output", "no/such/folder"], "an output must be in a folder that exists"),
]


@pytest.mark.parametrize(("words", "said"), WRONG, ids=lambda value: " ".join(value) if isinstance(value, list) else "")
def test_wrong_input_is_one_clear_error(java_file: Path, folder: Path, words: list[str], said: str) -> None:
    (folder / "unclear.properties").write_text("acks=all\n")
    ended = tuner(*words)
    assert (ended.code, ended.out) == (ExitCode.USAGE, "")
    assert said in ended.complaint
