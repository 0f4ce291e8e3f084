"""Runs several tools in turn on one broker, for the benchmarks that compare our loads with other tools."""

import argparse
import random
import statistics
import sys
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from benchmarks.evidence import benchmark_parser, positive_number, whole_number, whole_numbers
from objectives.ratios import ratio_of


@dataclass(frozen=True, slots=True)
class Run:
    """The result of one run of a tool.

    Attributes:
        records_per_s: Records per second that a producer got acknowledged, or that a consumer read.
        cpu_us: CPU time of the tool's process per record, in microseconds; None if unknown.
    """

    records_per_s: float
    cpu_us: float | None = None


Measure = Callable[[float], Run]
"""A function that runs a tool once. It takes the records/s that the same tool reached in its last run."""


@dataclass(slots=True)
class Turns:
    """Runs tools in rounds, and keeps their results.

    Attributes:
        rounds: Number of rounds that count.
        found: The runs of each tool, by record size in bytes and by the tool's name.
    """

    rounds: int
    found: dict[int, dict[str, list[Run]]] = field(default_factory=dict)
    _order: random.Random = field(default_factory=lambda: random.Random(0))

    def take(self, size: int, measure: Mapping[str, Measure], what: str) -> None:
        """Run all tools with one record size, in an order that changes from round to round.

        Args:
            size: The record size in bytes.
            measure: The tools by name.
            what: A description of the load, for the progress on standard error.
        """
        names = list(measure)
        runs: dict[str, list[Run]] = {name: [] for name in names}
        last = dict.fromkeys(names, Run(min(1e6, 100e6 / size)))
        # Round 0 only warms up the broker and shows how many records a tool must send. Its results are not used.
        for number in range(self.rounds + 1):
            self._order.shuffle(names)
            for name in names:
                last[name] = measure[name](last[name].records_per_s)
                if number:
                    runs[name].append(last[name])
            said = ", ".join(f"{name} {last[name].records_per_s:,.0f}" for name in measure)
            print(f"  {what}, round {number} of {self.rounds}: {said}", file=sys.stderr)
        self.found[size] = runs

    def print_table(self, heads: Mapping[str, str], ratios: Mapping[str, str]) -> bool:
        """Print a table of the results, and return whether a ratio is surely below 1.

        Args:
            heads: The tools by name, ours first, each with the head of its column.
            ratios: The tools that our load is compared with, each with the head of its column. `best` is the tool with
                the highest median.
        """
        ours, *peers = heads
        columns = ["record", *heads.values(), *(f"{head} (95 %)" for head in ratios.values())]
        columns += [f"CPU per record: {ours}", "C tool"] if "c" in peers else []
        print(f"| {' | '.join(columns)} |\n|{' ---: |' * len(columns)}")
        missed = False
        for size, runs in self.found.items():
            rates = {name: _rates(each) for name, each in runs.items()}
            rates["best"] = max((rates[peer] for peer in peers), key=statistics.median)
            compared = [ratio_of(rates[ours], rates[peer]) for peer in ratios]
            missed |= any(ratio.high < 1.0 for ratio in compared)
            cells = [f"{size:,} B", *(f"{statistics.median(rates[name]):,.0f}" for name in heads), *map(str, compared)]
            cells += [_cpu(runs[ours]), _cpu(runs["c"])] if "c" in peers else []
            print(f"| {' | '.join(cells)} |")
        return missed


def goal_said(missed: bool) -> str:
    """Return the sentence about the goal that no ratio may be surely below 1."""
    return f"Goal (no interval wholly below 1.0): {'missed' if missed else 'met'}"


def turns_parser(description: str | None, sizes: str) -> argparse.ArgumentParser:
    """Return a parser with the options of all benchmarks whose tools take turns.

    Args:
        description: The docstring of the benchmark's module.
        sizes: The record sizes that are measured by default, with commas between them.
    """
    parser = benchmark_parser(description)
    parser.add_argument("--rounds", type=_rounds, default=7)
    parser.add_argument("--sizes", type=whole_numbers, default=sizes)
    return parser


def add_phases(parser: argparse.ArgumentParser) -> None:
    """Add the options for the two phases of a producer's load."""
    parser.add_argument("--seconds", type=positive_number, default=4.0)
    parser.add_argument("--warmup", type=positive_number, default=3.0)


def add_peers(parser: argparse.ArgumentParser, known: Collection[str], default: str) -> None:
    """Add the option that names the tools to compare with."""

    def peers(text: str) -> list[str]:
        names = text.split(",")
        if unknown := sorted(set(names) - set(known)):
            raise argparse.ArgumentTypeError(f"must be any of {', '.join(known)}, but got {', '.join(unknown)}")
        return names

    helped = f"any of {', '.join(known)}, with commas between them"
    parser.add_argument("--peers", type=peers, default=default, help=helped)


def _rounds(text: str) -> int:
    if (rounds := whole_number(text)) < 2:
        raise argparse.ArgumentTypeError("must be at least 2, because one ratio has no interval")
    return rounds


def _rates(runs: Sequence[Run]) -> list[float]:
    return [run.records_per_s for run in runs]


def _cpu(runs: Sequence[Run]) -> str:
    """Return the median CPU time per record; an empty cell if it is unknown."""
    known = [run.cpu_us for run in runs if run.cpu_us is not None]
    return f"{statistics.median(known):.3f} us" if known else ""
