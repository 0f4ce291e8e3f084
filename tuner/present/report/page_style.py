"""The style sheet of all pages. It is small, and needs no network."""

from typing import Final

STYLE: Final = """
:root { color-scheme: light dark; --paper: #fff; --ink: #1b1f24; --dim: #5c6470; --line: #d8dde3; --soft: #f5f7f9;
  --good: #00664a; --warn: #8a3b00; --link: #0b5394; --running: #d9f2e6; --failed: #fde3d3; }
@media (prefers-color-scheme: dark) {
  :root { --paper: #14171b; --ink: #e4e7eb; --dim: #9aa4af; --line: #343b44; --soft: #1e242b; --good: #63d2a9;
    --warn: #f2a873; --link: #7db8ff; --running: #17402f; --failed: #4a2511; }
}
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--paper); max-width: 75rem;
  margin: auto; padding: 1rem 1.5rem; overflow-wrap: anywhere; }
a { color: var(--link); }
/* The charts and pictures are drawn for a white ground. */
.js-plotly-plot, img.front { background: #fff; border-radius: 6px; }
h1 { font-size: 1.6rem; margin-bottom: 0; } h2 { margin-top: 2.5rem; border-bottom: 2px solid var(--line); }
h3 { margin: 1.6rem 0 .4rem; } .dim { color: var(--dim); } .good { color: var(--good); font-weight: 600; }
.warn { color: var(--warn); } ul.warn { padding-left: 1.2rem; }
table { border-collapse: collapse; } td, th { padding: .25rem .7rem; border-bottom: 1px solid var(--line); }
th { text-align: left; background: var(--soft); } td.n, th.n { text-align: right; font-variant-numeric: tabular-nums; }
.scroll { overflow: auto; max-height: 32rem; border: 1px solid var(--line); } .scroll table { font-size: 13px; }
.scroll th { position: sticky; top: 0; cursor: pointer; white-space: nowrap; }
.cards { display: flex; flex-wrap: wrap; gap: 1rem; }
.card { flex: 1 1 min(24rem, 100%); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem;
  min-width: 0; }
.card h3 { margin-top: 0; } .card table { display: block; overflow-x: auto; overflow-wrap: normal; }
.answers { margin-top: 1.5rem; } .answers .card { flex-basis: min(19rem, 100%); }
.gain { font-size: 1.15rem; margin: .3rem 0; }
.gain b { font-size: 2rem; color: var(--good); font-variant-numeric: tabular-nums; }
.gain .dim { font-size: 1rem; white-space: nowrap; }
pre { background: var(--soft); padding: .7rem; overflow: auto; border-radius: 6px; font-size: 13px; margin: .3rem 0; }
button { font: inherit; font-size: 13px; padding: .15rem .7rem; cursor: pointer; }
details > summary { cursor: pointer; }
@media (max-width: 40rem) { body { padding: .6rem .8rem; } td, th { padding: .25rem .4rem; } }
@media print {
  body { max-width: none; padding: 0; } button { display: none; } .scroll { max-height: none; overflow: visible; }
  .card, figure, tr { break-inside: avoid; }
}
"""
