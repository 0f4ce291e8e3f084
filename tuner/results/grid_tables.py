"""The tables of a grid search: one metric for every combination of the values of two knobs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from math import log
from statistics import fmean, geometric_mean

from objectives.metrics import OUTCOME_METRICS, Direction, ShownIn, shown_in
from objectives.scoring import LEAST_HELD_RATIO
from tuner.model.facts import BASELINE_IN_GRID, METHOD
from tuner.model.spec import Method
from tuner.model.trial import State, Trial, TrialKind
from tuner.results.study_results import SizeResults, StudyResults


@dataclass(frozen=True, slots=True)
class Cell:
    """The measurements with one combination of values.

    Attributes:
        value: The geometric mean of the metric over all configs of the cell, each at the mean of its repeats. Configs
            that did not hold the fixed rate do not count for a latency at this rate. None if no config counts.
        configs: The number of configs that were measured.
        behind: The number of configs that do not count, because they did not hold the fixed rate.
        held_ratio: The mean share of the fixed rate that the configs in `behind` delivered; None if `behind` is 0.
    """

    value: float | None
    configs: int
    behind: int = 0
    held_ratio: float | None = None


@dataclass(frozen=True)
class GridTable:
    """One metric by the values of two knobs.

    Attributes:
        metric: The metric in the cells.
        row_knob: The property whose values are the rows.
        column_knob: The property whose values are the columns; empty if the grid has a single knob.
        rows: The values of the rows, in ascending order.
        columns: The values of the columns, in ascending order.
        cells: The cells by row and column. Combinations that the grid does not have, or has not measured yet, are
            missing.
        averaged: The other knobs of the grid. Each cell is the mean over all of their values.
    """

    metric: str
    row_knob: str
    column_knob: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], Cell]
    averaged: tuple[str, ...]

    def goodness(self, cell: Cell) -> float | None:
        """Return how good a cell is, on a logarithmic scale from 0 (the table's worst value) to 1 (its best value).

        The result is None for a cell without a value, and if all cells have the same value.
        """
        low, high = self._span
        if cell.value is None or high <= low:
            return None
        share = (log(cell.value) - low) / (high - low)
        return share if OUTCOME_METRICS[self.metric].direction is Direction.MAXIMIZE else 1 - share

    @cached_property
    def _span(self) -> tuple[float, float]:
        values = [log(cell.value) for cell in self.cells.values() if cell.value is not None]
        return min(values, default=0.0), max(values, default=0.0)


def grid_tables(study: StudyResults, size: SizeResults) -> list[GridTable]:
    """Return the tables of one record size: one for each pair of knobs and each metric.

    The metrics are throughput, p99 and the objectives. The numbers of a config are the same as in `tuner front`. The
    baseline is included if it is a config of the grid.

    Returns:
        The tables; empty if the study did not search a grid, or if no knob has two values yet.
    """
    if study.facts.get(METHOD) != Method.GRID:
        return []
    configs = _configs(size, with_baseline=study.facts.get(BASELINE_IN_GRID, {}).get(size.record_bytes, False))
    texts = _texts(configs)
    knobs = [name for name in texts if len(set(texts[name])) > 1]
    wanted = dict.fromkeys((*shown_in(ShownIn.FRONT), *(objective.metric for objective in size.objectives)))
    numbers = [
        size.baseline_means if each[0].kind is TrialKind.BASELINE else size.metrics_of(each[0]) for each in configs
    ]
    metrics = [name for name in wanted if any(each.get(name, 0.0) > 0 for each in numbers)]
    pairs = list(combinations(knobs, 2)) or [(name, "") for name in knobs]
    return [
        _table(metric, pair, [name for name in knobs if name not in pair], texts, configs, numbers)
        for pair in pairs
        for metric in metrics
    ]


def _configs(size: SizeResults, *, with_baseline: bool) -> list[list[Trial]]:
    """Return the trials that ran to their end, by config, in the order in which the configs were first measured."""
    found: dict[str, list[Trial]] = {}
    for trial in size.trials:
        counts = trial.kind is TrialKind.SEARCH or (with_baseline and trial.kind is TrialKind.BASELINE)
        if counts and trial.state is State.COMPLETE and not trial.stopped_early:
            found.setdefault(trial.fingerprint, []).append(trial)
    return list(found.values())


def _texts(configs: Iterable[Sequence[Trial]]) -> dict[str, list[str]]:
    """Return, for each property that the grid sets, its effective value in each config."""
    first = [trials[0] for trials in configs]
    effective_values = [trial.config().effective_values for trial in first]
    names: dict[str, None] = {}
    for trial, each in zip(first, effective_values, strict=True):
        knobs = (each.client.knob(name) for name in trial.params)
        names |= {name if knob is None else knob.sets: None for name, knob in zip(trial.params, knobs, strict=True)}
    return {name: [each.text(name) for each in effective_values] for name in names}


def _table(
    metric: str,
    pair: tuple[str, str],
    averaged: Sequence[str],
    texts: Mapping[str, Sequence[str]],
    configs: Sequence[Sequence[Trial]],
    numbers: Sequence[Mapping[str, float]],
) -> GridTable:
    row_knob, column_knob = pair
    indices: dict[tuple[str, str], list[int]] = {}
    for index in range(len(configs)):
        key = (texts[row_knob][index], texts[column_knob][index] if column_knob else "")
        indices.setdefault(key, []).append(index)
    cells = {
        key: _cell(metric, [configs[index] for index in among], [numbers[index] for index in among])
        for key, among in indices.items()
    }
    return GridTable(
        metric=metric,
        row_knob=row_knob,
        column_knob=column_knob,
        rows=_ascending(row for row, _ in cells),
        columns=_ascending(column for _, column in cells),
        cells=cells,
        averaged=tuple(averaged),
    )


def _cell(metric: str, configs: Sequence[Sequence[Trial]], numbers: Sequence[Mapping[str, float]]) -> Cell:
    shares = [_held_ratio(trials) if OUTCOME_METRICS[metric].paced else 1.0 for trials in configs]
    behind = [share for share in shares if share < LEAST_HELD_RATIO]
    values = [
        known[metric]
        for share, known in zip(shares, numbers, strict=True)
        if share >= LEAST_HELD_RATIO and known.get(metric, 0.0) > 0
    ]
    return Cell(
        value=geometric_mean(values) if values else None,
        configs=len(configs),
        behind=len(behind),
        held_ratio=fmean(behind) if behind else None,
    )


def _held_ratio(trials: Sequence[Trial]) -> float:
    """Return the mean share of the fixed rate that the trials of a config have delivered."""
    return fmean(trial.metrics.get("held_rate_ratio", 1.0) for trial in trials)


def _ascending(values: Iterable[str]) -> tuple[str, ...]:
    """Return different values in ascending order: as numbers if all of them are numbers, or else by name."""
    different = set(values)
    try:
        return tuple(sorted(different, key=float))
    except ValueError:
        return tuple(sorted(different))
