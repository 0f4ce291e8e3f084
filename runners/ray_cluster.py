"""What is asked of a Ray cluster that runs already: its address, whose code its workers run, where they sit."""

from collections import Counter
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from runners.errors import RayUnfit

DEFAULT_WAIT_S: Final = 60.0
_ZONE: Final = "zone:"
_CLIENT: Final = "ray://"


class Code(StrEnum):
    """Whose code the workers run."""

    SHIP = "ship"
    """That of this process: Ray brings our four packages to the nodes, which have what these depend on."""
    INSTALLED = "installed"
    """What is installed on the nodes, by their image."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """A Ray cluster that runs already.

    Attributes:
        address: Of its head as `host:port`, or `auto`; this process must be on one of its nodes.
        code: Whose code the workers run.
        zones: Where the producers of a job sit, dealt to them in turn; empty is anywhere.
        wait_s: How long nodes and room for the workers are waited for.
        this_host_only: Whether the target can be reached from this host alone, so that no worker may be on another.
    """

    address: str
    code: Code = Code.SHIP
    zones: tuple[str, ...] = ()
    wait_s: float = DEFAULT_WAIT_S
    this_host_only: bool = False

    def __post_init__(self) -> None:
        """Refuse what Ray can't do."""
        if self.address.startswith(_CLIENT):
            raise RayUnfit(
                f"the address of a Ray cluster reads host:port or auto, but got {self.address}: results travel as "
                "streams, which Ray's own client can't take; run the tuner on a node of the cluster (docs/ray.md)"
            )

    def zone_of(self, producer: int) -> str | None:
        """Where a producer sits; None is anywhere."""
        return self.zones[producer % len(self.zones)] if self.zones else None

    def seats(self, producers: int) -> Counter[str | None]:
        """How many of a job's producers sit in each zone."""
        return Counter(self.zone_of(producer) for producer in range(producers))


def resource_of(zone: str) -> str:
    """The custom resource by which a node says that it lies in a zone: `zone:a` for `a`."""
    return f"{_ZONE}{zone}"
