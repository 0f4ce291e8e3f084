"""The config file, the tokens, the reading of submitted studies, and the import time of other commands."""

import ast
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from filelock import FileLock

from tests.helpers.command import tuner
from tuner import client
from tuner.model.spec import Executor
from tuner.model.study_files import RESERVED_NAMES
from tuner.service.config import is_loopback, load_config
from tuner.service.errors import ServiceConfigError, TokenNameRefused, TokensBusy
from tuner.service.http.tokens import PREFIX, TokenFile, TokenRole
from tuner.service.submission import spec_of, submission_of, text_of_json
from tuner.study_file import StudyFileError

FILE = """\
host: 127.0.0.1
port: 0
studies: all
tokens: secrets/tokens.json
environment: [BYTES]
targets:
  lab: {bootstrap: "broker:9092", command_config: lab.properties, like: orders}
  own: {brokers: 3}
default_target: lab
mlflow: {url: "https://mlflow.example"}
"""
STUDY = "study: orders\nworkload: {record_bytes: '${BYTES}', replication: 3}\n"


def written(folder: Path, text: str) -> Path:
    (folder / "lab.properties").write_text("security.protocol=SASL_SSL\nsasl.password=hunter2\n")
    (folder / "service.yaml").write_text(text)
    return folder / "service.yaml"


def test_paths_are_relative_to_the_config_file(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, FILE))
    assert config.root == tmp_path / "all"
    assert config.tokens == tmp_path / "secrets" / "tokens.json"
    assert list(config.targets) == ["lab", "own", "simulated"]
    assert config.targets["lab"].connection["sasl.password"] == "hunter2"
    assert "hunter2" not in repr(config)


def test_a_submitted_study_runs_on_the_configured_cluster(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, FILE))
    asked, _ = submission_of(STUDY, config, {"BYTES": "100", "OTHER": "1"})
    assert asked.targets == ("lab",)
    spec, _ = spec_of(STUDY, config, {"BYTES": "100"})
    assert spec.targets == (config.targets["lab"],)
    assert spec.executor is Executor.RAY
    assert submission_of(STUDY + "targets: [lab]\n", config, {"BYTES": "100"})[0].digest != asked.digest
    assert submission_of(f"# remark\n{STUDY}", config, {"BYTES": "100"})[0].digest == asked.digest


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ("prot: 1", 1, "did you mean port"),
        ("port: 99999", 1, "port"),
        ("\ntargets: {lab: {bootstrp: x}}", 2, "did you mean bootstrap"),
        ("targets: {simulated: {}}", 1, "simulated"),
        ("targets: {'../x': {}}", 1, "name"),
        ("default_target: nowhere", 1, "embedded"),
        ("environment: ['A=B']", 1, "environment"),
        ("mlflow: {url: 'javascript:alert(1)'}", 1, "http"),
        ("targets: {lab: {bootstrap: 'x:1', command_config: none.properties}}", 1, "none.properties"),
        ("executor: {ray_address: 'ray://head:10001'}", 1, "not supported"),
        ("- a", 1, "the service's config file must hold `key: value` lines, but this one holds none"),
        ("\ntls: {certificate: one.pem}", 2, "tls.key: this key is required; docs/how-to/service.md has examples"),
        ("url: 'https://mlflow.example'", 1, "the service's config file has no such key; it belongs in mlflow."),
        ("environment: BYTES", 1, "environment: must be a list, such as [a, b], but got 'BYTES'"),
        ("targets: [lab]", 1, "targets: must be `name: {key: value}` lines, but got a list"),
        ("mlflow: 'https://mlflow.example'", 1, "mlflow: must be a section of `key: value` lines"),
        ("max_body: 100MB", 1, "max_body"),
        ("allowed_hosts: [localhost, 'tuner.example:8080']", 1, "allowed_hosts[1]: must be a host name or an address"),
        ("allowed_hosts: ['https://tuner.example']", 1, "without a port, such as tuner.example or ::1"),
    ],
)
def test_mistakes_are_reported_with_their_lines(tmp_path: Path, text: str, line: int, word: str) -> None:
    with pytest.raises(StudyFileError) as refused:
        load_config(written(tmp_path, text))
    assert refused.value.problems[0].line == line
    assert word in str(refused.value)


def test_an_allowed_host_is_compared_as_the_header_names_it(tmp_path: Path) -> None:
    config = load_config(written(tmp_path, "allowed_hosts: ['[::1]', '::1', Tuner.Example, 10.0.0.1]"))
    assert config.allowed_hosts == ("::1", "::1", "tuner.example", "10.0.0.1")


