"""The address of a cluster has a host and a port, wherever it is given."""

from pathlib import Path

import pytest

import tuner
from tests.helpers.command import tuner as run_tuner
from tuner.study_file import StudyFileError, parse_study

WRONG = ["kafka", "kafka:", "kafka:0", "kafka:65536", "kafka:x", "::1:9092", "kafka:9092,other", "[::1]", ":9092", ","]
RIGHT = ["kafka:9092", "a:1, b:2", "[::1]:9092", "[fe80::1%eth0]:9092,127.0.0.1:1", "SASL_SSL://kafka:9093"]
LOGIN = "alice:S3cret,Pass@127.0.0.1:19999"


def targets(text: str) -> list[str | None]:
    spec = parse_study(text, name="night", folder=None, origin="night.yaml", environ={})
    return [target.bootstrap for target in spec.targets]


@pytest.mark.parametrize("address", WRONG)
def test_a_study_file_names_the_key_of_a_wrong_address(address: str) -> None:
    for key, section in (
        ("target.bootstrap", f"target: {{bootstrap: '{address}'}}"),
        ("targets[1].bootstrap", f"targets: [{{bootstrap: 'a:1'}}, {{bootstrap: '{address}'}}]"),
    ):
        with pytest.raises(StudyFileError) as caught:
            targets(f"workload: {{record_bytes: 100}}\n{section}\n")
        assert f"line 2, {key}: an address must read host:port" in str(caught.value)


def test_an_impossible_port_is_refused_with_the_range_of_ports() -> None:
    with pytest.raises(StudyFileError, match=r"with ports from 1 to 65535, but got 'kafka:99999'$"):
        targets("workload: {record_bytes: 100}\ntarget: {bootstrap: 'kafka:99999'}\n")


@pytest.mark.parametrize("address", RIGHT)
def test_addresses_with_ports_are_accepted(address: str) -> None:
    assert targets(f"workload: {{record_bytes: 100}}\ntarget: {{bootstrap: '{address}'}}\n") == [address]


@pytest.mark.parametrize("words", [("bench",), ("cleanup",), ("compare-tools",), ("doctor",), ("init", "new.yaml")])
def test_an_option_with_a_wrong_address_is_refused(
    words: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run_tuner(*words, "--bootstrap", "kafka")
    assert refused.code == 2
    assert "--bootstrap: an address must read host:port" in refused.complaint
    assert "but got 'kafka'" in refused.complaint
    assert not list(tmp_path.iterdir())


def test_commands_that_read_studies_refuse_a_wrong_address(tmp_path: Path) -> None:
    file, config = tmp_path / "night.yaml", tmp_path / "mine.properties"
    file.write_text('workload: {record_bytes: 100}\ntarget: {bootstrap: "kafka"}\n')
    config.write_text("linger.ms=5\n")
    for words in (
        ("plan", str(file)),
        ("run", str(file)),
        ("run", "--bootstrap", "kafka"),
        ("verify", str(config), "--bootstrap", "kafka"),
    ):
        refused = run_tuner(*words)
        assert refused.code == 2, words
        assert "bootstrap: an address must read host:port" in refused.complaint


def test_python_refuses_a_wrong_address() -> None:
    with pytest.raises(ValueError, match="an address must read host:port"):
        tuner.bench(bootstrap="kafka")


@pytest.mark.parametrize(
    "section",
    [
        "target: {bootstrap: 'ADDRESS'}",
        "targets: [{bootstrap: 'a:1'}, {bootstrap: 'ADDRESS'}]",
        "target: 'ADDRESS'",
        "executor: 'ADDRESS'",
    ],
)
@pytest.mark.parametrize("address", [LOGIN, f"{LOGIN},kafka:9092", f"bob:other@kafka:9092,{LOGIN}"])
def test_an_error_about_an_address_in_a_study_file_hides_its_login(section: str, address: str) -> None:
    with pytest.raises(StudyFileError, match=r"but got '\*\*\*@127\.0\.0\.1:19999") as caught:
        targets(f"workload: {{record_bytes: 100}}\n{section.replace('ADDRESS', address)}\n")
    assert not any(part in str(caught.value) for part in ("alice", "S3cret", "Pass", "bob", "other"))


@pytest.mark.parametrize("command", ["cleanup", "plan", "init"])
def test_an_error_about_an_address_in_an_option_hides_its_login(
    command: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = run_tuner(command, "--bootstrap", LOGIN)
    assert refused.code == 2
    assert "but got '***@127.0.0.1:19999'" in refused.complaint
    assert "S3cret" not in refused.err + refused.out
    assert "alice" not in refused.err + refused.out
