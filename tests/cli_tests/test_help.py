"""Help is quick, because no heavy library is imported to show it, and the list of verbs is correct."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

import pytest
import typer

from tests.docs_tests.pages import ROOT
from tests.docs_tests.program import options_of, options_of_service
from tests.helpers.command import tuner
from tuner.cli.verbs import REMOTE_VERBS, VERBS

_HEAVY: Final = (
    "confluent_kafka",
    "fastapi",
    "matplotlib",
    "mlflow",
    "numpy",
    "optuna",
    "plotly",
    "pydantic",
    "ray",
    "scipy",
    "sklearn",
    "sqlalchemy",
)


@pytest.mark.parametrize(
    "done",
    [
        "import tuner.cli.app",
        "sys.argv[1:] = ['--help']; from tuner.cli import main; main()",
    ],
)
def test_help_imports_nothing_heavy(done: str) -> None:
    told = f"print([name for name in {_HEAVY} if name in sys.modules], file=sys.stderr)"
    ran = subprocess.run(
        [sys.executable, "-c", f"import atexit, sys; atexit.register(lambda: {told}); {done}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stderr.strip() == "[]"


@pytest.mark.parametrize(
    ("place", "sentence"),
    [*VERBS.values(), *REMOTE_VERBS.values()],
    ids=[*VERBS, *(f"remote-{v}" for v in REMOTE_VERBS)],
)
def test_the_list_of_verbs_shows_the_first_sentence_of_each_help(place: str, sentence: str) -> None:
    module, _, name = place.partition(":")
    verb = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
    said = verb.info.help if isinstance(verb, typer.Typer) else inspect.getdoc(verb)
    assert said is not None
    assert " ".join(said.partition("\n\n")[0].split()) == sentence


def test_no_module_imports_a_verb() -> None:
    verbs = {f"tuner.cli.{place.partition(':')[0]}" for place, _ in (*VERBS.values(), *REMOTE_VERBS.values())}
    found = set()
    for file in (ROOT / "tuner").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {str(node.module), *(f"{node.module}.{each.name}" for each in node.names)}
            else:
                continue
            found |= {f"{file.name} imports {name}" for name in names & verbs}
    assert not found, "what verbs share belongs into a module that is no verb"


def test_a_verbs_name_as_an_argument_is_not_taken_for_the_verb() -> None:
    ended = tuner("status", "front")
    assert ended.code == 2
    assert "'front'" in ended.complaint


@pytest.mark.parametrize("verbs", [VERBS, REMOTE_VERBS], ids=["local", "remote"])
def test_every_verb_prints_json_for_scripts(verbs: Mapping[str, tuple[str, str]]) -> None:
    without = set()
    for verb, (place, _) in verbs.items():
        module, _, name = place.partition(":")
        function = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
        if inspect.isfunction(function) and "as_json" not in inspect.signature(function).parameters:
            without.add(verb)
    assert without <= {"schema", "ui"}, "a schema is JSON, and the MLflow UI runs until Ctrl-C"


def test_every_verb_prints_json_and_every_table_csv() -> None:
    """`schema` prints nothing but JSON, `serve` has no result, and `serve`, `broker` and `experiment` have verbs."""
    groups = {
        "serve token": ("add", "list", "remove"),
        "broker": ("start", "status", "stop"),
        "experiment": ("list", "show", "run", "report"),
    }
    inner = [(*group.split(), verb) for group, verbs in groups.items() for verb in verbs]
    verbs = [(verb,) for verb in {**VERBS, **REMOTE_VERBS} if verb not in ("schema", "serve", *groups)]
    assert [words for words in (*verbs, *inner) if "--json" not in options_of(words)] == []
    tables = ("studies", "trials", "front", "grid", "compare", "plan", "bench", "compare-tools")
    assert [verb for verb in tables if "--csv" not in options_of([verb])] == []
    with_a_service = set(tables) & set(REMOTE_VERBS)
    assert with_a_service == {"studies", "trials", "front", "grid", "compare", "plan"}
    for verb in set(VERBS) & set(REMOTE_VERBS):
        assert ("--csv" in options_of_service([verb])) is (verb in with_a_service)
        assert "--json" in options_of_service([verb])


def test_a_service_offers_the_verbs_that_make_sense_there() -> None:
    of_this_host = {
        "init", "schema", "export", "ui", "bench", "doctor", "cleanup", "compare-tools", "compare-clients", "sample",
        "inspect", "serve", "broker", "lint", "translate", "experiment", "consume",
        "calibrate", "cost",
    }  # fmt: skip
    assert set(VERBS) - set(REMOTE_VERBS) == of_this_host
