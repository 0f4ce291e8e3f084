"""Tables as CSV and as Markdown."""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any


def csv_of(rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = ()) -> str:
    """Return rows as CSV, after a line with the names of the columns. `host.cores` is the value `cores` in `host`.

    Args:
        rows: The rows. If a row lacks a column, its cell is empty. Lists are left out.
        columns: The names of all columns; by default the columns of the rows, in the order of their first occurrence.
    """
    flat = [dict(_flat(row)) for row in rows]
    text = io.StringIO()
    names = columns or list(dict.fromkeys(name for row in flat for name in row))
    writer = csv.DictWriter(text, names, restval="", lineterminator="\n")
    writer.writeheader()
    writer.writerows(flat)
    return text.getvalue()


def _flat(row: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in row.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif not isinstance(value, list | tuple):
            yield f"{before}{name}", value


def markdown_table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a table as lines of Markdown. The first row has the headings."""
    lines = ["| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in row) + " |" for row in rows]
    return [lines[0], "|" + " --- |" * len(rows[0]), *lines[1:]]
