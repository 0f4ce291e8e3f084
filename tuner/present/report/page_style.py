"""Style, script and tables of the report page: small, and with no network. What a table shows is escaped here."""

from collections.abc import Sequence
from html import escape
from typing import Final

from tuner.present.wording import Cell

STYLE: Final = """
:root { --ink: #1b1f24; --dim: #5c6470; --line: #d8dde3; --soft: #f5f7f9; --good: #00664a; --warn: #8a3b00; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); max-width: 75rem; margin: auto;
  padding: 1rem 1.5rem; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 2px solid var(--line); }
h3 { margin: 1.6rem 0 .4rem; } .dim { color: var(--dim); } .good { color: var(--good); font-weight: 600; }
.warn { color: var(--warn); } ul.warn { padding-left: 1.2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .7rem; border-bottom: 1px solid var(--line); }
th { text-align: left; background: var(--soft); } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); } .scroll table { font-size: 13px; }
.scroll th { position: sticky; top: 0; cursor: pointer; white-space: nowrap; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; }
.card { flex: 1 1 24rem; border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; min-width: 0; }
.card h3 { margin-top: 0; }
pre { background: var(--soft); padding: .7rem; overflow: auto; border-radius: 6px; font-size: 13px; margin: .3rem 0; }
button { font: inherit; font-size: 13px; padding: .15rem .7rem; cursor: pointer; }
details > summary { cursor: pointer; }
"""

SCRIPT: Final = """
document.addEventListener("click", async (event) => {
  const button = event.target.closest("button[data-copy]");
  if (button) {
    const source = document.getElementById(button.dataset.copy);
    try { await navigator.clipboard.writeText(source.textContent); }
    catch (refused) {
      getSelection().selectAllChildren(source);
      document.execCommand("copy");
    }
    button.textContent = "copied";
    return;
  }
  const head = event.target.closest("table.sortable th");
  if (!head) return;
  const body = head.closest("table").tBodies[0], place = head.cellIndex;
  const down = head.dataset.sorted === "up";
  const value = (row) => {
    const cell = row.cells[place], text = cell.dataset.value ?? cell.textContent, read = parseFloat(text);
    return cell.classList.contains("n") ? (isNaN(read) ? -Infinity : read) : text;
  };
  const rows = [...body.rows].map((row) => [value(row), row]);
  rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
  body.append(...rows.map(([, row]) => row));
  for (const other of head.parentNode.cells) delete other.dataset.sorted;
  head.dataset.sorted = down ? "down" : "up";
});
"""


def table(headings: Sequence[str], rows: Sequence[Sequence[Cell]], *, sortable: bool = False) -> str:
    """A table; a column whose first cell is a number is set to the right."""
    right = [isinstance(cell, tuple) for cell in rows[0]] if rows else [False] * len(headings)
    head = "".join(f"<th{_class(n)}>{escape(text)}</th>" for text, n in zip(headings, right, strict=False))
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    opening = '<table class="sortable">' if sortable else "<table>"
    return f"{opening}{f'<thead><tr>{head}</tr></thead>' if headings else ''}<tbody>{body}</tbody></table>"


def _cell(cell: Cell) -> str:
    if isinstance(cell, str):
        return f"<td>{escape(cell)}</td>"
    shown, value = cell
    return f'<td class="n"{f" data-value={value:.6g}" if value is not None else ""}>{escape(shown)}</td>'


def _class(numeric: bool) -> str:
    return ' class="n"' if numeric else ""
