"""The results of an experiment so far: the values of each row, and what came out of the paper's findings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import exp, log, nan, sqrt
from pathlib import Path
from statistics import fmean, geometric_mean, stdev
from typing import Any, Final

import numpy as np

from objectives.ratios import LEVEL, Ratio, claim_level, ratio_of, ratio_to_limit
from objectives.repeats import t_quantile
from runners.measurement import Phase
from tuner.experiment_file.loading import parse_stored_experiment
from tuner.model.errors import StudyError, StudyNotFound
from tuner.model.experiment import (
    FEWEST_FOR_TREND,
    Comparison,
    Expectation,
    ExperimentSpec,
    Finding,
    PaperValue,
    Row,
    RowValue,
)
from tuner.model.facts import EXPERIMENT, FINISHED_AT, FOUND_CONFIGS, LIMITS, NAME, QUESTION
from tuner.model.trial import PACED, SATURATED, Kind, Trial
from tuner.results.shared_scatter import SharedScatter
from tuner.storage.home import storage_at
from tuner.storage.protocols import ResultsStore, Storage

_WIDE_RATIO: Final = 10.0


@dataclass(frozen=True, slots=True)
class Mean:
    """The mean of a metric over the rounds.

    Attributes:
        value: Geometric mean; the arithmetic mean if a value is not above 0.
        low: Lower end of the 95 % confidence interval; equal to `value` if there are fewer than two rounds.
        high: Upper end of the interval.
        rounds: Number of rounds.
    """

    value: float
    low: float
    high: float
    rounds: int

    @property
    def says_little(self) -> bool:
        """Whether the interval is so wide that it says nothing: its upper end is over ten times its lower end."""
        return self.low > 0 and self.high > _WIDE_RATIO * self.low


def mean_of(values: Sequence[float]) -> Mean:
    """Return the mean of a metric's values, one per round, with its confidence interval."""
    if min(values) <= 0:
        return arithmetic_mean_of(values)
    found = arithmetic_mean_of([log(value) for value in values])
    return Mean(exp(found.value), exp(found.low), exp(found.high), len(values))


def arithmetic_mean_of(values: Sequence[float]) -> Mean:
    """Return the arithmetic mean of a metric's values, one per round, with its confidence interval."""
    center = fmean(values)
    half = t_quantile(LEVEL, len(values) - 1) * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
    return Mean(center, center - half, center + half, len(values))


@dataclass(frozen=True, slots=True)
class Moment:
    """A window (at most a second) of a measurement in which a broker was killed.

    Attributes:
        at_s: Seconds from the kill to the end of the window; below 0 before the kill.
        records_per_s: Acknowledged records per second.
        p99_ms: 99th percentile of the latency of these records; NaN if there were none.
    """

    at_s: float
    records_per_s: float
    p99_ms: float


@dataclass(frozen=True)
class RowResults:
    """What was measured for one row.

    Attributes:
        row: The row.
        trials: Its measurements, in the order in which they were made.
        is_control: Whether the row is the control.
        paper_values: What the paper measured for this row.
        around_loss: The windows of each measurement in which a broker was killed; empty if the row kills none.
    """

    row: Row
    trials: tuple[Trial, ...]
    is_control: bool
    paper_values: tuple[PaperValue, ...]
    around_loss: tuple[tuple[Moment, ...], ...] = ()

    def by_round(self, metric: str) -> dict[int, float]:
        """Return a metric by round. If a round measured the row several times, this is the geometric mean."""
        found: dict[int, list[float]] = defaultdict(list)
        for trial in self.trials:
            if trial.round is not None and metric in trial.metrics:
                found[trial.round].append(trial.metrics[metric])
        return {turn: geometric_mean(values) if min(values) > 0 else fmean(values) for turn, values in found.items()}

    def mean(self, metric: str) -> Mean | None:
        """Return the mean of a metric over the rounds; None if no measurement has the metric."""
        values = list(self.by_round(metric).values())
        return mean_of(values) if values else None

    def in_paper(self, metric: str) -> float | None:
        """Return the paper's value of a metric; None if the paper has none."""
        return next((each.values[metric] for each in self.paper_values if metric in each.values), None)

    @cached_property
    def bounds(self) -> tuple[str, ...]:
        """What limited the measurements, the most frequent limit first."""
        verdicts = [trial.verdict for trial in self.trials if trial.verdict]
        return tuple(sorted(set(verdicts), key=lambda each: (-verdicts.count(each), each)))

    @property
    def says_nothing(self) -> bool:
        """Whether most measurements say nothing about the config, because the load generator limited them."""
        return 2 * sum(trial.flagged for trial in self.trials) > len(self.trials)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What makes the measurements less reliable; and why a measurement failed."""
        said = [sentence for trial in self.trials for sentence in (*trial.warnings, trial.error) if sentence]
        return tuple(dict.fromkeys(said))


class Outcome(StrEnum):
    """What came out of a paper's finding."""

    HOLDS = "holds here"
    FAILS = "does not hold here"
    UNDECIDED = "undecided"
    ARTEFACT = "was an artefact"
    NOT_MEASURED = "not measured"


