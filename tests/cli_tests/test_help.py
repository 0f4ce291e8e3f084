"""Help is quick, because no heavy library is imported to show it, and the list of verbs is correct."""

import importlib
import inspect
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

import pytest
import typer

from tests.cli_tests.command import tuner
from tuner.cli.app import REMOTE_VERBS, VERBS

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
