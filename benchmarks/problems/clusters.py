"""Simulated clusters for benchmarks: those of the performance model, and the laptop of the VU thesis."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from runners.performance_model.constants import EMBEDDED, REMOTE, ClusterConstants

JAVA_LAPTOP: Final = ClusterConstants(
    "java-laptop",
    client_cores=4.0,
    broker_cores=4.0,
    sender_s_per_record=2.3e-6,
    sender_s_per_byte=1.2e-9,
    client_s_per_record=0.3e-6,
    client_s_per_byte=0.3e-9,
    client_s_per_request=20e-6,
    contention_ratio=0.45,
    contention_s=2e-3,
    broker_s_per_record=0.05e-6,
    broker_s_per_byte=1.9e-9,
    broker_s_per_request=75e-6,
    round_trip_s=0.02e-3,
    network_bytes_per_s=3e9,
    socket_bytes=3.0e6,
    wake_s=10e-6,
    usual_queue_ratio=0.5,
    large_ratio=0.0,
    tail_s=0.3e-3,
    busy_tail_s=0.3e-3,
    pause_s=1e-3,
    disk_tail_s=0.0,
)
"""The Java producer and one broker on a laptop with four cores, as measured in the VU thesis.

The constants were fitted to the thesis's tables by eye. So agreement with these tables shows only that the model can
describe them. It does not show that the model can predict other measurements. They were fitted when the thesis's
megabytes were taken for 1,000,000 bytes, so the throughput is about 5 % too low; ranks do not depend on it.

Source: De Vos Meaker (2020), tables 14 to 22.
"""

PRESETS: Final[Mapping[str, ClusterConstants]] = MappingProxyType(
    {cluster.name: cluster for cluster in (EMBEDDED, REMOTE, JAVA_LAPTOP)}
)
