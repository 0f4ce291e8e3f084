"""The places for results on the evidence pages, and how benchmarks fill them."""

import shlex
import subprocess
import sys
from importlib import import_module
from importlib.util import find_spec
from runpy import run_module

import pytest

from benchmarks.__main__ import PROGRAMS
from benchmarks.evidence import END, PAGES, commands, page_of, print_goal, with_result

COMMANDS = commands()


@pytest.mark.campaign  # it imports every benchmark
@pytest.mark.filterwarnings("ignore:.*found in sys.modules:RuntimeWarning")  # another command ran the same module
@pytest.mark.parametrize("command", COMMANDS)
def test_a_place_is_for_a_benchmark_that_can_write_to_it(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    python, m, module, *words = shlex.split(command)
    assert (python, m) == ("python", "-m")
    assert find_spec(module), f"there is no {module}"
    assert page_of(command).read_text().count(f"<!-- result of: {command} -->") == 1
    # Words after --help are not parsed, so it comes last: all words before it must be accepted.
    monkeypatch.setattr(sys, "argv", [module, *words, "--write", "--help"])
    with pytest.raises(SystemExit) as ended:
        run_module(module, run_name="__main__")
    said = capsys.readouterr()
    assert ended.value.code == 0, said.err
    assert "--write" in said.out


def test_every_benchmark_has_a_place() -> None:
    placed = {shlex.split(command)[2] for command in COMMANDS}
    assert {f"benchmarks.{name}" for name in PROGRAMS} <= placed


def test_every_place_of_a_result_has_an_end() -> None:
    pages = list(PAGES.glob("*.md"))
    assert pages
    for page in pages:
        text = page.read_text()
        assert text.count("<!-- result of: ") == text.count(END), page.name


def test_what_is_written_by_hand_on_the_page_of_failures_is_outside_of_its_results() -> None:
    text = (PAGES / "failures.md").read_text()
    results = [part.partition(END)[0] for part in text.split("<!-- result of: ")[1:]]
    lines = [line for part in results for line in part.partition("```console")[2].splitlines() if line]
    assert lines
    assert [line for line in lines if line[0] not in "$`*|-"] == []


def test_a_result_replaces_the_one_before_and_nothing_else() -> None:
    page = f"before\n<!-- result of: a -->\nold\n{END}\nbetween\n<!-- result of: b -->\nkept\n{END}\nafter\n"
    once = with_result(page, "a", "| new |\n")
    assert "old" not in once
    assert "```console\n$ a\n```" in once
    assert "| new |" in once
    assert once.startswith("before\n<!-- result of: a -->")
    assert once.endswith(f"between\n<!-- result of: b -->\nkept\n{END}\nafter\n")
    assert with_result(once, "a", "| new |\n") == once


def test_a_command_without_a_place_on_a_page_is_refused_before_it_measures() -> None:
    command = [sys.executable, "-m", "benchmarks.paced", "--runs", "77", "--write"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert run.returncode == 1
    assert "no page of docs/evidence has a place for this command" in run.stderr
    assert "starting Kafka" not in run.stderr


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("trust", "--studies", "0"), "--studies: must be a whole number from 1, but got '0'"),
        (("cold_starts", "--starts", "x"), "--starts: must be a whole number from 1, but got 'x'"),
        (("generator", "--rounds", "1"), "--rounds: must be at least 2, because one ratio has no interval"),
        (("paced", "--seconds", "nan"), "--seconds: must be a number above 0, but got 'nan'"),
        (("paced", "--client", "jvm"), "--client: the client must be librdkafka or java, not 'jvm'"),
        (("cold_java", "--sizes", "100,x"), "--sizes: must be a whole number from 1, but got 'x'"),
        (("samplers", "--problems", "table;tabel"), "--problems: a problem is one of table,"),
        (("samplers", "--problems", "embedded"), "but got 'embedded'"),
        (("samplers", "--problems", "embedded:x"), "record sizes must have the form"),
        (("samplers", "--merge", "none.json"), "--merge: no such file: none.json"),
    ],
)
def test_a_benchmark_refuses_bad_options_before_it_measures(
    words: tuple[str, ...], message: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", list(words))
    with pytest.raises(SystemExit) as ended:
        import_module(f"benchmarks.{words[0]}").main()
    assert ended.value.code == 2
    assert message in capsys.readouterr().err


def test_a_goal_is_met_below_it_only(capsys: pytest.CaptureFixture[str]) -> None:
    assert print_goal("growth", 7.84, 20, "MB")
    assert not print_goal("p99", 100, 100, "ms")
    assert capsys.readouterr().out.splitlines() == [
        "- growth: 7.84 MB (goal: under 20 MB: met)",
        "- p99: 100 ms (goal: under 100 ms: missed)",
    ]
