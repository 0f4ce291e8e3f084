"""The report of an experiment as text, Markdown, CSV and JSON: its rows beside a paper's values, and its findings."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, fields
from math import isfinite
from typing import Any, Final

from objectives.bottlenecks import OTHER_LIMITS_TEXT
from objectives.row_metrics import CLOCK_ERROR, ROW_METRICS
from runners.reporting import counted
from search_spaces.properties.catalogue import shown_values
from tuner.model.document import document
from tuner.model.facts import MIXED
from tuner.model.row import settings_text
from tuner.present.number_text import aligned, number
from tuner.present.tables import csv_of, markdown_table
from tuner.results.experiments.checked_findings import CheckedComparison, CheckedFinding, FindingOutcome
from tuner.results.experiments.experiment_results import ExperimentResults
from tuner.results.experiments.latency_parts import latency_parts
from tuner.results.experiments.row_results import Mean, RowResults

_PAPER: Final = "paper"
_HOW_TO_READ: Final = (
    "Each value is the geometric mean over the rounds, with its 95 % confidence interval. It is called uncertain if "
    "the interval's upper end is over ten times its lower end; more rounds (--rounds) make it narrower."
)
_NO_INTERVAL: Final = "One round gives no interval; more rounds would."
_ONE_ROUND: Final = "Findings need at least two rounds, so this report says nothing about them."
_WITHOUT_NUMBERS: Final = str.maketrans("", "", "0123456789.,+-")


def _value_text(mean: Mean | None) -> str:
    """Return a mean with its confidence interval, such as `95.1 (93.0 to 97.2)`.

    After a single round there is no interval. An interval that is too wide to say anything is not shown.
    """
    if mean is None:
        return "-"
    if mean.rounds < 2:
        return number(mean.value)
    if mean.is_too_wide:
        return f"{number(mean.value)} (uncertain)"
    return f"{number(mean.value)} ({number(mean.low)} to {number(mean.high)})"


def row_cells(results: ExperimentResults) -> list[list[str]]:
    """Return the table of an experiment's rows: the headings, then one list of cells for each row."""
    metrics = results.spec.metrics
    with_paper = {name for name in metrics if any(row.in_paper(name) is not None for row in results.rows)}
    headings = ["row"]
    for name in metrics:
        headings += [ROW_METRICS[name].title, *([_PAPER] if name in with_paper else [])]
    return [[*headings, "bound by"], *(_cells(row, metrics, with_paper) for row in results.rows)]


def _cells(row: RowResults, metrics: Sequence[str], with_paper: set[str]) -> list[str]:
    cells = [row.row.name + (" (control)" if row.is_control else "")]
    for name in metrics:
        cells.append(_value_text(row.mean(name)))
        if name in with_paper:
            cells.append(number(row.in_paper(name)))
    return [*cells, ", ".join(row.bounds) or ("failed" if row.warnings else "-")]


def part_cells(results: ExperimentResults) -> list[list[str]]:
    """Return the table of the parts of the end-to-end latency, with headings; empty if no rows show the parts."""
    rows = [
        [each.row, *map(_value_text, (each.leader_ms, each.replication_ms, each.fetch_ms, each.end_to_end_ms))]
        for each in latency_parts(results)
    ]
    return [["row", "to the leader, ms", "replication, ms", "fetch, ms", "end to end p50, ms"], *rows] if rows else []


def _finding_cells(results: ExperimentResults) -> list[list[str]]:
    """Return the table of the findings: the headings, then one list of cells for each finding."""
    return [
        ["finding", "source", "outcome", "because"],
        *([each.finding.claim, each.finding.source, str(each.outcome), because(each)] for each in results.findings),
    ]


def because(checked: CheckedFinding, between: str = "; ") -> str:
    """Return why a finding has its outcome, in words, with `between` between two comparisons."""
    finding = checked.finding
    several = len(checked.compared) > 1
    metric = ROW_METRICS[finding.metric]
    compared = [_compared_words(each, metric.unit, verdict=several) for each in checked.compared]
    sentences = [f"{metric.label}: {between.join(compared)}"]
    if checked.outcome is FindingOutcome.ARTEFACT and finding.artefact is not None:
        sentences.insert(0, f"{finding.artefact.kind}: {finding.artefact.because}")
    if left_out := len(finding.comparisons) - len(checked.compared):
        sentences.append(f"the quick version leaves out {left_out} of {len(finding.comparisons)} comparisons")
    return ". ".join(f"{each[0].upper()}{each[1:]}" for each in sentences)


def _compared_words(comparison: CheckedComparison, unit: str, *, verdict: bool) -> str:
    """Return a comparison in words: the rows, the ratio here and in the paper, and with `verdict` the outcome."""
    compared = comparison.comparison
    paper = "" if compared.paper_ratio is None else f", in the paper {compared.paper_ratio:g}"
    ratio = "not measured in two rounds" if comparison.ratio is None else str(comparison.ratio)
    if comparison.zero_rounds:
        ratio = f"no ratio, as a value is 0 in {counted(comparison.zero_rounds, 'round')}"
    if comparison.limited:
        ratio += f", but {OTHER_LIMITS_TEXT} limited {' and '.join(comparison.limited)}"
    if compared.along:
        rows = f" of {settings_text(compared.of)}" if compared.of else ""
        what = f"on a straight line through all rows{rows}, at the largest {compared.along} / at the smallest"
    elif compared.over is None:
        what = f"arithmetic mean of {settings_text(compared.of)} / {f'{compared.limit:g} {unit}'.rstrip()}"
    else:
        what = f"{settings_text(compared.of)} / {settings_text(compared.over)}"
    return f"{what} = {ratio}{paper}{f': {comparison.outcome}' if verdict else ''}"