@pytest.mark.parametrize(
    ("host", "loopback"),
    [("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("[::1]", True), ("LocalHost", True)]
    + [(host, False) for host in ("0.0.0.0", "::", "10.0.0.1", "", "localhost.example", "127.0.0.1.example")],
)
def test_loopback_addresses_are_recognised(host: str, loopback: bool) -> None:
    assert is_loopback(host) is loopback


def test_tokens_are_stored_as_hashes_and_recognised(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    assert not file.exists
    secret = file.add("ci", TokenRole.SUBMIT)
    other = file.add("reader", TokenRole.READ)
    assert secret.startswith(PREFIX)
    assert secret not in file.path.read_text()
    found = TokenFile(file.path).find(secret)
    assert found is not None
    assert (found.name, found.allows(TokenRole.SUBMIT)) == ("ci", True)
    reader = file.find(other)
    assert reader is not None
    assert not reader.allows(TokenRole.SUBMIT)
    for wrong in ("", secret[:-1], secret + "x", secret.upper(), found.sha256, "\udcff", "x" * 10_000):
        assert file.find(wrong) is None
    with pytest.raises(TokenNameRefused, match="ci"):
        file.add("ci", TokenRole.READ)
    file.remove("ci")
    assert file.find(secret) is None
    with pytest.raises(TokenNameRefused, match="reader"):
        file.remove("ci")


def test_only_one_command_at_a_time_changes_the_tokens(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json", lock_s=0.01)
    with FileLock(tmp_path / ".tokens.json.lock"), pytest.raises(TokensBusy, match="still holds"):
        file.add("ci", TokenRole.READ)
    file.add("ci", TokenRole.READ)
    assert [token.name for token in file.tokens()] == ["ci"]


def test_a_damaged_token_file_lets_nobody_in(tmp_path: Path) -> None:
    file = TokenFile(tmp_path / "tokens.json")
    file.path.write_text('{"schema_version": 1}')
    with pytest.raises(ServiceConfigError, match=r"tokens\.json"):
        file.find("anything")


def test_json_that_yaml_would_misread_is_rewritten() -> None:
    assert text_of_json('{"study": "a"}') == '{"study": "a"}'
    assert "😀" in text_of_json('{"study":\t"\\ud83d\\ude00"}')


def test_other_commands_do_not_import_the_web_framework() -> None:
    asked = (
        "import sys; import tuner.cli.app, tuner.cli.commands.status, tuner.cli.commands.serve, tuner.client;"
        "print([name for name in ('fastapi', 'uvicorn', 'starlette') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_the_client_needs_only_the_standard_library() -> None:
    nodes = list(ast.walk(ast.parse(Path(client.__file__).read_text())))
    imported = [name.name for node in nodes if isinstance(node, ast.Import) for name in node.names]
    imported += [str(node.module) for node in nodes if isinstance(node, ast.ImportFrom)]
    assert {name.partition(".")[0] for name in imported} <= sys.stdlib_module_names


@pytest.mark.parametrize(
    "name", [*sorted(RESERVED_NAMES), "Tokens.JSON", "secrets", "certificates", "service.yaml", "mlflow.db-wal"]
)
def test_a_study_cannot_take_the_place_of_another_file(tmp_path: Path, name: str) -> None:
    text = FILE.replace("studies: all", "studies: .") + "tls: {certificate: certificates/one.pem, key: one.key}\n"
    config = load_config(written(tmp_path, text))
    with pytest.raises(StudyFileError, match="name") as refused:
        submission_of(f"study: {name}\nworkload: {{record_bytes: 100, replication: 3}}\n", config, {})
    assert [problem.line for problem in refused.value.problems] == [1]


def test_the_paths_of_the_certificate_may_begin_with_the_home_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    config = load_config(written(tmp_path, FILE + "tls: {certificate: ~/one.pem, key: one.key}\n"))
    assert config.tls == (tmp_path / "home" / "one.pem", tmp_path / "one.key")


def test_a_certificate_that_cannot_be_used_is_refused_before_any_study_is_started(tmp_path: Path) -> None:
    certificate, key = certified(tmp_path / "one")
    other, _ = certified(tmp_path / "other")
    (tmp_path / "text.pem").write_text("no certificate")
    for named, private, told in (
        (
            "none.pem",
            key.name,
            "service.yaml, line 11, tls.certificate: must name a PEM file that can be read, but ",
        ),
        (
            certificate.name,
            "none.key",
            "service.yaml, line 11, tls.key: must name a PEM file that can be read, but ",
        ),
        ("text.pem", key.name, f"does not accept {tmp_path / 'text.pem'} with {key}"),
        (other.name, key.name, f"does not accept {other} with {key}"),
    ):
        file = written(tmp_path, f"{FILE}tls: {{certificate: {named}, key: {private}}}\n")
        ended = tuner("serve", "--config", str(file))
        assert (ended.code, load_config(file).root.exists()) == (2, False)
        assert told in ended.complaint
    load_config(written(tmp_path, f"{FILE}tls: {{certificate: {certificate}, key: {key}}}\n"), checks_certificate=True)


def certified(stem: Path) -> tuple[Path, Path]:
    """Write a certificate and its key into files, and return their paths."""
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    begin = datetime(2026, 1, 1, tzinfo=UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + timedelta(days=36_500))
        .sign(private, hashes.SHA256())
    )
    certificate, key = stem.with_suffix(".pem"), stem.with_suffix(".key")
    certificate.write_bytes(made.public_bytes(Encoding.PEM))
    key.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return certificate, key
