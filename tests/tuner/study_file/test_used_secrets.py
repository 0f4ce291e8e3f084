"""Variables from which a study took secrets are not passed on to other processes; all others are."""

from pathlib import Path

import pytest

from tuner.study_file import drop_used_secrets, parse_study

ENVIRON = {"PASSWORD": "hunter2", "KEY": "k", "BROKER": "b:1", "MLFLOW_PASSWORD": "m", "PATH": "/bin"}


@pytest.mark.parametrize(
    ("text", "dropped"),
    [
        ('target: {bootstrap: "${BROKER}", properties: {sasl.password: "${PASSWORD}"}}', {"PASSWORD"}),
        ('targets: [{properties: {ssl.key.pem: "${KEY}", sasl.password: "x${PASSWORD}"}}]', {"PASSWORD", "KEY"}),
        ('target: {properties: {sasl.password: "${PASSWORD:-x}"}}', {"PASSWORD"}),
        ('target: {properties: {sasl.password: "$${PASSWORD}", sasl.username: "${BROKER}"}}', set()),
        ('target: {properties: {sasl.password: "${ABSENT}"}}', set()),
        ('tracking: {uri: "http://u:${MLFLOW_PASSWORD}@h"}', set()),
        ("workload: {record_bytes: 100}", set()),
    ],
)
def test_only_the_secrets_of_targets_are_dropped(text: str, dropped: set[str]) -> None:
    environ = dict(ENVIRON)
    drop_used_secrets(text, (), environ)
    assert environ == {name: value for name, value in ENVIRON.items() if name not in dropped}


def test_the_secrets_of_a_connection_file_are_dropped_too(tmp_path: Path) -> None:
    (tmp_path / "client.properties").write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=PLAIN\nsasl.username=${BROKER}\nsasl.password=${PASSWORD}\n"
    )
    text = "workload: {record_bytes: 100}\ntarget: {bootstrap: 'b:1', command_config: client.properties}\n"
    environ = dict(ENVIRON)
    spec = parse_study(text, name="study", folder=tmp_path, origin="study.yaml", environ=environ)
    assert spec.targets[0].connection["sasl.password"] == "hunter2"
    drop_used_secrets(text, spec.targets, environ)
    assert environ == {name: value for name, value in ENVIRON.items() if name != "PASSWORD"}