def notes_of(results: ExperimentResults) -> list[str]:
    """Return sentences on how to read the tables, and on what weakens the measurements."""
    return [_how_to_read([results]), *_own_notes(results)]


def _how_to_read(experiments: Sequence[ExperimentResults]) -> str:
    return _NO_INTERVAL if all(results.spec.rounds == 1 for results in experiments) else _HOW_TO_READ


def _own_notes(results: ExperimentResults) -> list[str]:
    """Return the notes that are about this experiment only."""
    spec = results.spec
    measured = sum(len(row.trials) for row in results.rows)
    notes = [f"{measured} of {counted(spec.measurements, 'measurement')}, {counted(spec.rounds, 'round')}."]
    if (drift := results.drift) is not None:
        label = ROW_METRICS[spec.metrics[0]].label
        moved = "this shows no drift" if drift.low <= 1 <= drift.high else "the cluster has drifted"
        if drift.inconclusive:
            moved = "this is too uncertain to tell whether the cluster has drifted"
        notes.append(
            f"In the second half of its measurements, the {label} of the control ({results.control.row.name}) was "
            f"{drift} times that in the first half: {moved}."
        )
    notes += [
        f"{row.name}: the config is what the study {spec.name}-{row.best_of.search} recommends: "
        f"{shown_values(row.config.values)}."
        for row in spec.rows
        if row.best_of is not None
    ]
    notes += [
        f"The measurements are of different environments, which can't be compared well: {each}."
        for each in results.facts.get(MIXED, ())
    ]
    if latency_parts(results):
        notes.append(
            "The part to the leader is the median latency of the row that differs only in acks=1. Replication is how "
            "much later the acknowledgement comes with acks=all, and fetch is the rest until a consumer has the "
            "record. These times are arithmetic means, so that the three parts add up to the whole time."
        )
    notes += [
        f"{row.row.name}: the end-to-end latencies may be wrong by up to {max(errors_ms):.2f} ms, because producer and "
        "consumers have the clocks of two hosts."
        for row in results.rows
        if (errors_ms := [each.metrics[CLOCK_ERROR] for each in row.trials if CLOCK_ERROR in each.metrics])
    ]
    notes += [f"Differs from the paper: {each.rstrip('.')}." for each in spec.differences]
    return [*notes, *_doubts(results)]


def _doubts(results: ExperimentResults) -> Iterable[str]:
    """Yield what makes the measurements of some rows less reliable.

    Of several sentences that differ only in numbers, only the first is returned, with the names of all their rows.
    """
    alike: dict[str, dict[tuple[str, int], str]] = {}
    for row in results.rows:
        for index, trial in enumerate(row.trials):
            for doubt in filter(None, (*trial.warnings, trial.error)):
                alike.setdefault(doubt.translate(_WITHOUT_NUMBERS), {}).setdefault((row.row.name, index), doubt)
    for by_measurement in alike.values():
        rows = dict.fromkeys(name for name, _ in by_measurement)
        count = len(by_measurement)
        several = f" (the first of {count} such measurements)" if count > 1 else ""
        yield f"{'; '.join(rows)}: {next(iter(by_measurement.values()))}{several}"


def experiment_lines(results: ExperimentResults) -> list[str]:
    """Return the report of an experiment as lines of text."""
    lines = [f"{results.spec.name}: {results.spec.about}", "", *aligned(row_cells(results)), ""]
    if parts := part_cells(results):
        lines += [*aligned(parts), ""]
    if results.spec.findings:
        if results.spec.rounds == 1:
            lines.append(_ONE_ROUND)
        else:
            for checked in results.findings:
                lines.append(f"{checked.outcome!s:>18}  {checked.finding.claim} [{checked.finding.source}]")
                lines += [f"{'':>18}  {line}" for line in because(checked, ";\n").splitlines()]
        lines.append("")
    return [*lines, *notes_of(results)]


def experiment_markdown(results: ExperimentResults, notes: Iterable[str] | None = None) -> str:
    """Return the report of an experiment as Markdown, with `notes` at its end; None stands for those of `notes_of`."""
    parts = [results.spec.about, "", *markdown_table(row_cells(results)), ""]
    if of_latency := part_cells(results):
        parts += [*markdown_table(of_latency), ""]
    if results.spec.findings:
        parts += [*([_ONE_ROUND] if results.spec.rounds == 1 else markdown_table(_finding_cells(results))), ""]
    return "\n".join([*parts, *(f"- {note}" for note in (notes_of(results) if notes is None else notes)), ""])


