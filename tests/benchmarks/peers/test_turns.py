"""The benchmarks whose tools take turns: the order of the runs, and what they print."""

import argparse
from collections.abc import Callable

import pytest

from benchmarks import consumer_generator, generator, java_generator
from benchmarks.evidence import page_of
from benchmarks.peers.turns import Measure, Run, Turns, add_peers, turns_parser


def found(*names: str, ours: float = 2e6) -> Turns:
    """Return three runs of each tool, ours first: two peers reach 1,000,000 and 500,000 records/s."""
    rates = dict(zip(names, (ours, 1e6, 5e5), strict=False))
    return Turns(
        7,
        {10: {name: [Run(rate * share) for share in (0.99, 1.0, 1.01)] for name, rate in rates.items()}},
    )


def test_each_round_runs_all_tools_once_and_the_first_round_does_not_count() -> None:
    turns, called = Turns(20), list[str]()

    def measure(name: str) -> Measure:
        def run(_: float) -> Run:
            called.append(name)
            return Run(len(called))

        return run

    turns.take(10, {name: measure(name) for name in "abc"}, "10 B")
    rounds = [tuple(called[start : start + 3]) for start in range(0, len(called), 3)]
    assert all(sorted(each) == ["a", "b", "c"] for each in rounds)
    assert len(rounds) == 21
    assert len(set(rounds)) == 6
    assert {name: len(runs) for name, runs in turns.found[10].items()} == {"a": 20, "b": 20, "c": 20}
    assert min(run.records_per_s for runs in turns.found[10].values() for run in runs) == 4


def test_a_tool_gets_the_throughput_of_its_last_run() -> None:
    turns, heard = Turns(2), list[float]()

    def tool(expected: float) -> Run:
        heard.append(expected)
        return Run(expected + 1)

    turns.take(1000, {"tool": tool}, "1000 B")
    assert heard == [100_000, 100_001, 100_002]


@pytest.mark.parametrize(
    ("command", "report", "missed"),
    [
        pytest.param(
            "generator --peers c --sizes 10,100,300,1000,3000,10000 --rounds 7 --warmup 1.5 --seconds 2.5",
            lambda: generator.report(found("native", "c"), ["c"]),
            None,
            id="beside the C tool",
        ),
        pytest.param("java_generator", lambda: java_generator.report(found("ours", "tool")), False, id="Java"),
        pytest.param(
            "consumer_generator",
            lambda: consumer_generator.report(found("ours", "java", "c", ours=6e5), ["java", "c"], 1500.0),
            True,
            id="consumers",
        ),
        pytest.param(
            "consumer_generator --client java --peers java",
            lambda: consumer_generator.report(found("ours", "java"), ["java"], 1500.0),
            False,
            id="consumers on the Java client",
        ),
    ],
)
def test_the_head_and_the_last_sentence_are_those_of_the_evidence_page(
    command: str, report: Callable[[], bool | None], missed: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert report() is missed
    head, _, row, _, last = capsys.readouterr().out.splitlines()
    command = f"python -m benchmarks.{command}"
    place = page_of(command).read_text().partition(f"<!-- result of: {command} -->")[2]
    assert {head, last} <= set(place.partition("<!-- end of result -->")[0].splitlines())
    assert row.count("|") == head.count("|")


def test_the_best_is_the_peer_with_the_highest_median(capsys: pytest.CaptureFixture[str]) -> None:
    generator.report(found("native", "java", "python"), ["java", "python"])
    head, _, row, _, _ = capsys.readouterr().out.splitlines()
    cells = dict(zip(head.split(" | "), row.split(" | "), strict=True))
    assert cells["native/best (95 %) |"].removesuffix(" |") == cells["native/Java (95 %)"]
    assert cells["native/Java (95 %)"] != cells["native/Python (95 %)"]


@pytest.mark.parametrize(
    ("option", "because"),
    [
        (("--peers", "java,rust,go"), "must be any of java, c, but got go, rust"),
        (("--sizes", "10,many"), "must be a whole number from 1, but got 'many'"),
    ],
)
def test_an_unknown_tool_or_size_is_refused(
    option: tuple[str, str], because: str, capsys: pytest.CaptureFixture[str]
) -> None:
    parser: argparse.ArgumentParser = turns_parser("A benchmark.", "10,100")
    add_peers(parser, ("java", "c"), "java")
    assert (parser.parse_args([]).sizes, parser.parse_args([]).peers) == ([10, 100], ["java"])
    with pytest.raises(SystemExit):
        parser.parse_args(option)
    assert because in capsys.readouterr().err
