"""How long records are kept on the brokers, how much room they take, and when a disk is full."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:  # it imports scipy, which the options of a command must not wait for
    from tuner.prediction.predicting import Prediction

_SECONDS_PER_DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True)
class Keeping:
    """The disks of the brokers, and the retention limits of the topic.

    Kafka deletes whole segments, so each partition keeps up to a segment more (`segment.bytes`, by default 1 GiB).

    Attributes:
        disk_bytes: Size of each broker's disk; None if it is not asked about.
        brokers: Number of brokers, among which the replicas are spread evenly.
        retention_s: The topic's `retention.ms`, in seconds; None for no limit in time.
        retention_bytes: The topic's `retention.bytes`, which is for each partition; None for no limit in bytes.
    """

    disk_bytes: int | None = None
    brokers: int = 1
    retention_s: float | None = None
    retention_bytes: int | None = None

    @classmethod
    def asked(
        cls,
        disk_bytes: int | None,
        brokers: int | None,
        retention_s: float | None,
        retention_bytes: int | None,
        *,
        swept: bool,
    ) -> Self | None:
        """Return what a user asks about; None if nothing of it.

        Args:
            disk_bytes: Size of each broker's disk.
            brokers: Number of brokers.
            retention_s: The topic's `retention.ms`, in seconds.
            retention_bytes: The topic's `retention.bytes`.
            swept: Whether a setting is swept.

        Raises:
            ValueError: The number of brokers alone says nothing, or a sweep, which has no such rows, is asked for, too.
        """
        if disk_bytes is None and retention_s is None and retention_bytes is None:
            if brokers is not None:
                raise ValueError("the number of brokers needs the size of a disk or a retention limit")
            return None
        if swept:
            raise ValueError("a disk or a retention limit and a sweep exclude each other")
        return cls(disk_bytes, brokers or 1, retention_s, retention_bytes)

    def kept_days(self, each: "Prediction") -> float | None:
        """Return after how many days records are deleted; None if they never are, or without a rate."""
        if not each.stored_gb_per_day:
            return None
        load = each.workload
        partition_bytes_per_day = each.stored_gb_per_day * 1e9 / load.replication / load.partitions
        limits = [
            *([] if self.retention_s is None else [self.retention_s / _SECONDS_PER_DAY]),
            *([] if self.retention_bytes is None else [self.retention_bytes / partition_bytes_per_day]),
        ]
        return min(limits, default=None)

    def kept_gb(self, each: "Prediction") -> float | None:
        """Return how many gigabytes each broker keeps in the end; None if records are never deleted."""
        days = self.kept_days(each)
        if days is None or each.stored_gb_per_day is None:
            return None
        return each.stored_gb_per_day * days / self.brokers

    def full_after_days(self, each: "Prediction") -> float | None:
        """Return after how many days the disks are full; None if records are deleted before, or without a rate."""
        if self.disk_bytes is None or not each.stored_gb_per_day:
            return None
        days = self.disk_bytes * self.brokers / (each.stored_gb_per_day * 1e9)
        kept = self.kept_days(each)
        return None if kept is not None and kept <= days else days
