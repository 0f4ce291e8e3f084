"""Warms up a new Java process, so that the first config that it measures is not measured slower than the others.

A Java process interprets its code at first, and compiles what runs often. So a new Java process sends at full speed
without a break until its throughput no longer grows. This load goes to a broker in the Java process that forgets all
records (`FakeBroker`), never to the cluster that is measured: a user who sets a low rate must not get a burst, and
these bytes must not count towards the limit on sent bytes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from runners.clock import SystemClock
from runners.clusters.cluster import RunningCluster
from runners.host.probe import HostProbe
from runners.java_client.jvm import Jvm
from runners.java_client.load import JavaLoad
from runners.load.payload import payload_of
from runners.load.watchdog import Watchdog
from runners.measurements.measurement import Window
from runners.runner import DEFAULT_LIMITS, WatchDecision
from runners.workload import Workload
from search_spaces.configs.producer_config import ProducerConfig

LONGEST_S: Final = 12.0
ENOUGH_BYTES: Final = float(8 << 30)
"""After this many bytes, a warm-up ends with its current window. It may send a few more: the fake broker drops them."""
_PATIENCE_S: Final = 30.0
_TOPIC: Final = "warm-up"
_GROWTH: Final = 1.05
_LEVEL_WINDOWS: Final = 3


@dataclass(slots=True)
class WarmUpEnd:
    """Ends a load when its throughput no longer grows, or when it has sent enough.

    Attributes:
        enough_bytes: Bytes of values after which the load ends in any case.
        rates: Records per second of the windows so far.
        sent_bytes: Bytes of values in these windows.
    """

    enough_bytes: float = ENOUGH_BYTES
    rates: list[float] = field(default_factory=list)
    sent_bytes: float = 0.0

    def __call__(self, window: Window) -> WatchDecision:
        """Add a window, and stop the load if the last ones were hardly faster than the best one before them."""
        self.rates.append(window.records_per_s)
        self.sent_bytes += window.value_bytes
        before, last = self.rates[:-_LEVEL_WINDOWS], self.rates[-_LEVEL_WINDOWS:]
        level = bool(before) and max(last) <= _GROWTH * max(before)
        return WatchDecision.STOP if level or self.sent_bytes >= self.enough_bytes else WatchDecision.GO_ON


def warm_up(jvm: Jvm, config: ProducerConfig, workload: Workload, properties: Mapping[str, str]) -> tuple[float, ...]:
    """Warm up a new Java process: for `LONGEST_S` at most, or until it has sent `ENOUGH_BYTES`.

    Args:
        jvm: The Java process.
        config: The config that it will measure first.
        workload: The workload that it will measure first. The same records are sent here, but as fast as possible.
        properties: The properties that the load generator sets.

    Returns:
        Records per second in each window.

    Raises:
        RunnerError: The client can't send with this config to the fake broker either.
    """
    full_speed = replace(workload, rate_records_per_s=None, warmup_s=0.0, measured_s=LONGEST_S)
    pool, _ = payload_of(workload)
    clock, end = SystemClock(), WarmUpEnd()
    jvm.send({"do": "open fake broker"})
    connection = {"bootstrap.servers": f"127.0.0.1:{jvm.answer(_PATIENCE_S)['port']}"}
    watchdog = Watchdog.for_run(RunningCluster("fake", connection), DEFAULT_LIMITS, config, clock)
    load = JavaLoad(jvm, pool, full_speed, clock, watchdog, HostProbe())
    load.run({**properties, **config.values, **connection}, _TOPIC, end)
    jvm.send({"do": "close fake broker"})
    jvm.warm = True
    return tuple(end.rates)
