"""`tuner cleanup` asks before it deletes topics, and says so where nobody can answer."""

import json
from collections.abc import Callable

import pytest
import typer
from typer.testing import CliRunner

import tuner.cli.commands.cleanup as module
from runners.clusters.topics.leftovers import Leftover
from tuner.model.target import Target

DEAD = Leftover(topic="tuner-1-a-1", run_id="1-a", state="dead")


class StandIn:
    """A cluster that is never contacted."""

    def start(self) -> "StandIn":
        return self

    def stop(self) -> None:
        """Do nothing, as there is nothing to stop."""


@pytest.fixture
def cleanup(monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str, str]]:
    """Return a function that runs the command on a cluster with the topic of a dead run, without a terminal."""
    monkeypatch.setattr(Target, "cluster", lambda _: StandIn())
    monkeypatch.setattr(module, "find_leftovers", lambda _: [DEAD])
    monkeypatch.setattr(module, "remove_leftovers", lambda _, found: [left.topic for left in found])
    app = typer.Typer()
    app.command()(module.cleanup)

    def run(*words: str) -> tuple[int, str, str]:
        done = CliRunner().invoke(app, ["--bootstrap", "kafka:9092", *words])
        return done.exit_code, done.stdout, " ".join(done.stderr.replace("│", " ").split())

    return run


@pytest.mark.parametrize("form", [(), ("--json",)])
def test_without_a_terminal_cleanup_names_the_option_that_answers(
    cleanup: Callable[..., tuple[int, str, str]], form: tuple[str, ...]
) -> None:
    code, out, complaint = cleanup("--remove", *form)
    assert code == 2
    assert "cleanup asks before it deletes 1 topic, but standard input is not a terminal; add --yes" in complaint
    if form:
        assert out == ""


def test_with_the_option_it_deletes_without_asking(cleanup: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = cleanup("--remove", "--yes", "--json")
    assert code == 0
    assert json.loads(out)["removed"] == [DEAD.topic]


def test_topics_are_listed_without_asking(cleanup: Callable[..., tuple[int, str, str]]) -> None:
    code, out, _ = cleanup("--json")
    assert code == 0
    assert json.loads(out)["removed"] == []
