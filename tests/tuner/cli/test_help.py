"""Help is quick, because no heavy library is imported to show it, and the list of commands is correct."""

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Mapping
from typing import Final

import pytest
import typer

from tests.docs.program import options_of, options_of_service
from tests.helpers.command import tuner
from tests.helpers.repository import ROOT
from tuner.cli.command_table import COMMANDS, SERVICE_COMMANDS

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
def test_help_imports_no_heavy_library(done: str) -> None:
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
    [*COMMANDS.values(), *SERVICE_COMMANDS.values()],
    ids=[*COMMANDS, *(f"remote-{v}" for v in SERVICE_COMMANDS)],
)
def test_the_list_of_commands_shows_the_first_sentence_of_each_help(place: str, sentence: str) -> None:
    module, _, name = place.partition(":")
    command = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
    said = command.info.help if isinstance(command, typer.Typer) else inspect.getdoc(command)
    assert said is not None
    assert " ".join(said.partition("\n\n")[0].split()) == sentence


def test_each_command_has_a_module_of_its_name() -> None:
    named = {command: f"commands.{command.replace('-', '_')}" for command in COMMANDS}
    assert {command: place.partition(":")[0] for command, (place, _) in COMMANDS.items()} == named
    there = {f"commands.{file.stem}" for file in (ROOT / "tuner" / "cli" / "commands").glob("[!_]*.py")}
    assert there == set(named.values()), "what commands share belongs into another package"


def test_no_module_imports_a_command() -> None:
    commands = {f"tuner.cli.{place.partition(':')[0]}" for place, _ in (*COMMANDS.values(), *SERVICE_COMMANDS.values())}
    found = set()
    for file in (ROOT / "tuner").rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                names = {each.name for each in node.names}
            elif isinstance(node, ast.ImportFrom):
                names = {str(node.module), *(f"{node.module}.{each.name}" for each in node.names)}
            else:
                continue
            found |= {f"{file.name} imports {name}" for name in names & commands}
    assert not found, "what commands share belongs into a module that is no command"


def test_a_commands_name_as_an_argument_is_not_taken_for_the_command() -> None:
    ended = tuner("status", "front")
    assert ended.code == 2
    assert "'front'" in ended.complaint


@pytest.mark.parametrize("commands", [COMMANDS, SERVICE_COMMANDS], ids=["local", "remote"])
def test_every_command_prints_json_for_scripts(commands: Mapping[str, tuple[str, str]]) -> None:
    without = set()
    for command, (place, _) in commands.items():
        module, _, name = place.partition(":")
        function = getattr(importlib.import_module(f"tuner.cli.{module}"), name)
        if inspect.isfunction(function) and "as_json" not in inspect.signature(function).parameters:
            without.add(command)
    assert without <= {"schema", "ui"}, "a schema is JSON, and the MLflow UI runs until Ctrl-C"


def test_every_command_prints_json_and_every_table_csv() -> None:
    """`schema` prints nothing but JSON, `serve` has no result, and `serve`, `broker` and `experiment` have commands."""
    groups = {
        "serve token": ("add", "list", "remove"),
        "broker": ("start", "status", "stop"),
        "experiment": ("list", "show", "run", "report"),
    }
    inner = [(*group.split(), command) for group, commands in groups.items() for command in commands]
    commands = [
        (command,) for command in {**COMMANDS, **SERVICE_COMMANDS} if command not in ("schema", "serve", *groups)
    ]
    assert [words for words in (*commands, *inner) if "--json" not in options_of(words)] == []
    tables = ("studies", "trials", "front", "grid", "compare", "plan", "bench", "compare-tools")
    assert [command for command in tables if "--csv" not in options_of([command])] == []
    with_a_service = set(tables) & set(SERVICE_COMMANDS)
    assert with_a_service == {"studies", "trials", "front", "grid", "compare", "plan"}
    for command in set(COMMANDS) & set(SERVICE_COMMANDS):
        assert ("--csv" in options_of_service([command])) is (command in with_a_service)
        assert "--json" in options_of_service([command])


def test_a_service_offers_the_commands_that_make_sense_there() -> None:
    of_this_host = {
        "init", "schema", "export", "ui", "bench", "doctor", "cleanup", "compare-tools", "compare-clients", "sample",
        "inspect", "serve", "broker", "lint", "translate", "experiment", "consume",
        "calibrate", "cost",
    }  # fmt: skip
    assert set(COMMANDS) - set(SERVICE_COMMANDS) == of_this_host
