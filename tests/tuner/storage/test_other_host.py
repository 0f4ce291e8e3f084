"""Tests that another host can read, confirm and recommend a study, given the database's address and the name."""

import json
import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.command import Ended, arguments
from tests.helpers.postgres_server import PASSWORD, USER, PostgresServer
from tests.helpers.shared_storage import storage_of
from tests.helpers.studies import Steady, Told, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.errors import StudyNotFound
from tuner.model.goals import Goal
from tuner.results.recommendations.recommend import recommend
from tuner.results.study_results import load_results
from tuner.storage.locations import ROOT_VARIABLE, find_study
from tuner.tracking import tracking_of

TEXT = """\
study: small
workload:
  record_bytes: [1000]
search: {trials: 6}
executor: {kind: simulated}
"""


class Host:
    """A simulated machine with its own folders, and with the database's address and password in its environment."""

    def __init__(self, folder: Path, postgres: PostgresServer, url: str) -> None:
        self.folder = folder
        folder.mkdir()
        secrets = folder / "pgpass"
        escaped = PASSWORD.replace(":", "\\:")
        secrets.write_text(f"127.0.0.1:{postgres.port}:*:{USER}:{escaped}\n", encoding="utf-8")
        secrets.chmod(0o600)
        self._environment = {
            **os.environ,
            "KAFKA_TUNER_STUDIES": str(folder / "studies"),
            "KAFKA_TUNER_STORAGE": url,
            "PGPASSFILE": str(secrets),
        }

    def tuner(self, *words: str, **environment: str) -> Ended:
        """Run `tuner` on this host."""
        ran = subprocess.run(
            arguments(*words),
            capture_output=True,
            text=True,
            timeout=200,
            stdin=subprocess.DEVNULL,
            check=False,
            cwd=self.folder,
            env={**self._environment, **environment},
        )
        return Ended(ran.returncode, ran.stdout, ran.stderr)


@pytest.fixture
def bare(database: str) -> str:
    """Return the database's address without the password."""
    return f"postgresql://{USER}@{database.rpartition('@')[2]}"


@pytest.mark.long
def test_every_command_works_on_another_host(
    tmp_path: Path, postgres: PostgresServer, database: str, bare: str
) -> None:
    one, other = (Host(tmp_path / name, postgres, bare) for name in ("one", "other"))
    (one.folder / "small.yaml").write_text(TEXT, encoding="utf-8")
    ran = one.tuner("run", "small.yaml", "--no-mlflow")
    assert ran.code == 0, ran.err
    assert not list((one.folder / "studies").rglob("*.db"))
    assert (one.folder / "studies/small/report.html").is_file()

    status = other.tuner("status", "small", "--json")
    assert status.json["state"] == "finished"
    front = other.tuner("front", "small", "--json")
    assert front.json["fronts"][0]["record_bytes"] == "1000"
    recommended = other.tuner("recommend", "small", "--record-bytes", "1000", "--format", "json")
    assert recommended.code == 0, recommended.err
    assert other.tuner("explain", "small", "--json").code == 0
    reported = other.tuner("report", "small")
    assert Path(reported.out.strip()).is_file()
    assert Path(reported.out.strip()).parent == other.folder / "studies" / "small"
    assert other.tuner("fork", "small", "again").code == 0
    compared = other.tuner("compare", "small", "again", "--json")
    assert compared.json["sizes"], compared.err
    assert other.tuner("rm", "again", "--yes").code == 0
    before = len(load_results(Path("small"), storage_of(database)).sizes[0].trials)
    confirmed = other.tuner("confirm", "small", "--rounds", "2", "--max-rounds", "2", "--no-mlflow")
    assert confirmed.code == 0, confirmed.err
    assert len(load_results(Path("small"), storage_of(database)).sizes[0].trials) > before

    unknown = other.tuner("front", "smal")
    assert unknown.code == 2
    assert "there are: small" in unknown.complaint
    for ended in (ran, status, front, recommended, reported, compared, confirmed, unknown):
        assert PASSWORD not in ended.out + ended.err
    everything = b"".join(path.read_bytes() for path in (one.folder / "studies").rglob("*") if path.is_file())
    assert PASSWORD.encode() not in everything


@pytest.mark.long
def test_an_option_of_the_command_line_names_the_storage(
    tmp_path: Path, postgres: PostgresServer, database: str, bare: str
) -> None:
    measure_study(
        simulated_study((1000,), trials=4),
        TEXT,
        tmp_path / "small",
        Told(),
        None,
        Steady(),
        storage=storage_of(database),
    )
    host = Host(tmp_path / "host", postgres, "")
    assert host.tuner("status", "small").code == 2
    found = host.tuner("--storage", bare, "status", "small", "--json")
    assert found.json["state"] == "finished"
    wrong = host.tuner("--storage", f"postgresql://{USER}:s3cret@127.0.0.1", "status", "small")
    assert wrong.code == 2
    assert "must name its database" in wrong.complaint
    assert "s3cret" not in wrong.err
    away = host.tuner("--storage", f"postgresql://{USER}:s3cret@127.0.0.1:1/tuner", "status", "small")
    assert away.code == 1
    assert "Connection refused" in away.complaint
    assert "s3cret" not in away.err


def test_the_python_api_needs_only_the_address_and_the_name(
    tmp_path: Path, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path / "there"))
    storage = storage_of(database)
    spec = simulated_study((1000,), trials=6)
    ran = measure_study(spec, TEXT, tmp_path / "here" / "small", Told(), None, Steady(), storage=storage)
    found = load_results(find_study("small", storage), storage)
    assert found.folder == tmp_path / "there" / "small"
    assert found.sizes == ran.sizes
    assert found.study_file == TEXT
    assert recommend(found, "1000", Goal.THROUGHPUT) == recommend(ran, "1000", Goal.THROUGHPUT)
    assert not (tmp_path / "there").exists(), "looking for a study must create nothing"
    with pytest.raises(StudyNotFound, match=r"no study 'other' in postgresql://tester:\*\*\*@.*; there are: small"):
        find_study("other", storage)


def test_a_password_in_the_tracking_uri_is_not_stored(tmp_path: Path, database: str) -> None:
    storage = storage_of(database)
    spec = simulated_study((1000,), trials=4)
    for uri, kept in (
        ("postgresql://ann:s3cret@db/mlflow", None),
        ("postgresql://db/mlflow?password=s3cret", None),
        ("postgresql://ann@db/mlflow", "postgresql://ann@db/mlflow"),
    ):
        named = replace(spec, tracking=replace(spec.tracking, uri=uri))
        measure_study(named, TEXT, tmp_path / f"small{len(uri)}", Told(), None, Steady(), storage=storage)
        facts = load_results(tmp_path / f"small{len(uri)}", storage).facts
        assert tracking_of(facts).uri == kept
        assert "s3cret" not in json.dumps(dict(facts))