@dataclass(frozen=True, slots=True)
class Compared:
    """What came out of one comparison of a finding.

    Attributes:
        comparison: The comparison.
        ratio: The ratio with its confidence interval; None if the rows were not measured in two rounds or more, or if
            `zero_rounds` is above 0.
        outcome: What came out.
        zero_rounds: In how many rounds a value is 0, if that leaves no ratio, or no scatter from which an interval
            could be told.
        limited: The rows that the load generator limited in most of their measurements, so that the comparison says
            nothing about them.
    """

    comparison: Comparison
    ratio: Ratio | None
    outcome: Outcome
    zero_rounds: int = 0
    limited: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Checked:
    """A finding, and what came out of it.

    Attributes:
        finding: The finding.
        outcome: What came out.
        compared: What came out of each comparison.
    """

    finding: Finding
    outcome: Outcome
    compared: tuple[Compared, ...]


@dataclass(frozen=True)
class ExperimentResults:
    """Everything that was measured for an experiment so far.

    Attributes:
        spec: The experiment.
        folder: The folder of its files.
        facts: What is stored about the experiment as a whole.
        rows: The results of each row, in the order of the file.
        burn_in: The measurements before the first round.
    """

    spec: ExperimentSpec
    folder: Path
    facts: Mapping[str, Any]
    rows: tuple[RowResults, ...]
    burn_in: tuple[Trial, ...]

    @property
    def finished(self) -> bool:
        """Whether all rounds were measured."""
        return bool(self.facts.get(FINISHED_AT))

    @property
    def control(self) -> RowResults:
        """The results of the control."""
        return next(each for each in self.rows if each.is_control)

    @cached_property
    def findings(self) -> tuple[Checked, ...]:
        """Each finding with what came out of it.

        The intervals are so wide that all statements of an experiment together are right with 95 % certainty.
        """
        level = claim_level(sum(len(_compared_in(finding, self.rows)) for finding in self.spec.findings))
        scatters = _shared_scatters(self.spec.findings, self.rows)
        return tuple(check(finding, self.rows, level, scatters.get(finding.metric)) for finding in self.spec.findings)

    @property
    def drift(self) -> Ratio | None:
        """The control's first metric in the second half of its measurements, divided by that in the first half.

        None if there are fewer than four measurements.
        """
        metric = self.spec.metrics[0]
        values = [trial.metrics[metric] for trial in self.control.trials if metric in trial.metrics]
        half = len(values) // 2
        return ratio_of(values[-half:], values[:half]) if half > 1 and min(values) > 0 else None


def _shared_scatters(findings: Sequence[Finding], rows: Sequence[RowResults]) -> dict[str, SharedScatter]:
    """Return how the comparisons of each metric scatter, for metrics with comparisons enough."""
    logs: dict[str, list[list[float]]] = defaultdict(list)
    names: dict[str, list[frozenset[str]]] = defaultdict(list)
    for finding in findings:
        for each in _compared_in(finding, rows):
            if each.limit is None:
                logs[finding.metric].append(_logs(finding.metric, each, rows))
                names[finding.metric].append(_names(each, rows))
    found = {metric: SharedScatter.of(comparisons, names[metric]) for metric, comparisons in logs.items()}
    return {metric: scatter for metric, scatter in found.items() if scatter is not None}


