"""The results of an experiment so far: the values of each row, and what came out of the paper's findings."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, geometric_mean, stdev
from typing import Any, Final

from objectives.ratios import LEVEL, Ratio, claim_level, ratio_of, ratio_to_limit
from objectives.repeats import t_quantile
from tuner.experiment_file import parse_experiment
from tuner.experiment_file.loading import QUICK_SUFFIX
from tuner.model.errors import StudyError
from tuner.model.experiment import Comparison, Expectation, ExperimentSpec, Finding, PaperValue, Row, RowValue
from tuner.model.facts import EXPERIMENT, FINISHED_AT, LIMITS, NAME
from tuner.model.trial import Kind, Trial
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
        center = fmean(values)
        half = t_quantile(LEVEL, len(values) - 1) * stdev(values) / sqrt(len(values)) if len(values) > 1 else 0.0
        return Mean(center, center - half, center + half, len(values))
    logs = [log(value) for value in values]
    center = fmean(logs)
    half = t_quantile(LEVEL, len(logs) - 1) * stdev(logs) / sqrt(len(logs)) if len(logs) > 1 else 0.0
    return Mean(exp(center), exp(center - half), exp(center + half), len(logs))


@dataclass(frozen=True)
class RowResults:
    """What was measured for one row.

    Attributes:
        row: The row.
        trials: Its measurements, in the order in which they were made.
        is_control: Whether the row is the control.
        paper_values: What the paper measured for this row.
    """

    row: Row
    trials: tuple[Trial, ...]
    is_control: bool
    paper_values: tuple[PaperValue, ...]

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
        ratio: The ratio with its confidence interval; None if the rows were not measured in two rounds or more.
        outcome: What came out.
    """

    comparison: Comparison
    ratio: Ratio | None
    outcome: Outcome


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
        return tuple(check(finding, self.rows, level) for finding in self.spec.findings)

    @property
    def drift(self) -> Ratio | None:
        """The control's first metric in the second half of the rounds, divided by that in the first half.

        None if there are fewer than four rounds.
        """
        values = list(self.control.by_round(self.spec.metrics[0]).values())
        half = len(values) // 2
        return ratio_of(values[-half:], values[:half]) if half > 1 and min(values) > 0 else None


def check(finding: Finding, rows: Sequence[RowResults], level: float) -> Checked:
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
    """
    compared = tuple(_compared(finding, each, rows, level) for each in _compared_in(finding, rows))
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


def _compared(finding: Finding, comparison: Comparison, rows: Sequence[RowResults], level: float) -> Compared:
    ratio = _ratio(finding.metric, comparison, rows, level)
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
    return Compared(comparison, ratio, outcome)


def _ratio(metric: str, comparison: Comparison, rows: Sequence[RowResults], level: float) -> Ratio | None:
    """Return the ratio of a comparison; None if its rows were not measured in two common rounds.

    A metric that may be below 0, such as a difference, is compared with a limit by its absolute value.
    """

    def values(selected: Mapping[str, RowValue]) -> dict[int, float]:
        return next((each.by_round(metric) for each in rows if each.row.matches(selected)), {})

    ours = values(comparison.of)
    if comparison.limit is not None:
        sizes = [abs(value) for value in ours.values()]
        return ratio_to_limit(sizes, comparison.limit, level=level) if len(sizes) > 1 else None
    assert comparison.over is not None, "a comparison has a row or a limit to compare with"
    theirs = values(comparison.over)
    both = [turn for turn in ours if turn in theirs and ours[turn] > 0 and theirs[turn] > 0]
    if len(both) < 2:
        return None
    return ratio_of([ours[turn] for turn in both], [theirs[turn] for turn in both], level=level)


def experiment_results(store: ResultsStore, folder: Path) -> ExperimentResults:
    """Return the results of an experiment from its results store.

    Raises:
        StudyError: The record is that of a study.
    """
    facts = store.facts()
    if EXPERIMENT not in facts:
        raise StudyError(f"{folder.name} is a study, not an experiment; use `tuner report {folder.name}`")
    name = str(facts[NAME])
    spec = parse_experiment(
        store.study_file(),
        name=name.removesuffix(QUICK_SUFFIX),
        folder=Path.cwd(),
        origin=f"the experiment {name}",
        quick=name.endswith(QUICK_SUFFIX),
    )
    spec = replace(spec, rounds=facts[LIMITS]["rounds"])
    trials = [trial for _, trial in store.trials()]
    rows = tuple(
        RowResults(
            row,
            tuple(each for each in trials if each.row == row.name and each.kind is Kind.MEASUREMENT),
            row.name == spec.control,
            tuple(value for value in spec.paper_values if row.matches(value.row)),
        )
        for row in spec.rows
    )
    return ExperimentResults(spec, folder, facts, rows, tuple(each for each in trials if each.kind is Kind.BURN_IN))


def load_experiment(folder: Path, storage: Storage | None = None) -> ExperimentResults:
    """Read the results of an experiment, which may still be running.

    Raises:
        StudyNotFound: There is no such experiment.
        StudyError: The record is that of a study.
    """
    with closing((storage or storage_at()).read(folder)) as store:
        return experiment_results(store, folder)
