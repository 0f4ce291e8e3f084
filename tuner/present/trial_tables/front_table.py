"""The Pareto front as a table, in all forms: the baseline first, then the configs, sorted by the first objective."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final

from objectives.bottlenecks import OTHER_LIMITS_TEXT
from objectives.metrics import Direction, ShownIn, shown_in
from objectives.ratios import Ratio, ratio_text
from objectives.repeats import Estimate
from runners.reporting import counted, in_bytes, percent
from runners.simulated import WARNING
from tuner.model.document import document
from tuner.model.trial import Trial
from tuner.present.changed_properties import Change, changes
from tuner.present.console import Unwrapped
from tuner.present.export.recommendation_json import gains_json
from tuner.present.number_text import aligned, gain, gain_headings, levels_differ, number, shown_metrics, title
from tuner.present.tables import csv_of, markdown_table
from tuner.results.recommendations.unmet_constraints import NONE_KEEPS_ALL, missed_constraints, missed_lines
from tuner.results.study_results import SIMULATED, SizeResults, StudyResults

LIMITED_BY_HOST: Final = f"{OTHER_LIMITS_TEXT} limited it: the config may reach a higher throughput"
_GAIN: Final = (
    "how many times better than the baseline, by the means of all measurements of the study; this proves no gain, "
    "because the config was not measured alternating with the baseline"
)
_INTERVAL: Final = "95 % interval of the config's mean, from the scatter of repeated measurements in this study"
OPTIMISTIC: Final = (
    "The front looks better than it is, because the best of many trials was also lucky: even where nothing can be "
    "gained, some config looks better than the baseline."
)
IN_TURN: Final = "measured again, alternating with the baseline"
_OF_ROUNDS: Final = (
    "Where configs were measured again, each line has the means and gains of the same rounds. The intervals of tuner "
    "recommend are the ones that count: an interval here may be at another level, and may allow for one more stall."
)
CORRECTED: Final = "the numbers of the search and of the front are corrected for it"
_NEAR_SHOWN: Final = 12
_INDENT: Final = "      "


@dataclass(frozen=True, slots=True)
class FrontRow:
    """One row of the table: a config on the front, or the baseline.

    Attributes:
        trial: The trial that found the config; for the baseline its first complete trial.
        is_baseline: Whether the row is the baseline.
        metrics: The numbers of the config or the baseline: means over all its measurements.
        raw_metrics: The values of the trial as measured, as `raw_mb_per_s`.
        estimates: By metric, the mean of all the config's measurements, with its 95 % interval.
        times: By metric, how many times better than the baseline the config is by the means of all its
            measurements. This ratio proves no gain, as config and baseline were not measured alternately.
            Empty for the baseline.
        gains: By metric, the gain from the rounds that measured the config and the baseline alternately; empty if
            there were no rounds.
        flags: Reasons why the numbers in this row are less reliable than usual.
        changes: The properties that differ from the baseline's.
    """

    trial: Trial
    is_baseline: bool
    metrics: Mapping[str, float]
    raw_metrics: Mapping[str, float]
    estimates: Mapping[str, Estimate]
    times: Mapping[str, float]
    gains: Mapping[str, Ratio]
    flags: tuple[str, ...]
    changes: tuple[Change, ...]

    def versus(self, metric: str) -> str:
        """Return how many times better than the baseline the config is by the shown numbers, as text: `1.32`."""
        if self.is_baseline:
            return "1.00"
        return ratio_text(self.times[metric]) if metric in self.times else "-"

    def measured(self, metric: str) -> str:
        """Return a metric's value with the half-width of its 95 % interval: `459 ±3 %`."""
        text, found = number(self.metrics.get(metric)), self.estimates.get(metric)
        if found is None or metric not in self.metrics:
            return text
        return f"{text} ±{percent(max(found.high / found.value, found.value / found.low) - 1)}"

    def cells(self, metrics: Sequence[str]) -> list[str]:
        """Return the cells for the columns of `front_headings`: the trial, then value and gain of each metric."""
        numbers = [text for metric in metrics for text in (self.measured(metric), self.versus(metric))]
        return ["baseline" if self.is_baseline else str(self.trial.number), *numbers]

    @property
    def name(self) -> str:
        """What a page calls the row: `baseline`, or `trial 5`."""
        return "baseline" if self.is_baseline else f"trial {self.trial.number}"

    @property
    def remarks(self) -> tuple[str, ...]:
        """The flags to show in the row, without the one that all trials of a simulated study have."""
        return tuple(flag for flag in self.flags if flag != WARNING)

    @property
    def changed(self) -> str:
        """The properties that differ from the baseline's, as text: `compression.type=lz4 linger.ms=20`."""
        return " ".join(map(str, self.changes))


def front_rows(size: SizeResults) -> list[FrontRow]:
    """Return the rows of the front's table for a record size: the baseline, if it has been measured, and the front."""
    rows = [_row(size, size.baseline)] if size.baseline else []
    members = [trial for trial in size.front_trials if size.baseline is None or trial.number != size.baseline.number]
    sign = 1 if size.objectives[0].direction is Direction.MINIMIZE else -1
    members.sort(key=lambda trial: sign * size.metrics_of(trial)[size.objectives[0].metric])
    return rows + [_row(size, trial) for trial in members]


