"""How long records are kept on the brokers, how much room they take, and when a disk is full."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import ceil, inf
from typing import Final, Self

from runners.quantities import SECONDS_PER_DAY
from runners.workload import Workload
from tuner.model.errors import RequestRefused

BROKERS: Final = "brokers"
FORM_FIELDS: Final = ("retention_days", "disk_gb", BROKERS)
"""The fields of the what-if page's form: `retention.ms` in days, GB of each broker's disk, and number of brokers."""
_LARGEST_NUMBER: Final = 1e9
"""Numbers in these fields must be below this."""
_SEGMENT_BYTES: Final = 1 << 30
"""`segment.bytes`, by default. Kafka deletes whole segments, but never the active one."""
_LATE_DAYS: Final = 360.0 / SECONDS_PER_DAY
"""How late records are deleted: by default, Kafka checks retention every 5 min (`log.retention.check.interval.ms`), and
deletes the files 1 min later (`file.delete.delay.ms`).
"""
_SEGMENT_DAYS: Final = 7.0
"""`segment.ms`, by default: after this time, a new segment is begun."""


@dataclass(frozen=True, slots=True)
class Retention:
    """The retention limits of a topic, and the disks of its brokers.

    Attributes:
        retention_s: The topic's `retention.ms`, in seconds; None for no limit in time.
        retention_bytes: The topic's `retention.bytes`, which is for each partition; None for no limit in bytes.
        disk_bytes: Size of each broker's disk; None if the user did not give it.
        brokers: Number of brokers, among which whole replicas are spread as evenly as possible; None for as many as
            there are replicas of a partition.
    """

    retention_s: float | None = None
    retention_bytes: int | None = None
    disk_bytes: int | None = None
    brokers: int | None = None

    @classmethod
    def from_request(
        cls,
        retention_s: float | None,
        retention_bytes: int | None,
        disk_bytes: int | None,
        brokers: int | None,
        *,
        swept: bool,
    ) -> Self | None:
        """Return the retention and the disks that a user asks about; None if the user gives neither.

        Args:
            retention_s: The topic's `retention.ms`, in seconds.
            retention_bytes: The topic's `retention.bytes`.
            disk_bytes: Size of each broker's disk.
            brokers: Number of brokers.
            swept: Whether a setting is swept.

        Raises:
            RequestRefused: A value is too small. Or the number of brokers is given without a disk and without a limit.
                Or a setting is swept: a sweep does not show retention.
        """
        for setting, name, value, unit in (
            ("retention_s", "the retention time", retention_s, " s"),
            ("retention_bytes", "the retention limit in bytes", retention_bytes, " B"),
            ("disk_bytes", "the size of a disk", disk_bytes, " B"),
            (BROKERS, "the number of brokers", brokers, ""),
        ):
            if value is not None and value < 1:
                raise RequestRefused(f"{name} must be at least 1{unit}, but got {value:g}{unit}", setting)
        if retention_s is retention_bytes is disk_bytes is None:
            if brokers is not None:
                raise RequestRefused(
                    "the number of brokers needs the size of a disk or a retention limit; give one of them, or leave "
                    "the number of brokers out",
                    BROKERS,
                )
            return None
        if swept:
            raise RequestRefused(
                "a disk or a retention limit and a sweep exclude each other; leave one of them out", "sweep"
            )
        return cls(retention_s, retention_bytes, disk_bytes, brokers)

    @classmethod
    def from_form(cls, texts: Mapping[str, str]) -> Self | None:
        """Return what a user has typed into the form (`FORM_FIELDS`); None if the user asks nothing yet.

        A number of brokers alone asks nothing, because a user may type it first.

        Args:
            texts: What was typed into each field, by name.

        Raises:
            RequestRefused: A text is not a number, or its value is too small.
        """
        numbers: dict[str, float | None] = {}
        for name in FORM_FIELDS:
            text = texts.get(name, "").strip()
            try:
                numbers[name] = float(text) if text else None
            except ValueError:
                numbers[name] = inf
            found = numbers[name]
            if found is not None and not 0 < found < _LARGEST_NUMBER:
                raise RequestRefused(
                    f"{name} must be a number above 0 and below {_LARGEST_NUMBER:,.0f}, but got {text!r}"
                )
        days, disk_gb, brokers = numbers.values()
        if brokers is not None and not brokers.is_integer():
            raise RequestRefused(f"brokers must be a whole number, but got {brokers:g}")
        if days is None and disk_gb is None:
            return None
        return cls.from_request(
            None if days is None else days * SECONDS_PER_DAY,
            None,
            None if disk_gb is None else round(disk_gb * 1e9),
            None if brokers is None else int(brokers),
            swept=False,
        )

    @property
    def limited(self) -> bool:
        """Whether records are deleted at all."""
        return self.retention_s is not None or self.retention_bytes is not None

    def kept_days(self, load: Workload, stored_gb_per_day: float) -> float | None:
        """Return the age at which records are deleted, in days; None if they never are."""
        partition_bytes = _partition_bytes_per_day(load, stored_gb_per_day)
        limits = [
            *([] if self.retention_s is None else [self.retention_s / SECONDS_PER_DAY]),
            *([] if self.retention_bytes is None else [self.retention_bytes / partition_bytes]),
        ]
        return min(limits, default=None)

    def kept_gb(self, load: Workload, stored_gb_per_day: float) -> float | None:
        """Return the most gigabytes that a broker keeps; None if records are never deleted.

        Each replica keeps up to a segment more than its retention limit, and what is written until the deletion.
        """
        days = self.kept_days(load, stored_gb_per_day)
        if days is None:
            return None
        partition_bytes = _partition_bytes_per_day(load, stored_gb_per_day)
        replica_bytes = partition_bytes * (days + _LATE_DAYS) + min(_SEGMENT_BYTES, partition_bytes * _SEGMENT_DAYS)
        return replica_bytes * self._replicas(load) / 1e9

    def full_after_days(self, load: Workload, stored_gb_per_day: float) -> float | None:
        """Return after how many days the first disk is full; None if records are deleted before, or without a disk."""
        kept_gb = self.kept_gb(load, stored_gb_per_day)
        if self.disk_bytes is None or (kept_gb is not None and kept_gb * 1e9 <= self.disk_bytes):
            return None
        return self.disk_bytes / (_partition_bytes_per_day(load, stored_gb_per_day) * self._replicas(load))

    def covers(self, load: Workload) -> bool:
        """Return whether retention can be computed for a load: it has a rate, and each replica has a broker."""
        return load.rate_records_per_s is not None and (self.brokers or load.replication) >= load.replication

    def check(self, load: Workload) -> None:
        """Check that retention can be computed for a load.

        Raises:
            RequestRefused: The load has no rate, or more replicas than there are brokers.
        """
        if load.rate_records_per_s is None:
            raise RequestRefused(
                "a disk and a retention limit need the rate at which records come; give a rate", "rate"
            )
        if self.brokers is not None and self.brokers < load.replication:
            raise RequestRefused(
                f"each replica of a partition needs a broker of its own, but there are {load.replication} replicas, "
                f"and the number of brokers is {self.brokers}; raise it",
                BROKERS,
            )

    def _replicas(self, load: Workload) -> int:
        """Return the number of replicas on the broker that has most of them."""
        return ceil(load.partitions * load.replication / (self.brokers or load.replication))


def _partition_bytes_per_day(load: Workload, stored_gb_per_day: float) -> float:
    """Return the bytes that one replica of a partition stores in a day, from the gigabytes of all replicas together."""
    return stored_gb_per_day * 1e9 / load.replication / load.partitions
