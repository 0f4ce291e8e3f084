"""The password of a URI in a study file reaches nothing that a study writes or prints."""

import gzip
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql

from tests.helpers.command import tuner
from tests.helpers.postgres_server import PASSWORD
from tuner.study_file import StudyFileError, parse_study
from tuner.tracking import TrackingLocation
from tuner.tracking.connection import reason

pytestmark = pytest.mark.campaign

FORMATS = (PASSWORD, quote(PASSWORD), quote(PASSWORD, safe=""))


def rows(database: str) -> str:
    """Return all rows of all tables as text."""
    tables = "SELECT schemaname, tablename FROM pg_tables WHERE schemaname NOT IN ('pg_catalog', 'information_schema')"
    with psycopg.connect(database) as connection:
        found = connection.execute(tables).fetchall()
        assert found
        each = (
            connection.execute(sql.SQL("SELECT t::text FROM {} AS t").format(sql.Identifier(*name))) for name in found
        )
        return "\n".join(str(row) for cursor in each for row in cursor)


def contents(folder: Path) -> str:
    """Return the content of all files below a folder."""
    found = [path.read_bytes() for path in folder.rglob("*") if path.is_file()]
    return "\n".join((gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data).decode("latin-1") for data in found)


def test_a_password_from_a_variable_is_in_no_output(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """MLflow and the results share the database, so one search covers both."""
    before, password, after = database.partition(quote(PASSWORD, safe=""))
    assert password
    file, folder = tmp_path / "night.yaml", tmp_path / "out"
    file.write_text(
        f"""
        workload: {{record_bytes: 100, saturate: {{measured: 2s}}, paced: {{measured: 2s}}}}
        executor: {{kind: simulated}}
        search: {{trials: 3}}
        confirm: {{rounds: 2, max_rounds: 2}}
        tracking: {{uri: "{before}${{THE_PASSWORD}}{after}"}}
        """
    )
    monkeypatch.setenv("THE_PASSWORD", password)
    monkeypatch.setenv("KAFKA_TUNER_STUDIES", str(folder / "studies"))
    monkeypatch.setenv("KAFKA_TUNER_STORAGE", database)
    said = ""
    for words in (
        ["plan", str(file)],
        ["run", str(file)],
        ["status", "night", "--json"],
        ["recommend", "night", "--format", "json", "--output", str(folder / "found.json")],
        ["report", "night", "--output", str(folder / "night.html")],
        ["export", "night", "--to", f"sqlite:///{folder / 'optuna.db'}"],
        ["sync", "night"],
        ["sync", "night", "--tracking-uri", database],
    ):
        ran = tuner(*words)
        assert ran.code == 0, ran.err
        said += ran.out + ran.err
    assert "MLflow at postgresql" in ran.out
    assert not list(folder.rglob("mlflow.db")), "`sync` writes to the address in the study file"
    monkeypatch.delenv("THE_PASSWORD")
    refused = tuner("sync", "night")
    assert (refused.code, "THE_PASSWORD is not set; export it" in refused.complaint) == (2, True), refused.err
    written = {"printed": said, "files": contents(folder), "database": rows(database)}
    assert all("night" in text for text in written.values())
    assert [place for place, text in written.items() if any(form in text for form in FORMATS)] == []


@pytest.mark.parametrize(
    "line",
    [
        'tracking: {uri: "http://me:hunter2@mlflow.test:5000"}',
        'tracking: {uri: "http://me:hunter2${MORE}@mlflow.test:5000"}',
        'tracking: {uri: "http://me:${MORE:-hunter2}@mlflow.test:5000"}',
        'tracking: {uri: "postgresql://db/x?password=hunter2"}',
        'tracking: {experiment: "http://me:hunter2@mlflow.test:5000"}',
        'target: {bootstrap: "a:1", properties: {sasl.oauthbearer.token.endpoint.url: "https://me:hunter2@idp.test/token"}}',
        'target: {bootstrap: "http://me:hunter2@a.test:9092"}',
        'executor: {ray_address: "http://me:hunter2@head.test:6379"}',
    ],
)
def test_a_password_that_is_written_into_a_uri_is_refused(line: str) -> None:
    rule = r"a password must not be written into a study file; write \$\{NAME\}"
    with pytest.raises(StudyFileError, match=rule) as caught:
        parse_study(
            f"workload: {{record_bytes: 100}}\n{line}\n",
            name="night",
            folder=None,
            origin="night.yaml",
            environ={"MORE": "more"},
        )
    assert "hunter2" not in str(caught.value)
    assert [problem.line for problem in caught.value.problems] == [2]


@pytest.mark.parametrize("before", [270, 280, 290, 299])
def test_a_reason_that_is_cut_has_no_part_of_a_password(before: int, tmp_path: Path) -> None:
    uri = "postgresql://ann:S3cretPassw0rd@db/mlflow"
    told = reason(RuntimeError(f"{'x' * before} {uri} refused"), TrackingLocation(uri, tmp_path))
    assert "S3" not in told


def test_a_password_from_a_variable_is_accepted() -> None:
    text = 'workload: {record_bytes: 100}\ntracking: {uri: "http://${USER_NAME:-me}:${PASSWORD}@mlflow.test:5000/x"}\n'
    spec = parse_study(text, name="night", folder=None, origin="night.yaml", environ={"PASSWORD": "hunter2"})
    assert spec.tracking.uri == "http://me:hunter2@mlflow.test:5000/x"
