"""`tuner sync`, `tuner ui`, and `tuner recommend` from MLflow."""

import json
import os
import signal
import socket
import sqlite3
import subprocess
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
import typer
from typer.testing import CliRunner, Result

from search_spaces.files.properties_file import parse_properties
from tests.helpers.command import arguments
from tests.helpers.invented_studies import baseline, confirming, study, trial
from tests.helpers.mlflow_server import server
from tests.helpers.ports import free_port
from tests.helpers.waiting import eventually
from tests.tuner.tracking.looking import files, runs
from tuner.cli.commands.recommend import recommend
from tuner.cli.commands.sync import sync_study
from tuner.cli.commands.ui import ui
from tuner.model.errors import NoFeasibleConfig, StudyNotFound
from tuner.model.goals import Goal
from tuner.model.study_files import RESULTS_FILE
from tuner.present.report import write_all_artifacts
from tuner.tracking import TrackingError, recommend_from_tracking, sync, tracking_of

if TYPE_CHECKING:
    from mlflow import MlflowClient

app = typer.Typer()
app.command("sync")(sync_study)
app.command("ui")(ui)
app.command("recommend")(recommend)

OBJECTIVES = ["mb_per_s", "latency_p99_ms"]
Served = list[tuple[list[str], dict[str, str]]]


