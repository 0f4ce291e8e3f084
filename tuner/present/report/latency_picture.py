"""Draws the latencies that `tuner bench` measured into a file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from runners.measurements.measurement import Measurement
from tuner.present.report.canvas import canvas, save

_NINES: Final = 5


def draw_latency(runs: Sequence[Measurement], path: Path) -> None:
    """Draw latency by percentile for one or more runs, on HdrHistogram's axis: 90 %, 99 %, 99.9 %, ..."""
    figure = canvas(height=4.5)
    axes = figure.add_subplot()
    nines = np.linspace(0.0, _NINES, 300)
    for number, run in enumerate(runs):
        ratios = 1 - 10.0**-nines
        latency_ms = [each / 1e3 for each in run.latency.percentiles_us(*map(float, ratios))]
        label = f"run {number + 1}: {run.mb_per_s:.1f} MB/s, p99 {run.latency.percentile_us(0.99) / 1e3:.2f} ms"
        axes.plot(nines, latency_ms, label=label)
    axes.set_yscale("log")
    axes.set_xticks(range(_NINES + 1), ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"])
    axes.set_xlabel("percentile")
    axes.set_ylabel(
        "latency, ms (only until the record is handed to the socket)" if runs[0].latency_is_local else "latency, ms"
    )
    load = runs[0].workload
    axes.set_title(f"{load.record_sizes} B records, {load.load} load, {runs[0].origin.client_version}")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    save(figure, path)
