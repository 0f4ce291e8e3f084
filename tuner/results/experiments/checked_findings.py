"""Checks the findings of an experiment: compares rows, with confidence intervals, and decides what holds."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log

import numpy as np

from objectives.ratios import Ratio, ratio_of, ratio_to_limit
from tuner.model.paper import FEWEST_FOR_TREND, Comparison, Expectation, Finding
from tuner.model.row import RowValue
from tuner.results.experiments.row_results import RowResults
from tuner.results.experiments.shared_scatter import SharedScatter


class FindingOutcome(StrEnum):
    """The result of checking a paper's finding."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    UNDECIDED = "undecided"
    ARTEFACT = "was an artefact"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class CheckedComparison:
    """The result of one comparison of a finding.

    Attributes:
        comparison: The comparison.
        ratio: The ratio with its confidence interval; None if the rows were not measured in two rounds or more, or if
            `zero_rounds` is above 0.
        outcome: Whether the comparison came out as expected.
        zero_rounds: The number of rounds in which a value is 0, if these zeros make it impossible to compute a ratio or
            an interval.
        limited: The rows that the load generator or other processes limited in most of their measurements, so that the
            comparison says nothing about them.
    """

    comparison: Comparison
    ratio: Ratio | None
    outcome: FindingOutcome
    zero_rounds: int = 0
    limited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckedFinding:
    """A finding, and the result of checking it.

    Attributes:
        finding: The finding.
        outcome: Whether the finding holds.
        compared: The result of each comparison.
    """

    finding: Finding
    outcome: FindingOutcome
    compared: tuple[CheckedComparison, ...]


def shared_scatters(findings: Sequence[Finding], rows: Sequence[RowResults]) -> dict[str, SharedScatter]:
    """Return how the comparisons of each metric scatter. Metrics with too few comparisons are left out."""
    logs: dict[str, list[list[float]]] = defaultdict(list)
    names: dict[str, list[frozenset[str]]] = defaultdict(list)
    for finding in findings:
        for comparison in comparisons_of(finding, rows):
            if comparison.limit is None:
                logs[finding.metric].append(_logs(finding.metric, comparison, rows))
                names[finding.metric].append(_names(comparison, rows))
    scatters = {metric: SharedScatter.of(comparisons, names[metric]) for metric, comparisons in logs.items()}
    return {metric: scatter for metric, scatter in scatters.items() if scatter is not None}


def _names(comparison: Comparison, rows: Sequence[RowResults]) -> frozenset[str]:
    """Return the names of the rows that are compared."""
    sides = [side for side in (comparison.of, comparison.over) if side is not None]
    return frozenset(each.row.name for each in rows if any(each.row.matches(side) for side in sides))


def check(
    finding: Finding, rows: Sequence[RowResults], level: float, scatter: SharedScatter | None = None
) -> CheckedFinding:
    """Return whether a finding holds, with the result of each comparison.

    A comparison comes out as expected if the whole confidence interval of its ratio lies on the expected side of 1. It
    does not come out as expected if the whole interval lies on the other side. For `equal`, the ratio must differ from
    1 by no more than the tolerance. The finding holds if all comparisons come out as expected. It does not hold if one
    of them does not. Comparisons whose rows the quick version leaves out do not count, unless none is left. If the
    paper's figure is an artefact, the outcome says so, whatever the comparisons show.

    Args:
        finding: The finding.
        rows: The results of all rows.
        level: The level of the confidence interval.
        scatter: How comparisons of this metric scatter; None to use only the scatter of each comparison itself.
    """
    compared = tuple(_compared(finding, each, rows, level, scatter) for each in comparisons_of(finding, rows))
    outcomes = [each.outcome for each in compared]
    if finding.artefact is not None and finding.artefact.explains:
        outcome = FindingOutcome.ARTEFACT
    elif FindingOutcome.FAILS in outcomes:
        outcome = FindingOutcome.FAILS
    elif FindingOutcome.NOT_MEASURED in outcomes:
        outcome = FindingOutcome.NOT_MEASURED
    elif FindingOutcome.UNDECIDED in outcomes:
        outcome = FindingOutcome.UNDECIDED
    else:
        outcome = FindingOutcome.HOLDS
    return CheckedFinding(finding, outcome, compared)


def comparisons_of(finding: Finding, rows: Sequence[RowResults]) -> tuple[Comparison, ...]:
    """Return the comparisons of a finding whose rows the experiment has; if there are none, all comparisons."""
    return finding.comparisons_among([each.row for each in rows]) or finding.comparisons


