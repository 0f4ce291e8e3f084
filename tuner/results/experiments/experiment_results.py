"""The results of an experiment so far: the values of each row, and whether the paper's findings hold here."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

from objectives.ratios import Ratio, claim_level, ratio_of
from runners.measurements.measurement import WindowKind
from tuner.experiment_file.loading import parse_stored_experiment
from tuner.model.errors import RequestRefused, StudyNotFound
from tuner.model.experiment import ExperimentSpec
from tuner.model.facts import EXPERIMENT, FINISHED_AT, FOUND_CONFIGS, IDENTITY, LIMITS, NAME
from tuner.model.row import Row
from tuner.model.trial import PACED, SATURATED, Trial, TrialKind
from tuner.results.experiments.checked_findings import CheckedFinding, check, comparisons_of, shared_scatters
from tuner.results.experiments.row_results import OutageWindow, RowResults
from tuner.storage.locations import storage_at
from tuner.storage.protocols import ResultsStore, Storage


@dataclass(frozen=True)
class ExperimentResults:
    """All results of an experiment so far.

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
    def findings(self) -> tuple[CheckedFinding, ...]:
        """The result of checking each finding.

        The intervals are so wide that all statements of an experiment together are right with 95 % certainty.
        """
        level = claim_level(sum(len(comparisons_of(finding, self.rows)) for finding in self.spec.findings))
        scatters = shared_scatters(self.spec.findings, self.rows)
        return tuple(check(finding, self.rows, level, scatters.get(finding.metric)) for finding in self.spec.findings)

    @property
    def drift(self) -> Ratio | None:
        """The ratio of the control's first metric between the second and the first half of its measurements.

        The ratio is None if the control has fewer than four measurements.
        """
        metric = self.spec.metrics[0]
        values = [trial.metrics[metric] for trial in self.control.trials if metric in trial.metrics]
        half = len(values) // 2
        return ratio_of(values[-half:], values[:half]) if half > 1 and min(values) > 0 else None


def _around_loss(store: ResultsStore, row: Row, trials: Sequence[Trial]) -> tuple[tuple[OutageWindow, ...], ...]:
    """Return the windows of each measurement of a row that kills a broker. Their times count from the actual kill."""
    outages: list[tuple[OutageWindow, ...]] = []
    if row.setup.broker_killed_s is None:
        return ()
    for trial in trials:
        for phase in (PACED, SATURATED):
            if (stored := store.attachment(trial, phase)) is None:
                continue
            ends_s = (each["at_s"] for each in stored["series"])
            killed_at_s = next(
                (at_s for at_s in ends_s if row.setup.kills_broker_by(at_s, row.workload.warmup_s)), None
            )
            if killed_at_s is not None:
                measured = (each for each in stored["series"] if each["phase"] == WindowKind.MEASURED)
                outages.append(tuple(_outage_window(each, killed_at_s) for each in measured))
    return tuple(outages)


def _outage_window(window: Mapping[str, Any], killed_at_s: float) -> OutageWindow:
    p99_ms = window["p99_ms"] if window["p99_ms"] else nan  # 0 or null: no record was acknowledged
    return OutageWindow(window["at_s"] - killed_at_s, window["records_per_s"], p99_ms)


def experiment_results(store: ResultsStore, folder: Path) -> ExperimentResults:
    """Return the results of an experiment from its results store.

    Raises:
        RequestRefused: The results are those of a study.
    """
    facts = store.facts()
    if EXPERIMENT not in facts:
        raise RequestRefused(f"{folder.name} is a study, not an experiment; use `tuner report {folder.name}`")
    name, text = str(facts[NAME]), store.study_file()
    spec = parse_stored_experiment(text, name=name, bootstrap=facts[IDENTITY]["target"][0])
    spec = replace(spec, rounds=facts[LIMITS]["rounds"]).with_configs(facts.get(FOUND_CONFIGS, {}))
    trials = [trial for _, trial in store.trials()]
    rows = []
    for row in spec.rows:
        measured = tuple(each for each in trials if each.row == row.name and each.kind is TrialKind.MEASUREMENT)
        papers = tuple(value for value in spec.paper_values if row.matches(value.row))
        rows.append(RowResults(row, measured, row.name == spec.control, papers, _around_loss(store, row, measured)))
    return ExperimentResults(
        spec, folder, facts, tuple(rows), tuple(each for each in trials if each.kind is TrialKind.BURN_IN)
    )


def searched_configs(spec: ExperimentSpec, folder: Path) -> Mapping[str, Mapping[str, str]]:
    """Return the stored configs that the searches recommended, as properties by the name of the row.

    The result is empty if no row was measured yet. It is also empty if the rows that have a search are not the same as
    when the configs were stored.
    """
    searched = {row.name for row in spec.rows if row.best_of is not None}
    try:
        with closing(storage_at().read(folder)) as store:
            found, begun = store.facts().get(FOUND_CONFIGS, {}), bool(store.trials())
    except StudyNotFound:
        return {}
    return found if begun and found.keys() == searched else {}


def load_experiment(folder: Path, storage: Storage | None = None) -> ExperimentResults:
    """Read the results of an experiment. It may still be running.

    Raises:
        StudyNotFound: There is no such experiment.
        RequestRefused: The results are those of a study.
    """
    with closing((storage or storage_at()).read(folder)) as store:
        return experiment_results(store, folder)