def _names(comparison: Comparison, rows: Sequence[RowResults]) -> frozenset[str]:
    """Return the names of the rows that are compared."""
    sides = [side for side in (comparison.of, comparison.over) if side is not None]
    return frozenset(each.row.name for each in rows if any(each.row.matches(side) for side in sides))


def check(finding: Finding, rows: Sequence[RowResults], level: float, scatter: SharedScatter | None = None) -> Checked:
    """Return what came out of a finding.

    A comparison comes out as expected if the whole confidence interval of its ratio lies on the expected side of 1, and
    does not if the interval lies on the other side. `equal` is expected to differ from 1 by no more than the tolerance.
    The finding holds if all comparisons come out as expected, and does not hold if any does not. Comparisons whose rows
    the quick form leaves out do not count, unless none is left. If the paper's figure is an artefact, that is the
    outcome, however the rows compare here.

    Args:
        finding: The finding.
        rows: The results of all rows.
        level: The level of the confidence interval.
        scatter: How comparisons of this metric scatter; None if each comparison must tell by itself.
    """
    compared = tuple(_compared(finding, each, rows, level, scatter) for each in _compared_in(finding, rows))
    outcomes = [each.outcome for each in compared]
    if finding.artefact is not None and finding.artefact.explains:
        outcome = Outcome.ARTEFACT
    elif Outcome.FAILS in outcomes:
        outcome = Outcome.FAILS
    elif Outcome.NOT_MEASURED in outcomes:
        outcome = Outcome.NOT_MEASURED
    elif Outcome.UNDECIDED in outcomes:
        outcome = Outcome.UNDECIDED
    else:
        outcome = Outcome.HOLDS
    return Checked(finding, outcome, compared)


def _compared_in(finding: Finding, rows: Sequence[RowResults]) -> tuple[Comparison, ...]:
    """Return the comparisons of a finding whose rows the experiment has; all of them if it has the rows of none."""
    return finding.comparisons_among([each.row for each in rows]) or finding.comparisons


def _compared(
    finding: Finding, comparison: Comparison, rows: Sequence[RowResults], level: float, scatter: SharedScatter | None
) -> Compared:
    if zero_rounds := _zero_rounds(finding.metric, comparison, rows):
        return Compared(comparison, None, Outcome.UNDECIDED, zero_rounds)
    ratio = _ratio(finding.metric, comparison, rows, level, scatter)
    if ratio is None:
        return Compared(comparison, None, Outcome.NOT_MEASURED)
    match finding.expect:
        case Expectation.GREATER:
            holds, fails = ratio.low > 1, ratio.high < 1
        case Expectation.SMALLER:
            holds, fails = ratio.high < 1, ratio.low > 1
        case Expectation.EQUAL:
            low, high = 1 / (1 + finding.tolerance), 1 + finding.tolerance
            holds, fails = low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high
    outcome = Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED
    names = _names(comparison, rows)
    limited = tuple(each.row.name for each in rows if each.row.name in names and each.says_nothing)
    return Compared(comparison, ratio, Outcome.UNDECIDED if limited else outcome, limited=limited)


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
    """Return in how many rounds a value is 0, if this leaves no ratio with an interval; 0 otherwise.

    Nothing has a ratio to 0. And if all values are 0, as for lost records, they do not scatter: that nothing was lost
    in two rounds does not prove that nothing is ever lost.
    """
    if comparison.along:
        return 0
    ours = _values(metric, comparison.of, rows)
    if comparison.limit is not None:
        return 0 if any(ours.values()) else len(ours)
    assert comparison.over is not None, "a comparison has a row or a limit to compare with"
    theirs = _values(metric, comparison.over, rows)
    return sum(ours[turn] == 0 or theirs[turn] == 0 for turn in ours if turn in theirs)


def _values(metric: str, selected: Mapping[str, RowValue], rows: Sequence[RowResults]) -> dict[int, float]:
    """Return a metric of a row by round."""
    return next((each.by_round(metric) for each in rows if each.row.matches(selected)), {})


