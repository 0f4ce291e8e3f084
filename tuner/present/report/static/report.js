// Copies a config to the clipboard, and sorts a table by the column whose heading is clicked.
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
