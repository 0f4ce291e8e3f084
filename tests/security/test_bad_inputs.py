"""Bad files and records give an error that names the place and shows no secret, and never a traceback or a hang."""

import json
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any, Final

import pytest

from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError, PropertiesFileError
from search_spaces.files.properties_file import read_properties
from tests.helpers.repository import KEPT_STUDIES, ROOT
from tests.helpers.serving import study_file
from tests.security.mutations import flipped, mutated, try_all
from tuner.cli.options.target_options import target_of
from tuner.execution.studies.run import measure_study
from tuner.execution.studies.study_progress import SilentReporter
from tuner.model.errors import EXPECTED, ResultsDamaged, StudyError
from tuner.model.progress import Progress, StudyState
from tuner.results.recommendations.recommend import recommendations
from tuner.results.study_results import load_results
from tuner.service.responses.query import ResultQuery
from tuner.service.responses.responder import Responder
from tuner.storage.locations import storage_at
from tuner.storage.sqlite import FolderStorage
from tuner.study_file import parse_study, read_study_file

STUDIES: Final = [path.read_text(encoding="utf-8") for path in sorted((ROOT / "examples").glob("*.yaml"))]
PROPERTIES: Final = "linger.ms=5\nacks=all\ncompression.type=lz4\nbatch.size=100000\nenable.idempotence=true\n"
SECRET: Final = "hunter2" * 5
_KIND: Final = "PRIVATE"  # so that no scanner takes this file for one with a key
PEM: Final = "\\n\\\n".join([f"-----BEGIN {_KIND} KEY-----", SECRET, SECRET, f"-----END {_KIND} KEY-----"])
JAAS: Final = "org.apache.kafka.common.security.scram.ScramLoginModule"
CONNECTIONS: Final = (
    "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=tuner\n"
    f"sasl.password={SECRET}\nssl.ca.location=/etc/ssl/ca.pem\nsocket.keepalive.enable=true\n",
    "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-256\n"
    f'sasl.jaas.config={JAAS} required \\\n  username="tuner" \\\n  password="{SECRET}";\n',
    f"security.protocol=SSL\nssl.key.pem={PEM}\nssl.key.password={SECRET}\nssl.certificate.location=c.pem\n",
    f"security.protocol=SSL\nssl.keystore.type=PEM\nssl.keystore.key={PEM}\nssl.keystore.certificate.chain=x\n",
    "security.protocol=SASL_SSL\nsasl.mechanism=OAUTHBEARER\nsasl.oauthbearer.method=oidc\n"
    f"sasl.oauthbearer.client.id=tuner\nsasl.oauthbearer.client.secret={SECRET}\n"
    "sasl.oauthbearer.token.endpoint.url=https://login.example\n",
)
SHORT: Final = 200
CAMPAIGN: Final = 800
FORMATS: Final[dict[str, tuple[dict[str, Any], ...]]] = {
    "recommendation": tuple({"form": each} for each in ("json", "properties", "java", "spring")),
    "front": ({"form": "text"}, {"form": "csv"}, {}),
    "grid": ({"form": "text"}, {"form": "csv"}, {}),
    "status": ({"form": "text"}, {}),
    "summary": ({}, {"at_work": True}),
    "trials": ({},),
    "report": ({},),
    "picture": ({"record_bytes": "1000"},),
}
WEIGHTS: Final = (6, 6, 2, 6, 3, 3, 2, 1)


def of_lengths(short: int, campaign: int, long: int) -> pytest.MarkDecorator:
    """Run a test with `short` seeds, or with `campaign` seeds in the campaign, or `long` seeds in the long campaign."""
    return pytest.mark.parametrize(
        ("first", "count"),
        [
            (0, short),
            pytest.param(short, campaign - short, marks=pytest.mark.campaign),
            pytest.param(campaign, long - campaign, marks=pytest.mark.long),
        ],
    )


@of_lengths(SHORT, CAMPAIGN, 10_000)
def test_a_bad_input_gives_an_error_that_names_the_place(first: int, count: int, tmp_path: Path) -> None:
    def check(r: random.Random) -> None:
        for old in tmp_path.glob("bad.*"):
            old.unlink()
        kind = r.choices(("study", "properties", "record"), (6, 3, 1))[0]
        try:
            if kind == "study":
                place = tmp_path / "bad.yaml"
                place.write_bytes(mutated(r, r.choice(STUDIES)))
                read_study_file(place)
            elif kind == "properties":
                place = tmp_path / "bad.properties"
                place.write_bytes(mutated(r, PROPERTIES))
                ProducerConfig.parse(read_properties(place))
            else:
                study = shutil.copytree(KEPT_STUDIES / "sqlite-1", tmp_path / "study", dirs_exist_ok=True)
                place = study / "results.db"
                place.write_bytes(flipped(r, place.read_bytes(), r.choice([1, 4, 40])))
                recommendations(load_results(study))
        except PropertiesFileError as refused:
            message, places = str(refused), [place.name]
        except ConfigError as refused:
            message = str(refused)
            places = {"study": [place.name], "properties": [""], "record": ["trial "]}[kind]
        except StudyError as refused:
            message, places = str(refused), [str(tmp_path), "small", "the fact "]
        else:
            return
        assert any(each in message for each in places), message

    try_all(first, count, check, lambda: {path.name: path.read_bytes()[:2_000] for path in tmp_path.glob("bad.*")})