def _compared(
    finding: Finding, comparison: Comparison, rows: Sequence[RowResults], level: float, scatter: SharedScatter | None
) -> CheckedComparison:
    if zero_rounds := _zero_rounds(finding.metric, comparison, rows):
        return CheckedComparison(comparison, None, FindingOutcome.UNDECIDED, zero_rounds)
    ratio = _ratio(finding.metric, comparison, rows, level, scatter)
    if ratio is None:
        return CheckedComparison(comparison, None, FindingOutcome.NOT_MEASURED)
    match finding.expect:
        case Expectation.GREATER:
            holds, fails = ratio.low > 1, ratio.high < 1
        case Expectation.SMALLER:
            holds, fails = ratio.high < 1, ratio.low > 1
        case Expectation.EQUAL:
            low, high = 1 / (1 + finding.tolerance), 1 + finding.tolerance
            holds, fails = low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high
    outcome = FindingOutcome.HOLDS if holds else FindingOutcome.FAILS if fails else FindingOutcome.UNDECIDED
    names = _names(comparison, rows)
    limited = tuple(each.row.name for each in rows if each.row.name in names and each.says_nothing)
    return CheckedComparison(comparison, ratio, FindingOutcome.UNDECIDED if limited else outcome, limited=limited)


def _ratio(
    metric: str, comparison: Comparison, rows: Sequence[RowResults], level: float, scatter: SharedScatter | None
) -> Ratio | None:
    """Return the ratio of a comparison; None if its rows were not measured in two common rounds.

    A metric that may be below 0, such as a difference, is compared with a limit by its absolute value.
    """
    if comparison.limit is not None:
        sizes = [abs(value) for value in _values(metric, comparison.of, rows).values()]
        return ratio_to_limit(sizes, comparison.limit, level=level) if len(sizes) > 1 else None
    logs = _logs(metric, comparison, rows)
    if len(logs) < 2:
        return None
    if scatter is not None:
        return scatter.ratio(logs, level)
    return ratio_of([exp(each) for each in logs], [1.0] * len(logs), level=level)


def _zero_rounds(metric: str, comparison: Comparison, rows: Sequence[RowResults]) -> int:
    """Return in how many rounds a value is 0, if these zeros leave no ratio with an interval; otherwise 0.

    A value can't be divided by 0. And if all values are 0, as for lost records, they have no scatter: if no records
    were lost in two rounds, this does not prove that none are ever lost.
    """
    if comparison.along:
        return 0
    ours = _values(metric, comparison.of, rows)
    if comparison.limit is not None:
        return 0 if any(ours.values()) else len(ours)
    assert comparison.over is not None, "a comparison has a row or a limit to compare with"
    theirs = _values(metric, comparison.over, rows)
    return sum(ours[round_] == 0 or theirs[round_] == 0 for round_ in ours if round_ in theirs)


def _values(metric: str, selected: Mapping[str, RowValue], rows: Sequence[RowResults]) -> dict[int, float]:
    """Return a metric of a row by round."""
    return next((each.by_round(metric) for each in rows if each.row.matches(selected)), {})


def _logs(metric: str, comparison: Comparison, rows: Sequence[RowResults]) -> list[float]:
    """Return the logarithm of the ratio of a comparison in each round that has one."""
    if comparison.along:
        return _changes(metric, comparison, rows)
    assert comparison.over is not None, "a comparison has a row or a limit to compare with"
    ours, theirs = _values(metric, comparison.of, rows), _values(metric, comparison.over, rows)
    return [
        log(ours[round_] / theirs[round_])
        for round_ in ours
        if round_ in theirs and ours[round_] > 0 and theirs[round_] > 0
    ]


def _changes(metric: str, comparison: Comparison, rows: Sequence[RowResults]) -> list[float]:
    """Return the logarithm of a metric's change from the smallest to the largest setting, for each round.

    In each round of three rows or more, a straight line is fitted to the logarithms of setting and metric.
    """
    points: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        setting = row.row.number(comparison.along)
        if setting and setting > 0 and row.row.matches(comparison.of):
            for round_, value in row.by_round(metric).items():
                if value > 0:
                    points[round_].append((log(setting), log(value)))
    changes = []
    for found in points.values():
        if len(found) >= FEWEST_FOR_TREND:
            at, values = zip(*found, strict=True)
            slope = float(np.polyfit(at, values, 1)[0])
            changes.append(slope * (max(at) - min(at)))
    return changes
