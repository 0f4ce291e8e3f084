"""Tests of reading and writing `.properties` files as Java does, and of reading `-X` pairs."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces import (
    PropertiesFileError,
    format_properties,
    parse_pairs,
    parse_properties,
    read_properties,
)
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import UnknownProperty
from search_spaces.files.properties_file import format_ascii_properties, named_source

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


PRIVATE = "PRIVATE"  # so that no scanner takes this file for one with a key


@pytest.mark.parametrize(
    ("text", "entries"),
    [
        ("linger.ms=5", {"linger.ms": "5"}),
        ("linger.ms : 5\r\nacks\t1\racks2 = = x", {"linger.ms": "5", "acks": "1", "acks2": "= x"}),
        ("# a=b\n  ! c=d\n\n \t\nkey", {"key": ""}),
        ("a=b \\\n    c\\\n  d", {"a": "b cd"}),
        ("a=one\\\\\nb=two", {"a": "one\\", "b": "two"}),
        ("a=x\\\n# no comment", {"a": "x# no comment"}),
        ("a\\=b\\:c\\ d=e", {"a=b:c d": "e"}),
        ("a=\\t\\n\\u00e9\\q\\ud83d\\ude00", {"a": "\t\n\u00e9q\U0001f600"}),
        ("a=trailing  ", {"a": "trailing  "}),
        ("=nameless", {"": "nameless"}),
        ("a=end\\", {"a": "end"}),
        ("", {}),
    ],
)
def test_the_format_is_that_of_java(text: str, entries: dict[str, str]) -> None:
    assert parse_properties(text) == entries


@given(st.dictionaries(TEXT, TEXT, max_size=5), TEXT)
def test_what_is_written_reads_back(entries: dict[str, str], comment: str) -> None:
    assert parse_properties(format_properties(entries, comment=comment)) == entries


def test_an_ascii_file_escapes_all_other_characters() -> None:
    properties = {"a b": "C:\\x", "jaas": 'user="ü" password="😀" ;', "lead": " two"}
    text = format_ascii_properties(properties)
    assert text.isascii()
    assert "\\u00fc" in text
    assert "\\ud83d\\ude00" in text
    assert parse_properties(text) == properties


def test_the_error_for_a_repeated_key_names_both_lines(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("acks=1\n# between\nlinger.ms=5\nacks=all\n", encoding="utf-8")
    with pytest.raises(PropertiesFileError, match=r"client\.properties, line 4: acks: .*line 1 already has it"):
        read_properties(path)


def test_the_error_for_a_bad_escape_does_not_show_a_secret() -> None:
    with pytest.raises(PropertiesFileError, match=r"line 2: sasl\.password: four hex digits") as raised:
        parse_properties("acks=1\nsasl.password=hunter2\\u12", source="client.properties")
    assert "hunter2" not in str(raised.value)
    assert (raised.value.line, raised.value.key) == (2, "sasl.password")


def test_the_error_for_a_bad_escape_shows_a_value_that_is_no_secret() -> None:
    with pytest.raises(PropertiesFileError, match=r"client\.id: four hex digits must follow .*, not '12x4'"):
        parse_properties("client.id=\\u12x4")


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(PropertiesFileError, match="half a character"):
        parse_properties("a=\\ud83d")


def test_the_error_for_a_file_that_is_not_utf8_names_the_line(tmp_path: Path) -> None:
    path = tmp_path / "latin.properties"
    path.write_bytes(b"acks=1\nclient.id=caf\xe9\n")
    with pytest.raises(PropertiesFileError, match="line 2: a properties file must be UTF-8"):
        read_properties(path)


def test_pairs_split_at_the_first_equals_sign() -> None:
    assert parse_pairs(["a=b=c", "d="]) == {"a": "b=c", "d": ""}


@pytest.mark.parametrize("pair", ["hunter2", "=hunter2"])
def test_a_pair_without_a_key_is_refused_and_not_shown(pair: str) -> None:
    with pytest.raises(PropertiesFileError, match="-X, pair 2: a pair must be written as key=value") as raised:
        parse_pairs(["a=b", pair])
    assert "hunter2" not in str(raised.value)


def test_a_property_without_a_value_is_shown() -> None:
    with pytest.raises(PropertiesFileError, match=r"-X, pair 1: .*, not 'linger\.ms'$"):
        parse_pairs(["linger.ms"])


def test_a_pair_given_twice_is_refused() -> None:
    with pytest.raises(PropertiesFileError, match=r"-X, pair 2: a: .*pair 1"):
        parse_pairs(["a=1", "a=2"])


@pytest.mark.parametrize(
    "text",
    [
        f"ssl.key.pem=-----BEGIN {PRIVATE} KEY-----\nMIIEhunter2hunter2hunter2\n",
        "sasl.password=\nhunter2\n",
        "sasl.mechanism=PLAIN\nsasl.password-hunter2hunter2\n",
        "sasl.mechanism=PLAIN\nsasl.password}hunter2=1\n",
        "acks=1\nhunter2=1\nhunter2=1\n",
    ],
)
def test_a_line_that_may_be_a_secret_is_not_shown(tmp_path: Path, text: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(text)
    with pytest.raises(PropertiesFileError, match=r"client\.properties, line 2: a line must begin with") as raised:
        read_properties(path)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("producer.json", '{"linger.ms": 5}', "JSON"),
        ("producer.json", '\n{\n  "linger.ms": 5\n}\n', "JSON"),
        ("producer.xml", "<beans>\n</beans>\n", "XML"),
        ("application.yml", "# ours\nspring:\n  kafka:\n    producer:\n      acks: all\n", "YAML"),
        ("application.yml", "spring: # of orders\n  kafka: # all\n    bootstrap-servers: broker:9092\n", "YAML"),
        ("spring.properties", "debug: true\r\nspring:\r\n  # ours\r\n  kafka: {password: hunter2}\r\n", "YAML"),
        (
            "application.properties",
            "server.port=80\nspring.kafka.producer.batch-size=16384\nspring.kafka.ssl.key-password=hunter2\n",
            "the config of a Spring application",
        ),
        (
            "application.properties",
            "mp.messaging.outgoing.orders.linger.ms=5\n",
            "the config of a Quarkus application",
        ),
    ],
)
def test_a_file_of_another_kind_is_refused_with_its_kind(tmp_path: Path, name: str, text: str, kind: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(PropertiesFileError, match=rf"^{path}: .* looks like {kind}; write its properties") as raised:
        read_properties(path)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("producer.yaml", "linger.ms: 5\n"),
        ("producer.properties", "transactional.id:\n  linger.ms: 5\n"),
        ("application.properties", "spring.application.name=orders\nlinger.ms=5\n"),
    ],
)
def test_a_file_that_has_properties_of_the_client_is_read(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert read_properties(path)["linger.ms"] == "5"


@pytest.mark.parametrize("name", ["linger", "sasl.pasword", "no.such.name", "buffer.memory", "ssl.truststore.password"])
def test_a_wrong_name_is_read_and_can_be_shown(tmp_path: Path, name: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"{name}=1\n")
    assert read_properties(path) == {name: "1"}


def test_the_file_of_a_wrong_property_is_named(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    told = r"^client\.properties: librdkafka has no property 'sasl\.pasword'"
    with pytest.raises(UnknownProperty, match=told), named_source(path.name):
        ConnectionConfig.parse({"sasl.pasword": "hunter2"})