@pytest.fixture(autouse=True)
def studies(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One study in the folder in which the commands look for studies."""
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(root))
    study(root / "night", baseline(), trial(1)).close()


@pytest.fixture(autouse=True)
def short_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """A short text in place of the report, whose plots take long."""
    monkeypatch.setattr(
        "tuner.cli.commands.sync.write_all_artifacts", lambda _, out: (out / "the-report.html").write_text("short")
    )


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Served:
    """The commands that would have replaced this process."""
    found: Served = []

    def execve(_: str, words: list[str], environment: dict[str, str]) -> None:
        found.append((words, environment))

    monkeypatch.setattr(os, "execve", execve)
    return found


def table_version(file: Path) -> str:
    """Return the version of MLflow's tables in a SQLite file."""
    with closing(sqlite3.connect(file)) as db:
        return str(db.execute("SELECT version_num FROM alembic_version").fetchone()[0])


def tuner(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


@pytest.mark.campaign
def test_sync_reports_what_it_wrote(client: "MlflowClient") -> None:
    ended = tuner("sync", "night", "--json")
    assert ended.exit_code == 0
    told = json.loads(ended.stdout)
    assert (told["study"], told["runs_written"], told["trials_behind"], told["error"]) == ("night", 3, 0, None)
    again = tuner("sync", "night")
    assert "is up to date with night: 0 runs written" in again.stdout
    assert again.stderr == "", "the progress bar is for terminals"
    assert "the-report.html" in files(client, runs(client)["night 1000 B"])


def test_the_report_has_a_folder_per_record_size_that_was_measured(root: Path, tmp_path: Path) -> None:
    study(root / "two", baseline(), trial(1), record_sizes=["1000", "100"]).close()
    write_all_artifacts(root / "two", tmp_path / "out")
    assert [folder.name for folder in (tmp_path / "out").iterdir()] == ["1000"]
    assert (tmp_path / "out" / "1000" / "front.png").is_file()


def test_sync_reports_a_server_that_does_not_answer() -> None:
    port = free_port()
    ended = tuner("sync", "night", "--tracking-uri", f"http://me:secretword@127.0.0.1:{port}")
    assert ended.exit_code == 1
    assert f"error: MLflow at http://me:***@127.0.0.1:{port} may lack" in ended.stderr
    assert "the server does not answer" in ended.stderr


@pytest.mark.parametrize(("written", "reason"), [(None, "unable to open"), ("no tables", "file is not a database")])
def test_sync_reports_a_file_that_is_no_database(tmp_path: Path, written: str | None, reason: str) -> None:
    place = tmp_path / "mlflow"
    if written is None:
        place.mkdir()
    else:
        place.write_text(written * 100)
    ended = tuner("sync", "night", "--tracking-uri", f"sqlite:///{place}")
    assert ended.exit_code == 1
    assert f"error: MLflow at sqlite:///{place} may lack" in ended.stderr
    assert reason in ended.stderr


@pytest.mark.parametrize("command", [("sync", "night"), ("ui",)])
def test_a_mistyped_address_in_the_environment_is_wrong_input(
    command: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLFLOW_TRACKING_URI", "htp://me:secretword@mlflow:5000")
    ended = tuner(*command)
    assert ended.exit_code == 2
    assert "MLflow's address must begin with http://" in " ".join(ended.stderr.split())
    assert "secretword" not in ended.stderr


def test_sync_refuses_a_folder_that_no_address_can_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = tmp_path / os.fsdecode(b"studies\xff")
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(odd))
    study(odd / "night", baseline()).close()
    refused = tuner("sync", "night")
    assert isinstance(refused.exception, TrackingError)
    assert "the path of MLflow's file must be UTF-8 text" in str(refused.exception)


@pytest.mark.campaign
def test_mlflow_s_file_is_created_again_if_that_was_interrupted(root: Path, empty_store: Path) -> None:
    file = root / "mlflow.db"
    file.unlink()

    def some_tables_are_there() -> bool:
        files = (file for file in root.rglob("*.db") if file.name != RESULTS_FILE)
        return any(b"model_version_tags" in part.read_bytes() for file in files for part in file.parent.glob("*.db*"))

    with subprocess.Popen(arguments("sync", "night"), stderr=subprocess.DEVNULL) as killed:
        eventually(some_tables_are_there)
        killed.kill()
    assert not file.exists() or table_version(file) == table_version(empty_store)
    assert tuner("sync", "night").exit_code == 0
    assert not list(root.glob(".mlflow-*"))


@pytest.mark.campaign
def test_an_error_of_mlflow_s_database_is_one_line_with_its_reason(root: Path) -> None:
    with closing(sqlite3.connect(root / "mlflow.db")) as db:
        db.execute("ALTER TABLE runs RENAME COLUMN name TO another")
    fresh = {name: value for name, value in os.environ.items() if name != "MLFLOW_LOGGING_LEVEL"}
    ran = subprocess.run(arguments("sync", "night"), env=fresh, capture_output=True, text=True, check=False)
    assert ran.returncode == 1
    (line,) = ran.stderr.splitlines()
    assert line.endswith("OperationalError: no such column: runs.name")


def test_sync_uses_the_uri_of_the_study(new_store: Callable[[str], str], root: Path) -> None:
    uri = new_store("elsewhere")
    study(root / "other", baseline(), tracking={"uri": uri, "experiment": "mine", "enabled": True}).close()
    assert json.loads(tuner("sync", "other", "--json").stdout)["uri"] == uri


def test_ui_serves_the_store_in_the_folder_of_the_studies(served: Served, root: Path) -> None:
    port = free_port()
    assert tuner("ui", "--port", str(port)).exit_code == 0
    ((words, environment),) = served
    assert words[words.index("--host") + 1] == "127.0.0.1"
    assert words[words.index("--port") + 1] == str(port)
    assert words[words.index("--artifacts-destination") + 1] == str(root / "mlartifacts")
    assert environment["MLFLOW_BACKEND_STORE_URI"].startswith("sqlite:///")
    assert environment["MLFLOW_DISABLE_TELEMETRY"] == "true"


def test_ui_uses_another_port_if_one_is_taken(served: Served) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = tuner("ui", "--port", str(port))
    assert f"port {port} is taken" in ended.stderr
    assert served[0][0][served[0][0].index("--port") + 1] != str(port)


def test_ui_listens_on_an_ipv6_address(served: Served) -> None:
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("this host has no IPv6")
    ended = tuner("ui", "--host", "::1", "--json")
    assert json.loads(ended.stdout)["address"].startswith("http://[::1]:")
    ((words, _),) = served
    assert words[words.index("--host") + 1] == "::1"


def test_ui_names_the_option_whose_value_the_system_refuses(served: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = tuner("ui", "--host", "203.0.113.7")
    assert (refused.exit_code, "--host must be an address of this machine" in refused.stderr) == (2, True)

    def bind(*_: object) -> None:
        raise PermissionError  # root, as which tests may run, may open every port

    monkeypatch.setattr(socket.socket, "bind", bind)
    refused = tuner("ui", "--port", "80")
    assert refused.exit_code == 2
    assert "the system does not allow 80" in " ".join(refused.stderr.replace("│", " ").split())
    assert not served


def test_ui_prints_the_address_of_a_server_that_exists(served: Served) -> None:
    ended = tuner("ui", "--tracking-uri", "https://me:secretword@mlflow.example:5000")
    assert ended.stdout == "https://me:***@mlflow.example:5000\n"
    assert not served


def test_ui_of_a_study_prints_links_to_its_views(served: Served, root: Path) -> None:
    sync(root / "night", tracking_of({}))
    ended = tuner("ui", "night", "--host", "127.0.0.1")
    assert "night 1000 B: front: http://127.0.0.1:" in ended.stdout
    assert "/#/experiments/1/runs?viewStateShareKey=tuner-id-of-night-front-1000&" in ended.stdout
    assert served


def test_ui_of_a_study_without_links_says_why(served: Served) -> None:
    port = free_port()
    ended = tuner("ui", "night", "--tracking-uri", f"http://me:secretword@127.0.0.1:{port}")
    assert "the server does not answer" in ended.stderr
    assert ended.stdout == f"http://me:***@127.0.0.1:{port}\n"
    assert not served


def test_ui_without_a_store_says_how_to_create_it(served: Served, root: Path) -> None:
    (root / "mlflow.db").unlink()
    ended = tuner("ui")
    assert isinstance(ended.exception, StudyNotFound)
    assert "`tuner run` or `tuner sync` creates it" in str(ended.exception)
    assert not served


def test_the_error_for_a_missing_result_names_what_mlflow_holds(root: Path) -> None:
    sync(root / "night", tracking_of({}))
    cases: list[tuple[str | None, str, str, type[Exception], str]] = [
        (None, "day", "1000", StudyNotFound, "it holds: night"),
        (None, "night", "10", StudyNotFound, "it has measured: 1000"),
        ("sqlite:////nowhere/mlflow.db", "night", "1000", TrackingError, "does not exist"),
        ("http://127.0.0.1:9", "night", "1000", TrackingError, "the server does not answer"),
    ]
    for uri, name, record_bytes, error, message in cases:
        with pytest.raises(error, match=message):
            recommend_from_tracking(uri, name, record_bytes, Goal.BALANCED)


@pytest.mark.parametrize(
    ("best", "objectives", "goal"),
    [
        ((20.0, 10.0), OBJECTIVES, "balanced"),
        ((20.0, 30.0), OBJECTIVES, "throughput"),
        ((9.5, 5.0), OBJECTIVES, "balanced"),
        ((6.0, 5.0), OBJECTIVES, "latency"),
        ((9.0, 30.0), OBJECTIVES, "balanced"),
        ((20.0, 10.0), ["mb_per_s"], "throughput"),
    ],
)
def test_mlflow_and_the_store_agree_if_no_goal_is_named(
    root: Path, best: tuple[float, float], objectives: list[str], goal: str
) -> None:
    found = trial(1, *best)
    trials = [
        replace(each, objectives=each.objectives[: len(objectives)])
        for each in (baseline(), found, *confirming(found, 2))
    ]
    study(root / "day", *trials, objectives=objectives).close()
    tuner("sync", "day")
    words = ("recommend", "day", "--record-bytes", "1000", "--format", "json")
    store = f"sqlite:///{root / 'mlflow.db'}"
    here, there = (json.loads(tuner(*words, *more).stdout) for more in ((), ("--tracking-uri", store)))
    assert here["goal"] == goal
    assert there == here


def test_conditions_choose_among_the_goals_in_mlflow(root: Path) -> None:
    study(root / "day", baseline(), trial(1, 20.0, 10.0), trial(2, 10.0, 2.0)).close()
    tuner("sync", "day")
    words = ("recommend", "day", "--record-bytes", "1000", "--tracking-uri", f"sqlite:///{root / 'mlflow.db'}")
    chosen = {
        limit: json.loads(tuner(*words, "--min-mb-per-s", limit, "--format", "json").stdout)["goal"]
        for limit in ("5", "15")
    }
    assert chosen == {"5": "balanced", "15": "throughput"}
    for goal, named in (((), "any goal"), (("--goal", "throughput"), "goal throughput")):
        refused = tuner(*words, *goal, "--min-mb-per-s", "50")
        assert isinstance(refused.exception, NoFeasibleConfig)
        assert named in str(refused.exception)


def test_a_recommendation_from_mlflow_needs_a_record_size() -> None:
    refused = tuner("recommend", "night", "--tracking-uri", "http://127.0.0.1:9")
    assert refused.exit_code == 2
    assert "--tracking-uri needs --record-bytes" in " ".join(refused.stderr.split())


def test_the_winner_of_a_goal_in_mlflow_is_printed_as_properties(root: Path) -> None:
    study(root / "day", baseline(), trial(1, 20.0, 10.0)).close()
    tuner("sync", "day")
    words = ("recommend", "day", "--record-bytes", "1000", "--goal", "throughput", "--format", "properties")
    printed = tuner(*words, "--tracking-uri", f"sqlite:///{root / 'mlflow.db'}").stdout
    assert parse_properties(printed) == {"linger.ms": "1"}


@pytest.mark.long
def test_ctrl_c_ends_the_ui_without_a_traceback(root: Path) -> None:
    port = free_port()
    with server(root, port) as process:
        os.killpg(process.pid, signal.SIGINT)
        process.wait()
    said = (root / "server.log").read_text()
    assert "Ctrl-C stops it" in said
    assert "Traceback" not in said