def front_metrics(size: SizeResults, rows: Sequence[FrontRow]) -> list[str]:
    """Return the metrics of the front's table: those always shown there and the objectives, if any row has them."""
    wanted = dict.fromkeys((*shown_in(ShownIn.FRONT), *_objectives(size)))
    return [name for name in wanted if any(name in row.metrics for row in rows)]


def remarked(rows: Iterable[FrontRow]) -> dict[str, list[str]]:
    """Return the remarks on some rows, each once, with the names of its rows."""
    found: dict[str, list[str]] = {}
    for row in rows:
        for remark in row.remarks:
            found.setdefault(remark, []).append(row.name)
    return found


def front_headings(metrics: Sequence[str]) -> list[str]:
    """Return the headings over the cells that `FrontRow.cells` returns for these metrics."""
    return ["trial", *(text for metric in metrics for text in (title(metric), "x baseline"))]


def in_turn_rows(size: SizeResults, metrics: Sequence[str]) -> list[list[str]]:
    """Return the table of the configs that were measured again, alternating with the baseline, with headings.

    The values of a config, those of the baseline beside them, and the gain are from the same rounds. `tuner recommend`
    shows the same means. Its intervals may differ: metrics outside the goal have a level of their own, and their
    intervals do not allow for one more stall (see `objectives.stalls`). The result is empty if no config was measured
    again.

    Args:
        size: The results of the record size.
        metrics: The metrics to show, from `front_metrics`.
    """
    confirmations = [size.confirmation(name) for name in dict.fromkeys(each.fingerprint for each in size.confirmations)]
    measured = [each for each in confirmations if each is not None and each.gains]
    gains = {metric: [each.gains[metric] for each in measured if metric in each.gains] for metric in metrics}
    rows = []
    for each in measured:
        cells = [str(size.trial_of(each.fingerprint).number), str(max(gain.rounds for gain in each.gains.values()))]
        for metric in metrics:
            ratio = each.gains.get(metric)
            gain_text = gain(ratio, with_level=levels_differ(gains[metric])) if ratio else "-"
            cells += [number(each.values.get(metric)), number(each.baseline.get(metric)), gain_text]
        rows.append(cells)
    heads = [text for metric in metrics for text in (title(metric), "baseline", gain_headings(gains[metric])[0])]
    return [["trial", "rounds", *heads], *rows] if rows else []


def front_json(study: StudyResults, size: SizeResults) -> dict[str, Any]:
    """Return a JSON object that holds the front of one record size."""
    return document(
        "front",
        study=study.name,
        record_bytes=size.record_bytes,
        objectives=_objectives(size),
        trials=len(size.trials),
        rate_records_per_s=size.rate_records_per_s,
        hypervolume=size.hypervolume[-1][1] if size.hypervolume else None,
        front=[_json(row, size) for row in front_rows(size)],
        near_front=list(size.near_front),
        baseline_drift_ratio=dict(size.estimates.drift_ratio),
        missed_constraints=[asdict(each) for each in missed_constraints(size)],
    )


def fronts_json(study: StudyResults, sizes: Iterable[SizeResults]) -> dict[str, Any]:
    """Return a JSON object that holds the front of each record size, and what makes all of them less reliable."""
    fronts = [front_json(study, size) for size in sizes]
    return document("fronts", study=study.name, warnings=list(study.warnings), fronts=fronts)


def front_csv(*sizes: SizeResults) -> str:
    """Return the fronts as CSV: one line per config, with a column for every metric and every property."""
    rows = [(size, row) for size in sizes for row in front_rows(size)]
    metrics = sorted({name for _, row in rows for name in row.metrics})
    raw = sorted({name for _, row in rows for name in row.raw_metrics})
    properties = sorted({name for _, row in rows for name in row.trial.values})
    head, tail = ("record_bytes", "trial", "is_baseline", "fingerprint"), ("guarantee", "verdict", "flags")
    columns = [*head, *metrics, *raw, *tail, *properties]
    lines = (
        {
            "record_bytes": size.record_bytes,
            "trial": row.trial.number,
            "is_baseline": row.is_baseline,
            "fingerprint": row.trial.fingerprint,
            "guarantee": row.trial.guarantee,
            "verdict": row.trial.verdict,
            "flags": "; ".join(row.flags),
            **row.metrics,
            **row.raw_metrics,
            **row.trial.values,
        }
        for size, row in rows
    )
    return csv_of(lines, columns)