def _logs(metric: str, comparison: Comparison, rows: Sequence[RowResults]) -> list[float]:
    """Return the logarithm of the ratio of a comparison in each round that has one."""
    if comparison.along:
        return _changes(metric, comparison, rows)
    assert comparison.over is not None, "a comparison has a row or a limit to compare with"
    ours, theirs = _values(metric, comparison.of, rows), _values(metric, comparison.over, rows)
    return [log(ours[turn] / theirs[turn]) for turn in ours if turn in theirs and ours[turn] > 0 and theirs[turn] > 0]


def _changes(metric: str, comparison: Comparison, rows: Sequence[RowResults]) -> list[float]:
    """Return by which factor a metric changes from the smallest to the largest setting, as a logarithm for each round.

    In each round of three rows or more, a straight line is fitted to the logarithms of setting and metric.
    """
    points: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        place = row.row.number(comparison.along)
        if place and place > 0 and row.row.matches(comparison.of):
            for turn, value in row.by_round(metric).items():
                if value > 0:
                    points[turn].append((log(place), log(value)))
    changes = []
    for found in points.values():
        if len(found) >= FEWEST_FOR_TREND:
            at, values = zip(*found, strict=True)
            slope = float(np.polyfit(at, values, 1)[0])
            changes.append(slope * (max(at) - min(at)))
    return changes


def _around_loss(store: ResultsStore, row: Row, trials: Sequence[Trial]) -> tuple[tuple[Moment, ...], ...]:
    """Return the windows of each measurement of a row that kills a broker."""
    killed_s, found = row.setup.broker_killed_s, []
    if killed_s is None:
        return ()
    for trial in trials:
        for phase in (PACED, SATURATED):
            if (seen := store.attachment(trial, phase)) is not None:
                at_s = row.workload.warmup_s + killed_s
                found.append(tuple(_moment(each, at_s) for each in seen["series"] if each["phase"] == Phase.MEASURED))
    return tuple(found)


def _moment(window: Mapping[str, Any], killed_at_s: float) -> Moment:
    p99_ms = window["p99_ms"] if window["p99_ms"] else nan  # 0 or null: no record was acknowledged
    return Moment(window["at_s"] - killed_at_s, window["records_per_s"], p99_ms)


def experiment_results(store: ResultsStore, folder: Path) -> ExperimentResults:
    """Return the results of an experiment from its results store.

    Raises:
        StudyError: The record is that of a study.
    """
    facts = store.facts()
    if EXPERIMENT not in facts:
        raise StudyError(f"{folder.name} is a study, not an experiment; use `tuner report {folder.name}`")
    name, text = str(facts[NAME]), store.study_file()
    spec = parse_stored_experiment(text, name=name, bootstrap=facts[QUESTION]["target"][0])
    spec = replace(spec, rounds=facts[LIMITS]["rounds"]).with_found(facts.get(FOUND_CONFIGS, {}))
    trials = [trial for _, trial in store.trials()]
    rows = []
    for row in spec.rows:
        measured = tuple(each for each in trials if each.row == row.name and each.kind is Kind.MEASUREMENT)
        papers = tuple(value for value in spec.paper_values if row.matches(value.row))
        rows.append(RowResults(row, measured, row.name == spec.control, papers, _around_loss(store, row, measured)))
    return ExperimentResults(
        spec, folder, facts, tuple(rows), tuple(each for each in trials if each.kind is Kind.BURN_IN)
    )


def found_before(spec: ExperimentSpec, folder: Path, storage: Storage | None = None) -> Mapping[str, Mapping[str, str]]:
    """Return the configs that searches found before the rows were first measured, by the name of the row.

    The result is empty if no row was measured yet. It is also empty if the experiment file now names other rows for
    its searches.
    """
    searched = {row.name for row in spec.rows if row.best_of is not None}
    try:
        with closing((storage or storage_at()).read(folder)) as store:
            found, begun = store.facts().get(FOUND_CONFIGS, {}), bool(store.trials())
    except StudyNotFound:
        return {}
    return found if begun and found.keys() == searched else {}


def load_experiment(folder: Path, storage: Storage | None = None) -> ExperimentResults:
    """Read the results of an experiment. It may still be running.

    Raises:
        StudyNotFound: There is no such experiment.
        StudyError: The record is that of a study.
    """
    with closing((storage or storage_at()).read(folder)) as store:
        return experiment_results(store, folder)