def experiment_json(results: ExperimentResults) -> dict[str, Any]:
    """Return the results of an experiment as JSON types; unknown values are null."""
    return document(
        "experiment",
        name=results.spec.name,
        about=results.spec.about,
        source=results.spec.source,
        finished=results.finished,
        control=results.spec.control,
        rows=[
            {
                "row": row.row.name,
                "varied": dict(row.row.varied),
                "rounds": len(row.by_round(results.spec.metrics[0])),
                "metrics": {
                    name: _mean_json(mean)
                    for name in ROW_METRICS
                    if (mean := row.mean(name)) is not None or name in results.spec.metrics
                },
                "paper": {name: value for each in row.paper_values for name, value in each.values.items()},
                "around_loss": [[_plain(asdict(moment)) for moment in moments] for moments in row.around_loss],
                "bound_by": list(row.bounds),
                "warnings": list(row.warnings),
            }
            for row in results.rows
        ],
        latency_parts=[
            {
                each.name: _mean_json(value) if isinstance(value := getattr(parts, each.name), Mean) else value
                for each in fields(parts)
            }
            for parts in latency_parts(results)
        ],
        findings=[
            {
                "id": each.finding.id,
                "claim": each.finding.claim,
                "source": each.finding.source,
                "outcome": str(each.outcome),
                "metric": each.finding.metric,
                "expect": str(each.finding.expect),
                "artefact": None if each.finding.artefact is None else asdict(each.finding.artefact),
                "compared": [
                    {
                        **asdict(compared.comparison),
                        "ratio": None if compared.ratio is None else _plain(asdict(compared.ratio)),
                        "outcome": str(compared.outcome),
                    }
                    for compared in each.compared
                ],
                "because": because(each),
            }
            for each in results.findings
        ],
        notes=notes_of(results),
    )


def _outcome_cells(experiments: Sequence[ExperimentResults]) -> list[list[str]]:
    """Return how many findings of each experiment had each outcome: the headings, then the cells of each experiment."""
    rows = [(results.spec.name, Counter(each.outcome for each in results.findings)) for results in experiments]
    return [
        ["experiment", *map(str, FindingOutcome)],
        *([name, *(str(outcomes[each]) for each in FindingOutcome)] for name, outcomes in rows),
    ]


def _counted_outcomes(experiments: Sequence[ExperimentResults]) -> str:
    """Return how many findings of several experiments had each outcome, as a sentence."""
    outcomes = Counter(each.outcome for results in experiments for each in results.findings)
    parts = [f"{outcome}: {outcomes[outcome]}" for outcome in FindingOutcome if outcomes[outcome]]
    return f"{outcomes.total()} findings in {len(experiments)} experiments. {', '.join(parts)}."


def overview_lines(experiments: Sequence[ExperimentResults]) -> list[str]:
    """Return the outcome of each finding of several experiments, as lines of text."""
    lines = [_counted_outcomes(experiments), ""]
    for results in experiments:
        lines += [
            f"{results.spec.name}:",
            *(f"{each.outcome!s:>18}  {each.finding.claim}" for each in results.findings),
        ]
    return lines


def experiments_markdown(experiments: Sequence[ExperimentResults]) -> str:
    """Return the report of several experiments as Markdown: how many findings hold in each, then each experiment."""
    outcomes = markdown_table(_outcome_cells(experiments))
    parts = [_counted_outcomes(experiments), "", *outcomes, "", _how_to_read(experiments), ""]
    for results in experiments:
        parts += [f"## {results.spec.name}", "", experiment_markdown(results, _own_notes(results))]
    return "\n".join(parts)


def experiments_json(experiments: Sequence[ExperimentResults]) -> dict[str, Any]:
    """Return the results of experiments as JSON types: of one experiment alone, or a list. Unknown values are null."""
    found = [experiment_json(each) for each in experiments]
    return found[0] if len(found) == 1 else document("experiments", experiments=found)


def experiments_csv(experiments: Sequence[ExperimentResults]) -> str:
    """Return the measurements of experiments as CSV, one per line; of several experiments, with their names."""
    trials = [trial for results in experiments for row in results.rows for trial in row.trials]
    names = [name for name in ROW_METRICS if any(name in trial.metrics for trial in trials)]
    return csv_of(
        {
            **({"experiment": results.spec.name} if len(experiments) > 1 else {}),
            "row": row.row.name,
            **{f"set.{name}": value for name, value in row.row.varied.items() if name != "row"},
            "round": trial.round,
            "started_at": trial.started_at,
            "bound_by": trial.verdict,
            "error": trial.error,
            **{name: trial.metrics.get(name) for name in names},
        }
        for results in experiments
        for row in results.rows
        for trial in row.trials
    )


def _mean_json(mean: Mean | None) -> dict[str, Any] | None:
    """Return a mean with its confidence interval, whose ends are null after a single round."""
    if mean is None:
        return None
    return _plain(asdict(mean) | ({"low": None, "high": None} if mean.rounds < 2 else {}))


def _plain(values: dict[str, Any]) -> dict[str, Any]:
    return {name: None if isinstance(each, float) and not isfinite(each) else each for name, each in values.items()}
