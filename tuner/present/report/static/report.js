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
  if (head) sort(head);
});

// Headings can be reached with the tab key, too.
for (const head of document.querySelectorAll("table.sortable th")) head.tabIndex = 0;
document.addEventListener("keydown", (event) => {
  const head = event.target.closest("table.sortable th");
  if (!head || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  sort(head);
});

function sort(head) {
  const body = head.closest("table").tBodies[0], place = head.cellIndex;
  const down = head.ariaSort === "ascending";
  const value = (row) => {
    const cell = row.cells[place], text = cell.dataset.value ?? cell.textContent, read = parseFloat(text);
    return cell.classList.contains("n") ? (isNaN(read) ? -Infinity : read) : text;
  };
  const rows = [...body.rows].map((row) => [value(row), row]);
  rows.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0) * (down ? -1 : 1));
  body.append(...rows.map(([, row]) => row));
  for (const other of head.parentNode.cells) other.ariaSort = null;
  head.ariaSort = down ? "descending" : "ascending";
}
