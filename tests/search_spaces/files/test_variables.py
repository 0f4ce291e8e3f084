"""Environment variables in the values of properties files."""

from pathlib import Path

import pytest

from search_spaces import PropertiesFileError, read_properties
from search_spaces.files.producer_file import read_producer_file
from search_spaces.files.variables import VariableError, filled_in, names_in, with_defaults
from search_spaces.lint.linting import lint_file

ENVIRON = {"PW": "hunter2", "EMPTY": "", "LINGER": "7"}


@pytest.mark.parametrize(
    ("written", "filled", "used"),
    [
        ("plain $PW $ {PW}", "plain $PW $ {PW}", False),
        ("a${PW}b${LINGER}", "ahunter2b7", True),
        ("${ABSENT:-x}${EMPTY:-y}${EMPTY}", "xy", True),
        ("${ABSENT:-}", "", False),
        ("$${PW}", "${PW}", False),
    ],
)
def test_references_are_replaced(written: str, filled: str, used: bool) -> None:
    assert filled_in(written, ENVIRON, 100) == (filled, used)


@pytest.mark.parametrize("wrong", ["${PW", "${}", "${9}", "${env:PW}", "${file:/a:b}", "${ABSENT}", "${PW}" * 20])
def test_what_can_not_be_replaced_is_refused_without_values(wrong: str) -> None:
    with pytest.raises(VariableError) as caught:
        filled_in(wrong, ENVIRON, 100)
    assert "hunter2" not in str(caught.value)


def test_variables_and_their_defaults_are_found() -> None:
    assert names_in("${A} $${B} ${C:-x} ${9}") == ["A", "C"]
    assert with_defaults("${A} ${C:-x}") == " x"


def test_a_properties_file_names_variables_in_values_only(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text("sasl.password=${PW}\nsasl.username=${USER_OF_KAFKA:-tuner}\nclient.id=$${PW}\n")
    written = {"sasl.password": "${PW}", "sasl.username": "${USER_OF_KAFKA:-tuner}", "client.id": "$${PW}"}
    assert read_properties(path) == written
    assert read_properties(path, ENVIRON) == {
        "sasl.password": "hunter2",
        "sasl.username": "tuner",
        "client.id": "${PW}",
    }


@pytest.mark.parametrize(
    ("value", "told"),
    [
        ("${ABSENT}", "the environment variable ABSENT is not set; export it, or write ${ABSENT:-default}"),
        ("secret${hunter2}", "an environment variable that the value names is not set; export it, or write $${"),
        ("secret${hunter2", "a variable must read ${NAME} or ${NAME:-default}; write $${ for the characters ${"),
    ],
)
def test_a_variable_that_is_not_set_is_named_with_its_line_and_key(tmp_path: Path, value: str, told: str) -> None:
    path = tmp_path / "client.properties"
    path.write_text(f"security.protocol=SASL_SSL\nsasl.password={value}\n")
    with pytest.raises(PropertiesFileError) as caught:
        read_properties(path, ENVIRON)
    assert str(caught.value).startswith(f"{path}, line 2: sasl.password: {told}")
    assert "hunter2" not in str(caught.value)


def test_a_producer_s_file_needs_only_the_variables_of_what_tunes_the_producer(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "producer.properties"
    path.write_text("linger.ms=${LINGER}\nbatch.size=${BATCH:-40000}\nsasl.password=${ABSENT}\nclient.id=${ABSENT}\n")
    found = read_producer_file(path, environ=ENVIRON)
    assert dict(found.values) == {"linger.ms": "7", "batch.size": "40000"}
    assert "sasl.password, client.id" in " ".join(found.notes)
    monkeypatch.setenv("LINGER", "never")
    assert ("linger.ms", "never") in [(each.key, each.value) for each in lint_file(path).findings]
    monkeypatch.delenv("LINGER")
    for read in (read_producer_file, lint_file):
        with pytest.raises(PropertiesFileError, match=r"line 1: linger.ms: the environment variable LINGER is not set"):
            read(path)
