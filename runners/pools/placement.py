"""The zones in which the producers and consumers of a job run."""

from dataclasses import dataclass
from typing import Final

from runners.errors import RayUnfit


@dataclass(frozen=True, slots=True)
class Placement:
    """The zones (groups of nodes of a Ray cluster) in which the clients of a job run.

    Attributes:
        zones: The zones of the producers, which are assigned to them in turn. If empty, producers may run on any node.
        consumer_zone: The zone of the node that runs the consumers; None if they run beside the first producer.
    """

    zones: tuple[str, ...] = ()
    consumer_zone: str | None = None

    def zones_of_workers(self, producers: int) -> list[str | None]:
        """Return the zone of each worker of a job: one for each producer, and last the worker of the consumers.

        None stands for any node. Without a zone for the consumers, they have no worker of their own.
        """
        of_producers = [self.zones[number % len(self.zones)] if self.zones else None for number in range(producers)]
        return of_producers if self.consumer_zone is None else [*of_producers, self.consumer_zone]


ANYWHERE: Final = Placement()
"""Producers on any node, and consumers beside the first of them."""


def zones_without_ray(key: str, zones: str) -> RayUnfit:
    """Return the error that says that zones need a Ray cluster.

    Args:
        key: The key of the file that names the zones.
        zones: The zones in the file, as text for the message.
    """
    return RayUnfit(
        f"{key} names zones of an existing Ray cluster, but executor.ray_address is missing for {zones}: give "
        f"executor.ray_address or --ray-address, or leave {key} out"
    )