def front_markdown(study: StudyResults, size: SizeResults) -> str:
    """Return the front as a Markdown table."""
    rows = front_rows(size)
    metrics = front_metrics(size, rows)
    cells = [[*front_headings(metrics), "guarantee", "bound by", "changed properties"]]
    for row in rows:
        bound = row.trial.verdict + ("" if not row.remarks else f" ({'; '.join(row.remarks)})")
        cells.append([*row.cells(metrics), row.trial.guarantee, bound, row.changed])
    lines = markdown_table(cells)
    head = f"# {study.name}, {size.record_bytes} B records: the front after {counted(len(size.trials), 'measurement')}"
    missed = [f"- {line}" for line in missed_lines(size)]
    again = in_turn_rows(size, metrics)
    if again:
        lines += ["", f"{IN_TURN.capitalize()}:", "", *markdown_table(again)]
    why = [f"{NONE_KEEPS_ALL.capitalize()}:", "", *missed, ""] if missed else []
    simulated = [f"{SIMULATED.capitalize()}.", ""] if study.simulated else []
    return "\n".join([head, "", *simulated, *lines, "", *why, *front_notes(size), ""])


def front_notes(size: SizeResults) -> list[str]:
    """Return sentences that explain how to read the table of the front."""
    notes = [f"x baseline: {_GAIN}.", f"±: {_INTERVAL}.", OPTIMISTIC]
    if in_turn_rows(size, ()):
        notes.append(_OF_ROUNDS)
    for metric, ratio in size.estimates.drift_ratio.items():
        notes.append(f"Drift of the baseline in {title(metric)}: {percent(ratio)} in this study; {CORRECTED}.")
    if size.estimates.forgotten:
        notes.append(
            f"The trials up to {max(size.estimates.forgotten)} count for no mean and are not on the front, because the "
            "baseline's speed then and later differed too much for a reliable correction."
        )
    if size.near_front:
        notes.append(_near_front(size))
    return notes


def _near_front(size: SizeResults) -> str:
    numbers = ", ".join(map(str, size.near_front[:_NEAR_SHOWN]))
    more = f" and {len(size.near_front) - _NEAR_SHOWN} more" if len(size.near_front) > _NEAR_SHOWN else ""
    return f"These trials are so close to the front that noise alone may keep them off it: {numbers}{more}."


def _row(size: SizeResults, trial: Trial) -> FrontRow:
    is_baseline = size.baseline is not None and trial.number == size.baseline.number
    confirmation = size.confirmation(trial.fingerprint)
    times = {name: size.gain(trial, name) for name in shown_metrics(trial.metrics, first=tuple(_objectives(size)))}
    metrics = size.baseline_means if is_baseline else size.metrics_of(trial)
    return FrontRow(
        trial=trial,
        is_baseline=is_baseline,
        metrics=metrics,
        raw_metrics=size.raw_metrics(trial),
        estimates=size.estimates.by_config.get(trial.fingerprint, {}),
        times={name: value for name, value in times.items() if value is not None and not is_baseline},
        gains=confirmation.gains if confirmation else {},
        flags=(*((LIMITED_BY_HOST,) if trial.flagged else ()), *trial.warnings),
        changes=changes(trial, size.baseline.values if size.baseline else {}),
    )


def _objectives(size: SizeResults) -> list[str]:
    return [objective.metric for objective in size.objectives]


def _json(row: FrontRow, size: SizeResults) -> dict[str, Any]:
    trial = row.trial
    return {
        "trial": trial.number,
        "is_baseline": row.is_baseline,
        "fingerprint": trial.fingerprint,
        "objectives": {name: row.metrics.get(name) for name in _objectives(size)},
        "metrics": {**row.metrics, **row.raw_metrics},
        "estimates": {metric: {**asdict(each), "level": 0.95} for metric, each in row.estimates.items()},
        "times_baseline_in_search": dict(row.times),
        "gains": gains_json(row.gains),
        "guarantee": trial.guarantee,
        "verdict": trial.verdict,
        "because": trial.because,
        "flags": list(row.flags),
        "values": dict(trial.values),
        "changes": [asdict(change) for change in row.changes],
    }


def print_fronts(results: StudyResults, sizes: Iterable[SizeResults], out: Unwrapped) -> None:
    """Print the front of each record size."""
    for size in sizes:
        _print_front(results, size, out)


def _print_front(results: StudyResults, size: SizeResults, out: Unwrapped) -> None:
    heading = f"{results.name}: {in_bytes(size.record_bytes)} records, {counted(len(size.trials), 'measurement')}"
    rows = front_rows(size)
    if not rows:
        out.show(f"{heading}: nothing on the front yet")
        return
    metrics = front_metrics(size, rows)
    cells = [[*row.cells(metrics), row.trial.verdict + (" (!)" if row.remarks else "")] for row in rows]
    lines = aligned([[*front_headings(metrics), "bound by"], *cells])
    out.show(heading, style="bold")
    out.show(lines[0])
    for row, line in zip(rows, lines[1:], strict=True):
        out.show(line)
        config = f"{row.trial.guarantee}; {row.changed}" if row.changed else row.trial.guarantee
        out.show(f"{_INDENT}{config}", style="dim")
        if row.remarks:
            out.show(f"{_INDENT}(!) {'; '.join(row.remarks)}", style="dim")
    if again := aligned(in_turn_rows(size, metrics)):
        out.show(f"\n{IN_TURN}:", style="bold")
        out.show(*again)
    if missed := missed_lines(size):
        out.show(f"{NONE_KEEPS_ALL}:")
        out.show(*(f"  {line}" for line in missed))
    out.show(*front_notes(size), style="dim")
    out.print()
