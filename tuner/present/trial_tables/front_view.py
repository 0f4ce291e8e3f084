"""The front of a record size as plain text, for terminals and for the service."""

from typing import Final

from runners.reporting import counted, in_bytes
from tuner.present.console import Unwrapped
from tuner.present.number_text import aligned
from tuner.present.trial_tables.front_table import (
    IN_TURN,
    front_headings,
    front_metrics,
    front_notes,
    front_rows,
    in_turn_rows,
)
from tuner.results.recommendations.unmet_constraints import NONE_KEEPS_ALL, missed_lines
from tuner.results.study_results import SizeResults, StudyResults

_INDENT: Final = "      "


def print_front(results: StudyResults, size: SizeResults, out: Unwrapped) -> None:
    """Print the front of one record size.

    Args:
        results: The study's results.
        size: The results of the record size.
        out: The console to print to.
    """
    heading = f"{results.name}: {in_bytes(size.record_bytes)} records, {counted(len(size.trials), 'measurement')}"
    rows = front_rows(size)
    if not rows:
        out.show(f"{heading}: nothing on the front yet")
        return
    metrics = front_metrics(size, rows)
    bounds = [row.trial.verdict + (" (!)" if row.remarks else "") for row in rows]
    cells = [[*row.cells(metrics), bound] for row, bound in zip(rows, bounds, strict=True)]
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