@of_lengths(200, 400, 6_000)
def test_a_bad_connection_file_is_named_and_its_secrets_are_not_shown(first: int, count: int, tmp_path: Path) -> None:
    place = tmp_path / "client.properties"
    by_study = tmp_path / "by.yaml"
    by_study.write_text(
        'target: {bootstrap: "broker:9092", command_config: client.properties}\nworkload: {record_bytes: [100]}\n'
    )
    seen = set()

    def check(r: random.Random) -> None:
        place.write_bytes(mutated(r, r.choice(CONNECTIONS)))
        through_study = r.random() < 0.5
        try:
            target: object = read_study_file(by_study)[0].targets if through_study else target_of("broker:9092", place)
        except ConfigError as refused:
            shown = str(refused)
            assert place.name in shown, shown
            assert not through_study or "target.command_config" in shown, shown
            seen.add("refused")
        else:
            shown = repr(target)
            seen.add("read")
        assert "hunter2" not in shown, shown

    try_all(first, count, check, place.read_bytes)
    assert seen == {"refused", "read"}


@pytest.fixture(scope="module")
def studies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with finished studies that may be copied: two of earlier releases, and one of this release."""
    root = tmp_path_factory.mktemp("finished")
    for name in ("sqlite-1", "quickstart-35028fe"):
        shutil.copytree(KEPT_STUDIES / name, root / name)
    run(root / "first", trials=3)
    with closing(FolderStorage().read(root / "first")) as store:
        store.set_progress(Progress(StudyState.FINISHED, trials=3, started_at="2026-11-23T10:00:00+00:00"))
    return root


def run(folder: Path, *, trials: int) -> None:
    text = study_file("first", trials=trials).replace("target: simulated", "executor: {kind: simulated}")
    spec = parse_study(text, name="first", folder=folder.parent, origin="first.yaml", environ={})
    measure_study(spec, text, folder, SilentReporter())


def damage(r: random.Random, study: Path) -> str:
    """Damage one file or value in the folder of a study; return its name and its new content."""
    with closing(sqlite3.connect(study / "results.db")) as db, db:
        tables = ("trials", "facts", "fact's name")
        what = r.choice([*tables, "the plan", *sorted(str(each.relative_to(study)) for each in study.rglob("*.*"))])
        if what in tables or what == "the plan":
            table, column = ("trials", "body") if what == "trials" else ("facts", "body")
            column = "name" if what == "fact's name" else column
            ((rows,),) = db.execute(f"SELECT json_group_array(rowid) FROM {table}")
            row = r.choice(json.loads(rows))
            if what == "the plan":
                ((row,),) = db.execute("SELECT rowid FROM facts WHERE name = 'confirming'")
            ((before,),) = db.execute(f"SELECT {column} FROM {table} WHERE rowid = ?", [row])
            after = flipped(r, before.encode(), r.choice([1, 3]))
            db.execute(f"UPDATE OR REPLACE {table} SET {column} = CAST(? AS TEXT) WHERE rowid = ?", [after, row])
            return f"row {row} of {table}: {after!r}"
    path = study / what
    if what.startswith("results.db"):
        return "nothing"
    path.write_bytes(flipped(r, path.read_bytes(), r.choice([1, 4, 40])))
    return f"{what}: {path.read_bytes()[:2_000]!r}"


@of_lengths(15, 100, 1_000)
def test_a_damaged_record_is_named_by_every_reader(first: int, count: int, studies: Path, tmp_path: Path) -> None:
    damaged = ""

    def check(r: random.Random) -> None:
        nonlocal damaged
        name = r.choice(["sqlite-1", "quickstart-35028fe", "first", "first"])
        folder = tmp_path / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(studies / name, folder)
        damaged = damage(r, folder)
        responder = Responder(storage_at(), tmp_path)
        for what in r.choices(list(FORMATS), WEIGHTS, k=2):
            query = ResultQuery.of(name, what, **r.choice(FORMATS[what]))
            response = responder.responses(query)[query]
            assert response.status in (200, 404, 422), (what, response.body)
            if response.status != 200:
                places = (
                    str(folder),
                    "trial ",
                    "the fact ",
                    "record_bytes",
                    f"{name} has no results",
                    f"no study {name}",
                )
                assert any(each in response.body.decode() for each in places), response.body
        told = ""
        try:
            with closing(FolderStorage().read(folder)) as store:
                store.progress()
                store.study_file()
                for _, trial in store.trials():
                    store.attachment(trial, "saturated")
            if name == "first" and r.random() < 0.2:
                run(folder, trials=4)
        except ResultsDamaged as refused:
            told = str(refused)
        except EXPECTED as refused:  # what was damaged says something else now
            told = f"{folder}: {refused}"
        assert not told or any(each in told for each in (str(folder), "the fact ")), told

    try_all(first, count, check, lambda: damaged)
