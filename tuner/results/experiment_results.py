"""The results of an experiment so far: the values of each row, and what came out of the paper's findings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from math import exp, log, sqrt
from pathlib import Path
from statistics import fmean, geometric_mean, stdev
from typing import Any

from objectives.ratios import LEVEL, Ratio, claim_level, ratio_of
from objectives.repeats import t_quantile
from tuner.experiment_file import parse_experiment
from tuner.experiment_file.loading import QUICK_SUFFIX
from tuner.model.errors import StudyError
from tuner.model.experiment import Expectation, ExperimentSpec, Finding, PaperValue, Row
from tuner.model.facts import EXPERIMENT, FINISHED_AT, NAME
from tuner.model.trial import Kind, Trial
from tuner.storage.home import storage_at
from tuner.storage.protocols import ResultsStore, Storage


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
class Checked:
    """A finding, and what came out of it.

    Attributes:
        finding: The finding.
        outcome: What came out.
        ratio: The ratio between the rows; None if it was not measured.
        because: The reason in one sentence.
    """

    finding: Finding
    outcome: Outcome
    ratio: Ratio | None
    because: str


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
        level = claim_level(len(self.spec.findings))
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

    An artefact in the paper is one however the rows compare here. Otherwise the statement holds if the confidence
    interval of the ratio lies on its side of 1, and does not hold if the interval lies on the other side. `equal` holds
    if the whole interval differs from 1 by no more than the tolerance.

    Args:
        finding: The finding.
        rows: The results of all rows.
        level: The level of the confidence interval.
    """
    ratio = _ratio(finding, rows, level)
    here = "" if ratio is None else f"; here the ratio is {ratio}"
    suspected = finding.artefact
    if suspected is not None and suspected.explains:
        return Checked(
            finding,
            Outcome.ARTEFACT,
            ratio,
            f"{suspected.kind}: {suspected.because}, which gives {suspected.explained_by:g}, and the paper has "
            f"{suspected.paper_value:g}{here}",
        )
    if ratio is None:
        return Checked(finding, Outcome.NOT_MEASURED, None, "the rows were not measured in two rounds or more")
    return Checked(finding, _outcome(finding, ratio), ratio, _reason(finding, ratio))


def _outcome(finding: Finding, ratio: Ratio) -> Outcome:
    match finding.expect:
        case Expectation.GREATER:
            holds, fails = ratio.low > 1, ratio.high < 1
        case Expectation.SMALLER:
            holds, fails = ratio.high < 1, ratio.low > 1
        case Expectation.EQUAL:
            low, high = 1 / (1 + finding.tolerance), 1 + finding.tolerance
            holds, fails = low <= ratio.low and ratio.high <= high, ratio.high < low or ratio.low > high
    return Outcome.HOLDS if holds else Outcome.FAILS if fails else Outcome.UNDECIDED


def _reason(finding: Finding, ratio: Ratio) -> str:
    paper = "" if finding.paper_ratio is None else f", in the paper {finding.paper_ratio:g}"
    asked = {
        Expectation.GREATER: "above 1",
        Expectation.SMALLER: "below 1",
        Expectation.EQUAL: f"within {100 * finding.tolerance:g} % of 1",
    }[finding.expect]
    return f"the ratio is {ratio}{paper}; the statement needs it {asked}"


def _ratio(finding: Finding, rows: Sequence[RowResults], level: float) -> Ratio | None:
    """Return the ratio of the finding's rows; None if no pair of them was measured in two common rounds.

    With several pairs, the ratio of a round is the geometric mean of their ratios.
    """
    logs: dict[int, list[float]] = defaultdict(list)
    pairs = 0
    for ours, theirs in _pairs(finding, rows):
        mine, others = ours.by_round(finding.metric), theirs.by_round(finding.metric)
        both = [turn for turn in mine if turn in others and mine[turn] > 0 and others[turn] > 0]
        pairs += bool(both)
        for turn in both:
            logs[turn].append(log(mine[turn] / others[turn]))
    whole = [fmean(each) for each in logs.values() if len(each) == pairs]
    if len(whole) < 2:
        return None
    return ratio_of([exp(each) for each in whole], [1.0] * len(whole), level=level)


def _pairs(finding: Finding, rows: Iterable[RowResults]) -> list[tuple[RowResults, RowResults]]:
    """Return the pairs of rows that a finding compares: those whose other settings are the same."""
    selecting = {*finding.of, *finding.over}

    def others(each: RowResults) -> dict[str, Any]:
        return {name: value for name, value in each.row.varied.items() if name not in selecting}

    measured = list(rows)
    of = [each for each in measured if each.row.matches(finding.of)]
    over = [each for each in measured if each.row.matches(finding.over)]
    if len(of) == len(over) == 1:
        return [(of[0], over[0])]
    return [(ours, theirs) for ours in of for theirs in over if others(ours) == others(theirs)]


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
    trials = [trial for _, trial in store.trials()]
    rows = tuple(
        RowResults(
            row,
            tuple(each for each in trials if each.row == row.name and each.kind is Kind.EXPERIMENT),
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
