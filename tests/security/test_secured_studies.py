"""Whole studies on a secured broker: the documented permissions are enough, and the password appears nowhere."""

import itertools
import re
import stat
from pathlib import Path

import pytest

from runners.clusters.topics.leftovers import find_leftovers
from runners.host_processes.folders import state_root
from tests.helpers.command import Ended, tuner
from tests.helpers.kafka_tools import run_tool
from tests.security.acls import OURS, YOURS, bindings, commands, documented, grant, grant_only, rights, without
from tests.security.secured import PASSWORD, TOPIC, USER, Secured, principal, write_client
from tests.security.studies import study_file, target_by_environment, target_by_file
from tests.security.test_secured_broker import KEPT_OUT, kept_out
from tests.security.watched import Watcher, holding

pytestmark = [pytest.mark.broker, pytest.mark.campaign, pytest.mark.usefixtures("studies")]

SECRET = "Gr4nted-t0-tests"  # the part of the password that stays the same under any quoting
VARIABLE = "TUNER_TEST_KAFKA_PASSWORD"
REJECTED = ("wrong password", "unknown CA", "no certificate", "plaintext to TLS")
"""The cases that the short campaign also tries with a command."""


def measured(ended: Ended, secured: Secured) -> None:
    """Check that the study came to its end, whatever its result, and that it left no topics behind."""
    assert ended.code in (0, 5), ended.err
    assert "Traceback" not in ended.err
    assert not find_leftovers(secured.admin)


@pytest.mark.long
@pytest.mark.parametrize(
    ("listener", "topic"),
    [
        ("SCRAM", None),
        *(
            pytest.param(listener, topic, marks=pytest.mark.long)
            for listener, topic in (("SCRAM", TOPIC), *itertools.product(("PLAIN", "MUTUAL"), (None, TOPIC)))
        ),
    ],
)
def test_a_study_needs_no_more_than_the_documented_permissions(
    secured: Secured, client_file: Path, listener: str, topic: str | None
) -> None:
    grant_only(secured.admin, rights(YOURS if topic else OURS, user=principal(listener)))
    target = target_by_file(secured, listener, client_file, topic)
    ended = tuner("run", study_file(client_file.parent / "secured.yaml", target))
    measured(ended, secured)
    named = ["--topic", topic] if topic else []
    connection = ["--bootstrap", secured.address(listener), "--command-config", str(client_file)]
    bench = tuner("bench", *connection, *named, "--warmup", "0.2", "--seconds", "0.6", "--json")
    assert bench.code == 0, bench.err
    doctor = tuner("doctor", *connection, *named, "--no-load-test", "--json")
    assert doctor.code == 0, doctor.out


@pytest.mark.parametrize(
    "permission", ["Write", *(pytest.param(each, marks=pytest.mark.long) for each in ("Create", "Delete"))]
)
@pytest.mark.parametrize("command", ["bench", pytest.param("run", marks=pytest.mark.long)])
def test_a_command_without_a_permission_fails_and_names_the_permission(
    secured: Secured, client_file: Path, permission: str, command: str
) -> None:
    grant_only(secured.admin, without(rights(OURS), permission))
    target = target_by_file(secured, "SCRAM", client_file)
    words = {
        "bench": ["bench", "--bootstrap", secured.address("SCRAM"), "--command-config", str(client_file)],
        "run": ["run", study_file(client_file.parent / "secured.yaml", target)],
    }[command]
    refused = tuner(*words)
    assert refused.code == 3, refused.err
    assert f"{permission} on topics that start with tuner-" in refused.err
    assert "Traceback" not in refused.err
    (advised,) = commands(refused.err)
    assert bindings(advised)[0].principal == f"User:{USER}"
    grant(secured.admin, bindings(advised))
    more = ["--warmup", "0.2", "--seconds", "0.6"] if command == "bench" else []
    again = tuner(*words, *more)
    measured(again, secured)


@pytest.mark.parametrize(
    "case", [pytest.param(case, marks=() if case in REJECTED else pytest.mark.long) for case in KEPT_OUT]
)
def test_a_rejected_client_gets_one_line_and_exit_code_3(secured: Secured, client_file: Path, case: str) -> None:
    address, properties, _ = kept_out(secured, case)
    words = ["--bootstrap", address, "--command-config", write_client(client_file, properties)]
    bench = tuner("bench", "--quiet", *words)
    assert bench.code == 3, bench.err
    assert bench.err.startswith("error: ")
    assert bench.err.count("\n") == 1
    assert SECRET not in bench.out + bench.err


def test_doctor_and_run_fail_in_the_same_way(secured: Secured, client_file: Path) -> None:
    address, properties, said = kept_out(secured, "wrong password")
    write_client(client_file, properties)
    target = f'{{bootstrap: "{address}", command_config: {client_file}}}'
    for words in (
        ["doctor", "--no-load-test", "--bootstrap", address, "--command-config", str(client_file)],
        ["run", study_file(client_file.parent / "secured.yaml", target)],
    ):
        ended = tuner(*words)
        assert ended.code == 3, ended.err
        assert re.search(said, ended.out + ended.err)
        assert "Traceback" not in ended.err


def test_kafka_s_own_tool_accepts_the_documented_commands(secured: Secured, tmp_path: Path) -> None:
    grant_only(secured.admin, [])
    for section in (OURS, YOURS):
        (command,) = documented(section)
        admin = tmp_path / "admin.properties"
        admin.touch()
        command = command.replace("broker:9093", secured.admin.bootstrap).replace("admin.properties", str(admin))
        ran = run_tool("org.apache.kafka.tools.AclCommand", command.split()[1:])
        assert ran.returncode == 0, ran.stderr
    assert tuner(
        "doctor", "--bootstrap", secured.address("SCRAM"), "--no-load-test", "--command-config",
        write_client(tmp_path / "client.properties", secured.scram),
    ).code == 0  # fmt: skip


@pytest.mark.parametrize("form", [pytest.param("file", marks=pytest.mark.long), "environment"])
def test_the_password_of_a_study_appears_nowhere(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, studies: Path, form: str
) -> None:
    grant_only(secured.admin, rights(OURS))
    private = tmp_path / "private"
    private.mkdir()
    client_file = private / "client.properties"
    if form == "file":
        target = target_by_file(secured, "SCRAM", client_file)
        client_file.chmod(stat.S_IRUSR)
    else:
        monkeypatch.setenv(VARIABLE, PASSWORD)
        target = target_by_environment(secured, VARIABLE)
    watcher = Watcher(SECRET)
    ended = watcher.run("run", study_file(tmp_path / "secured.yaml", target, executor="ray", mlflow=True))
    measured(ended, secured)
    assert watcher.found == set()
    assert any("raylet" in line for line in watcher.command_lines)
    assert len(watcher.environments) > 3
    assert len(watcher.ray_files) > 10, "Ray's logs were searched"
    assert SECRET not in ended.out + ended.err
    seen: set[str] = set()
    found = [path for root in (tmp_path, state_root()) for path in holding(root, SECRET, seen)]
    assert found == ([client_file] if form == "file" else []), (
        "the search finds the password only in the user's own file"
    )
    assert {"results.db", "mlflow.db", "study.yaml", "report.html"} <= {Path(path).name for path in seen}
    after = tuner("run", str(tmp_path / "secured.yaml")), tuner("report", "secured")
    assert all(SECRET not in each.out + each.err for each in after)
