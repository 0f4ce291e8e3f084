"""The constants of the performance model that are fitted, and what is known of them before anything is measured.

The prior is how much each constant differs between hosts (`PRIOR_SD_LOG`). The CPU costs are correlated
(`prior_covariance`): a host with fast cores is fast in all of them.
"""

from collections.abc import Mapping
from dataclasses import replace
from math import exp
from types import MappingProxyType
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.performance_model.constants import (
    CODECS,
    EMBEDDED,
    EMBEDDED_JAVA,
    REMOTE,
    REMOTE_JAVA,
    ClusterConstants,
)
from search_spaces.client import Client, ClientKind

PRIOR_SD_LOG: Final[Mapping[str, float]] = MappingProxyType(
    {
        "client_cores": 0.4,
        "sender_s_per_record": 0.7,
        "sender_s_per_byte": 0.7,
        "client_s_per_record": 0.7,
        "client_s_per_byte": 0.7,
        "client_s_per_request": 0.7,
        "contention_ratio": 1.0,
        "switching_ratio": 0.7,
        "broker_s_per_record": 0.7,
        "broker_s_per_byte": 0.7,
        "broker_s_per_request": 0.7,
        "all_acks_s": 0.7,
        "round_trip_s": 1.0,
        "network_bytes_per_s": 1.0,
        "disk_bytes_per_s": 0.7,
        "socket_bytes": 0.5,
        "wake_s": 0.7,
        "refill_s": 0.7,
        "usual_queue_ratio": 1.0,
        "stall_s": 0.7,
        "tail_s": 0.7,
        "busy_tail_s": 0.7,
        "pause_s": 0.7,
        "pause_ratio": 0.7,
        "disk_tail_s": 0.7,
        "gzip_ratio": 0.4,
        "snappy_ratio": 0.4,
        "lz4_ratio": 0.4,
        "zstd_ratio": 0.4,
    }
)
"""The constants that are fitted, with the standard deviation of each logarithm among hosts; 0.7 is a factor of 2."""
_CPU_COSTS: Final = (
    "sender_s_per_record",
    "sender_s_per_byte",
    "client_s_per_record",
    "client_s_per_byte",
    "client_s_per_request",
    "broker_s_per_record",
    "broker_s_per_byte",
    "broker_s_per_request",
    *(f"{codec}_ratio" for codec in CODECS),
)
"""The constants that are CPU times, or factors by which a CPU time is multiplied."""
_CPU_CORRELATION: Final = 0.5
"""Correlation of two CPU costs among hosts: half of the variance comes from the speed of the cores.

Source: chosen with the tables of `benchmarks.prediction`.
"""
STEP: Final = 1e-4
"""By how much a logarithm is raised to find a slope."""


def similar_host(client: Client, *, shared: bool) -> ClusterConstants:
    """Return the constants that a fit begins with.

    Args:
        client: The client of the producers.
        shared: Whether the brokers run on the producers' host, as those that the tuner starts, and not in a network.
    """
    match client.kind:
        case ClientKind.LIBRDKAFKA:
            return EMBEDDED if shared else REMOTE
        case ClientKind.JAVA:
            return EMBEDDED_JAVA if shared else REMOTE_JAVA


def prior_covariance() -> NDArray[np.float64]:
    """Return how the fitted constants differ among hosts: the covariance of their logarithms."""
    sds = np.array(list(PRIOR_SD_LOG.values()))
    cpu = np.isin(list(PRIOR_SD_LOG), _CPU_COSTS)
    correlation = np.where(np.outer(cpu, cpu), _CPU_CORRELATION, 0.0)
    np.fill_diagonal(correlation, 1.0)
    covariance: NDArray[np.float64] = np.outer(sds, sds) * correlation
    return covariance


def with_shifted_logs(constants: ClusterConstants, logs: NDArray[np.float64]) -> ClusterConstants:
    """Return constants with these numbers added to the logarithms of those that are fitted (`PRIOR_SD_LOG`)."""
    changed = {name: getattr(constants, name) * exp(each) for name, each in zip(PRIOR_SD_LOG, logs, strict=True)}
    return replace(constants, **changed)


def raised_in_turn(constants: ClusterConstants, step: float = STEP) -> list[ClusterConstants]:
    """Return the constants once for each fitted one, with the logarithm of that one raised by `step`."""
    return [with_shifted_logs(constants, each) for each in step * np.eye(len(PRIOR_SD_LOG))]
