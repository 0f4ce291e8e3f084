"""Pictures of measurements."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import matplotlib as mpl
import numpy as np

mpl.use("Agg")  # no display is needed, and none is looked for
from matplotlib import pyplot as plt

from runners.measurement import Measurement

_NINES: Final = 5


def draw_latency(runs: Sequence[Measurement], path: Path) -> None:
    """Latency by percentile of one or more runs, in HdrHistogram's usual form: each step right is a nine more.

    Args:
        runs: At least one.
        path: Where to write; its ending says in which format.
    """
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    nines = np.linspace(0.0, _NINES, 300)
    for number, run in enumerate(runs):
        ratios = 1 - 10.0**-nines
        latency_ms = [run.latency.percentile_us(float(ratio)) / 1e3 for ratio in ratios]
        label = f"run {number + 1}: {run.mb_per_s:.1f} MB/s, p99 {run.latency.percentile_us(0.99) / 1e3:.2f} ms"
        axes.plot(nines, latency_ms, label=label)
    axes.set_yscale("log")
    axes.set_xticks(range(_NINES + 1), ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %"])
    axes.set_xlabel("percentile")
    axes.set_ylabel("latency, ms (hand-off to the socket only)" if runs[0].latency_is_local else "latency, ms")
    load = runs[0].workload
    axes.set_title(f"{load.record_sizes} B records, {load.load} load, {runs[0].origin.client_version}")
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)
