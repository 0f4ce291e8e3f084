"""The tables of a grid search as text, JSON and CSV."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from rich.text import Text

from runners.reporting import percent
from search_spaces.properties.catalogue import shown_value
from tuner.model.document import document
from tuner.present.console import Unwrapped
from tuner.present.number_text import COLUMN_GAP, aligned, number, title
from tuner.present.tables import csv_of
from tuner.results.grid_tables import Cell, GridTable

NO_GRID: Final = "the study did not search a grid, so it has no tables; `tuner trials` shows what it measured"
NO_LATENCY: Final = (
    "A config that can't hold the fixed rate has no valid latency: its cell shows the share of the rate that it "
    "delivered."
)


def grid_heading(table: GridTable) -> str:
    """Return what a table shows: `latency p99, ms by linger.ms (rows) and batch.size (columns)`."""
    if not table.column_knob:
        return f"{title(table.metric)} by {table.row_knob}"
    return f"{title(table.metric)} by {table.row_knob} (rows) and {table.column_knob} (columns)"


def grid_notes(table: GridTable) -> list[str]:
    """Return sentences that explain how to read the cells of a table."""
    notes = []
    if table.averaged:
        notes.append(f"Each cell is the geometric mean over all values of {' and '.join(table.averaged)}.")
    if any(cell.behind for cell in table.cells.values()):
        notes.append(
            f"{NO_LATENCY} If only some of the configs in a cell fell behind, the cell shows the mean of the others."
        )
    return notes


def rate_share_text(held_ratio: float) -> str:
    """Return what a table shows in place of a latency: the share of the fixed rate that was delivered."""
    return f"{percent(held_ratio)} of rate"


def cell_text(cell: Cell | None) -> str:
    """Return a cell as text: its value, and how many of its configs fell behind the rate; a dash for no cell."""
    if cell is None:
        return "-"
    if cell.value is None:
        return "-" if cell.held_ratio is None else rate_share_text(cell.held_ratio)
    return number(cell.value) + (f" ({cell.behind} of {cell.configs} behind)" if cell.behind else "")


def print_grids(study: str, tables_of_sizes: Mapping[str, Sequence[GridTable]], out: Unwrapped) -> None:
    """Print the tables of each record size; in a terminal, a cell is the greener, the better it is."""
    for record_bytes, table in ((size, table) for size, tables in tables_of_sizes.items() for table in tables):
        out.show(f"{study}: {record_bytes} B records, {grid_heading(table)}", style="bold")
        for line in _lines(table):
            out.print(line, soft_wrap=True)
        out.show(*grid_notes(table), style="dim")
        out.print()


def _lines(table: GridTable) -> Iterable[Text]:
    """Yield the lines of a table, with a background for each cell that has a value."""
    rows = [
        [shown_value(table.row_knob, row), *(cell_text(table.cells.get((row, column))) for column in table.columns)]
        for row in table.rows
    ]
    head = ["", *(shown_value(table.column_knob, column) for column in table.columns)]
    lines = aligned([head, *rows])
    widths, gap = [max(map(len, column)) for column in zip(head, *rows, strict=True)], len(COLUMN_GAP)
    yield Text(lines[0])
    for row, line in zip(table.rows, lines[1:], strict=True):
        text, at = Text(line), widths[0]
        for column, width in zip(table.columns, widths[1:], strict=True):
            cell = table.cells.get((row, column))
            good = table.goodness(cell) if cell else None
            if good is not None:
                text.stylize(f"black on {_green(good)}", at + gap - 1, at + gap + width)
            at += gap + width
        yield text


def _green(good: float) -> str:
    """Return a colour from nearly white for 0 to green for 1; black text can be read on all of them."""
    red, green, blue = (round(pale + good * (full - pale)) for pale, full in ((240, 90), (240, 200), (235, 140)))
    return f"rgb({red},{green},{blue})"


def grid_json(study: str, tables: Mapping[str, Sequence[GridTable]], *, simulated: bool) -> dict[str, Any]:
    """Return a JSON object with the tables of each record size."""
    return document(
        "grid",
        study=study,
        simulated=simulated,
        tables=[
            {
                **_table_json(record_bytes, table),
                "rows": list(table.rows),
                "columns": list(table.columns),
                "averaged_over": list(table.averaged),
                "cells": [_cell_json(*place, cell) for place, cell in table.cells.items()],
            }
            for record_bytes, found in tables.items()
            for table in found
        ],
    )


def grid_csv(tables: Mapping[str, Sequence[GridTable]]) -> str:
    """Return the tables as CSV with a line for each cell, given by record size."""
    columns = ("record_bytes", "metric", "row_knob", "column_knob", *_cell_json("", "", Cell(None, 0)))
    cells = (
        {**_table_json(record_bytes, table), **_cell_json(*place, cell)}
        for record_bytes, found in tables.items()
        for table in found
        for place, cell in table.cells.items()
    )
    return csv_of(cells, columns)


def _table_json(record_bytes: str, table: GridTable) -> dict[str, Any]:
    return {
        "record_bytes": record_bytes,
        "metric": table.metric,
        "row_knob": table.row_knob,
        "column_knob": table.column_knob,
    }


def _cell_json(row: str, column: str, cell: Cell) -> dict[str, Any]:
    return {
        "row": row,
        "column": column,
        "value": cell.value,
        "configs": cell.configs,
        "configs_behind_rate": cell.behind,
        "held_rate_ratio": cell.held_ratio,
    }
