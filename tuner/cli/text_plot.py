"""Pictures in text."""

import math
from collections.abc import Sequence
from typing import Final

from runners.histogram import Histogram

_BARS: Final = "▁▂▃▄▅▆▇█"
_WIDTH: Final = 40
PLOT_RATIOS: Final = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.99, 0.995, 0.999, 0.9995, 0.9999, 1.0)


def sparkline(values: Sequence[float]) -> str:
    """One bar per value, the highest full; empty for no values."""
    top = max(values, default=0.0)
    if top <= 0:
        return ""
    return "".join(_BARS[min(len(_BARS) - 1, int(value / top * len(_BARS)))] for value in values[-60:])


def hdr_plot(histogram: Histogram) -> list[str]:
    """Latency by percentile, one line each, bars on a logarithmic scale."""
    if not histogram.count:
        return []
    points = [(ratio, histogram.percentile_us(ratio) / 1e3) for ratio in PLOT_RATIOS]
    low, high = math.log(points[0][1]), math.log(points[-1][1])
    lines = []
    for ratio, value_ms in points:
        share = (math.log(value_ms) - low) / (high - low) if high > low else 1.0
        lines.append(f"{ratio * 100:>7.2f} %  {value_ms:>10.2f} ms  {'█' * max(1, round(share * _WIDTH))}")
    return lines
