"""Variables from which a study took secrets are not passed on to other processes; all others are."""

import pytest

from tuner.study_file import drop_used_secrets

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
    drop_used_secrets(text, environ)
    assert environ == {name: value for name, value in ENVIRON.items() if name not in dropped}
