"""The unit prices that a user pays for a cluster. The tuner has no prices of its own."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Prices:
    """Unit prices, all in the same currency. A price of None is unknown, and its cost is left out.

    Attributes:
        core_hour: Price of a processor core of a broker for an hour.
        disk_gb_month: Price of a gigabyte (10^9 bytes) of a broker's disk for a month of 30 days.
        network_gb: Price of a gigabyte that is sent to a broker, by a producer or by another broker.
        retention_days: Days for which a topic keeps its records.
        currency: The currency of the prices, for display.
    """

    core_hour: float | None = None
    disk_gb_month: float | None = None
    network_gb: float | None = None
    retention_days: float = 7.0
    currency: str = ""
