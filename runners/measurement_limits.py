"""The limits of a measurement: bytes sent, disk space left free, and the time for which brokers may be unreachable."""

from dataclasses import dataclass
from typing import Final

from runners.errors import ByteBudgetExceeded


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that a measurement must respect.

    Attributes:
        max_bytes: Largest number of bytes of values and keys that the measurement may send; None for no limit.
        min_free_disk_bytes: Free space that must remain on the disks of local brokers.
        outage_s: How many seconds may pass without a delivery while brokers are down, before the measurement ends.
    """

    max_bytes: int | None = None
    min_free_disk_bytes: int = 1 << 30
    outage_s: float = 3.0  # just long enough for a client to reconnect: `reconnect.backoff.ms` of librdkafka is 100


DEFAULT_LIMITS: Final = Limits()


def budget_exceeded(max_bytes: int, sent_bytes: int, next_bytes: int | None = None) -> ByteBudgetExceeded:
    """Return the error of a run that may not send its next records.

    Args:
        max_bytes: Largest number of bytes of values and keys that the run may send.
        sent_bytes: Number of these bytes that the run has sent.
        next_bytes: Number of these bytes that the run would send next, all at once; None if that is not known.
    """
    if sent_bytes:
        rule = f"a run may send at most {max_bytes:,} bytes, but has already sent {sent_bytes:,}"
        if next_bytes is not None:
            rule += f" and would send {next_bytes:,} at once"
    else:
        rule = f"a run must be allowed to send at least one record, but only {max_bytes:,} bytes are left for it"
    return ByteBudgetExceeded(
        f"{rule}; allow more (--max-bytes, or in a study file safety.max_bytes_per_trial and search.max_bytes), or "
        "measure for fewer seconds"
    )
