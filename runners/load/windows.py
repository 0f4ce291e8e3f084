"""Windows of a load: parts of at most a second, each between two readings of the same counters."""

from dataclasses import dataclass

from runners.clock import NS_PER_S
from runners.histogram import Histogram
from runners.measurement import Window
from runners.runner import Phases


@dataclass(frozen=True, slots=True)
class Cut:
    """The counters at the end of a window, which is a period of at most a second.

    All counters start with the measurement, but `latency` covers only this window.

    Attributes:
        at_ns: Time on the benchmark's clock.
        acknowledged: Number of acknowledged records.
        failed: Number of records that the client gave up.
        full_ns: Time for which the sender waited for room in the client's queue.
        latency: Latencies of the sampled deliveries of this window.
    """

    at_ns: int
    acknowledged: int
    failed: int
    full_ns: int
    latency: Histogram


def window_between(
    number: int, phases: Phases, start_ns: int, previous: Cut, cut: Cut, mean_value_bytes: float
) -> Window:
    """Return the window between two readings of the counters.

    Args:
        number: Number of the window, counted from 0 through both phases.
        phases: The windows of the whole load.
        start_ns: When the load began.
        previous: The counters at the start of the window.
        cut: The counters at its end.
        mean_value_bytes: Mean size of the values, without keys.
    """
    duration_ns = max(cut.at_ns - previous.at_ns, 1)
    records = cut.acknowledged - previous.acknowledged
    return Window(
        number=number,
        phase=phases.phase(number),
        at_s=(cut.at_ns - start_ns) / NS_PER_S,
        duration_s=duration_ns / NS_PER_S,
        records=records,
        value_bytes=records * mean_value_bytes,
        failed=cut.failed - previous.failed,
        queue_full_ratio=min(1.0, (cut.full_ns - previous.full_ns) / duration_ns),
        latency=cut.latency,
        total_windows=len(phases.ends_ns),
    )
