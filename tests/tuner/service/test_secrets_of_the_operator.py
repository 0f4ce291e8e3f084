"""Secrets that the service's config file takes from variables stay in the study's process: its children lack them."""

from pathlib import Path

import psutil
import pytest

from tests.helpers.serving import at_work, serving, study_file
from tests.helpers.waiting import eventually
from tuner.service.config import load_config

pytestmark = pytest.mark.broker

CONFIG = """\
targets:
  own: {brokers: 1}
  lab: {bootstrap: "127.0.0.1:9", properties: {security.protocol: SASL_PLAINTEXT, sasl.password: "${LAB_PASSWORD}"}}
mlflow: {uri: "http://u:${PASSWORD_OF_MLFLOW}@127.0.0.1:9"}
"""


def read(process: psutil.Process, what: str) -> bytes:
    """Return a file of a process below `/proc`; nothing if the process has ended."""
    try:
        return Path(f"/proc/{process.pid}/{what}").read_bytes()
    except OSError:
        return b""


@pytest.mark.campaign
def test_ray_and_java_do_not_get_the_secrets_of_the_operator(tmp_path: Path) -> None:
    (tmp_path / "service.yaml").write_text(CONFIG)
    environ = {"LAB_PASSWORD": "hunter2-of-the-lab", "PASSWORD_OF_MLFLOW": "hunter2-of-mlflow"}
    text = study_file(trials=50).replace("target: simulated", "target: own").replace("tracking: {enabled: false}\n", "")
    with serving(tmp_path / "studies", "--config", str(tmp_path / "service.yaml"), environ=environ) as served:
        assert served.submit(text).status == 201
        (study,) = eventually(lambda: at_work(served.root))
        assert b"hunter2-of-the-lab" in read(study, "environ"), "the study's process needs the secrets"

        def started() -> list[psutil.Process]:
            children = study.children(recursive=True)
            lines = b"".join(read(child, "cmdline") for child in children)
            return children if all(word in lines for word in (b"kafka.Kafka", b"raylet", b"keeper")) else []

        children = eventually(started, 180.0)
        assert len(children) > 3
        # Between fork and exec, a child is still a copy of the study's process.
        eventually(lambda: not any(b"hunter2" in read(child, "environ") for child in children))
        served.client.cancel("first")


@pytest.mark.parametrize(
    ("uri", "dropped"),
    [
        ("http://u:${PASSWORD}@h", {"PASSWORD"}),
        ("${ADDRESS}", {"ADDRESS"}),
        ("http://u:${MLFLOW_TRACKING_PASSWORD}@h", set()),
        ("sqlite:///${HOME}/mlflow.db", set()),
    ],
)
def test_the_variables_of_mlflow_that_hold_secrets_are_known(tmp_path: Path, uri: str, dropped: set[str]) -> None:
    (tmp_path / "service.yaml").write_text(f'mlflow: {{uri: "{uri}"}}\n')
    environ = {"PASSWORD": "p", "ADDRESS": "http://u:p@h.test/", "MLFLOW_TRACKING_PASSWORD": "p", "HOME": "/home"}
    assert set(load_config(tmp_path / "service.yaml", environ).secret_variables) == dropped
