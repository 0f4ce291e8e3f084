"""What a link between two zones does to the bytes that pass it: the delay and the bandwidth of each direction."""

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

MAX_DELAY_MS: Final = 1_000.0
MIN_MB_PER_S: Final = 0.01


@dataclass(frozen=True, slots=True)
class LinkDirection:
    """One direction of a link. All connections that pass the link share it.

    Attributes:
        delay_ms: How much later each byte arrives because of the link, in milliseconds, one way. The time that a byte
            waits because of the bandwidth is added to it.
        mb_per_s: Megabytes (10^6 bytes) of TCP payload that the direction carries per second. None: no limit.
    """

    delay_ms: float = 0.0
    mb_per_s: float | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.delay_ms <= MAX_DELAY_MS:
            raise ValueError(f"a link's delay must be 0 to {MAX_DELAY_MS:,.0f} ms, but got {self.delay_ms:,.10g} ms")
        if self.mb_per_s is not None and not MIN_MB_PER_S <= self.mb_per_s < math.inf:
            raise ValueError(f"a link's bandwidth must be at least {MIN_MB_PER_S} MB/s, but got {self.mb_per_s:g} MB/s")

    def __str__(self) -> str:
        bandwidth = "" if self.mb_per_s is None else f" and {self.mb_per_s:g} MB/s"
        return f"{self.delay_ms:g} ms{bandwidth}"


@dataclass(frozen=True, slots=True)
class Link:
    """A link between clients in one zone and brokers in another.

    Attributes:
        to_brokers: The direction from the clients to the brokers.
        to_clients: The direction from the brokers to the clients.
    """

    to_brokers: LinkDirection = LinkDirection()
    to_clients: LinkDirection = LinkDirection()

    @classmethod
    def symmetric(cls, delay_ms: float = 0.0, mb_per_s: float | None = None) -> Self:
        """Return a link with the same delay and bandwidth in both directions.

        Args:
            delay_ms: Delay of one direction. A round trip takes twice as long.
            mb_per_s: Bandwidth of one direction. None: no limit.

        Raises:
            ValueError: The delay or the bandwidth is out of its range.
        """
        direction = LinkDirection(delay_ms, mb_per_s)
        return cls(direction, direction)

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Self:
        """Return the link that `settings` describes, in the form that `as_settings` returns."""
        return cls(LinkDirection(**settings["to_brokers"]), LinkDirection(**settings["to_clients"]))

    def as_settings(self) -> dict[str, Any]:
        """Return the link in the form of JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if self.to_brokers == self.to_clients:
            return f"{self.to_brokers} each way"
        return f"{self.to_brokers} to the brokers, {self.to_clients} to the clients"
