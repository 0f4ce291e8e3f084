"""Computes the cost of writing a terabyte of record values with a config, from measured numbers and unit prices."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tuner.study_file.prices import Prices

_MB_PER_TB: Final = 1e6
_GB_PER_TB: Final = 1e3
_MS_PER_HOUR: Final = 3.6e6
_DAYS_PER_MONTH: Final = 30.0


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a terabyte (10^12 bytes) of record values, in the currency of the prices. None: the cost is unknown.

    Attributes:
        broker_cpu: Processor time of the brokers.
        network: Bytes that go to brokers: from the producer to the leader, and from there to each further replica.
        disk: Bytes that all replicas keep until the retention ends.
    """

    broker_cpu: float | None
    network: float | None
    disk: float | None

    @property
    def total(self) -> float | None:
        """The sum of the known costs; None if none is known."""
        known = [each for each in (self.broker_cpu, self.network, self.disk) if each is not None]
        return sum(known) if known else None


def cost_of(metrics: Mapping[str, float], replication: int, prices: Prices) -> Cost:
    """Return the cost of writing a terabyte of record values with a config.

    Args:
        metrics: The measured metrics of the config: `broker_cpu_ms_per_mb`, which is known for brokers on this host
            only, and `wire_bytes_per_value_byte`.
        replication: Number of replicas of each partition.
        prices: The unit prices.
    """
    cpu_ms, wire = metrics.get("broker_cpu_ms_per_mb"), metrics.get("wire_bytes_per_value_byte")
    written_gb = None if wire is None else _GB_PER_TB * wire * replication
    kept_months = prices.retention_days / _DAYS_PER_MONTH
    return Cost(
        broker_cpu=_product(prices.core_hour, None if cpu_ms is None else cpu_ms * _MB_PER_TB / _MS_PER_HOUR),
        network=_product(prices.network_gb, written_gb),
        disk=_product(prices.disk_gb_month, None if written_gb is None else written_gb * kept_months),
    )


def _product(price: float | None, amount: float | None) -> float | None:
    return None if price is None or amount is None else price * amount
