"""What is asked of a Ray cluster that runs already, and whether its nodes have what we have.

`facts_here` travels to nodes that may lack our packages: by value, so it needs the standard library alone.
"""

import hashlib
import importlib
import importlib.metadata
import os
import platform
import socket
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from runners.errors import RayUnfit

DEFAULT_WAIT_S: Final = 60.0
_ZONE: Final = "zone:"
_CLIENT: Final = "ray://"
Facts = Mapping[str, str]
"""What a node has, by name; what it lacks is left out, and `trouble` says why our code can't be used."""

_PACKAGES: Final = ("search_spaces", "runners", "objectives", "tuner")


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
                "streams, which Ray's own client can't take; run the tuner on a node of the cluster "
                "(docs/how-to/ray.md)"
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


def facts_here() -> dict[str, str]:
    """Versions of what measures, and what tells this host from others."""
    facts = {
        "host": socket.gethostname(),
        "place": _place(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }
    try:
        facts["kafka-tuner"] = _our_version()
        # What unpickling a job imports.
        importlib.import_module("tuner.course.open_target")
        importlib.import_module("tuner.course.racing")
        client = importlib.import_module("confluent_kafka")
        facts["confluent-kafka"] = importlib.metadata.version("confluent-kafka")
        facts["librdkafka"] = client.libversion()[0]
    except Exception as error:  # noqa: BLE001 - whatever a node lacks, it must answer
        facts["trouble"] = f"{type(error).__name__}: {error}"
    return facts


def _our_version() -> str:
    """A digest of our source: a version alone does not tell one checkout from another."""
    digest = hashlib.sha256()
    for root in packages():
        for file in sorted(root.rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return f"code {digest.hexdigest()[:12]}"


def _place() -> str:
    """What is equal for processes that reach each other's loopback addresses; else the host's name."""
    if not sys.platform.startswith("linux"):
        return socket.gethostname()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {os.stat('/proc/self/ns/net').st_ino}"  # noqa: PTH116 - no Path of ours travels along


_ADVICE: Final = {
    Code.SHIP: "install the same there: `ray_code: ship` brings our own packages, not what they depend on",
    Code.INSTALLED: "give all nodes the same image, or let `ray_code: ship` bring our own packages",
}


def check_alike(ours: Facts, theirs: Facts, code: Code) -> None:
    """Whether a node measures with what we have.

    Raises:
        RayUnfit: It does not, or can't run our code; names both.
    """
    host = theirs["host"]
    if "trouble" in theirs:
        raise RayUnfit(
            f"the nodes of a Ray cluster must be able to run our code, but {host} can't: {theirs['trouble']}; "
            f"{_ADVICE[code]}"
        )
    other = [
        f"{name} is {theirs.get(name)} on {host} and {ours.get(name)} here"
        for name in ("Python", "kafka-tuner", "confluent-kafka", "librdkafka")
        if theirs.get(name) != ours.get(name)
    ]
    if other:
        raise RayUnfit(
            f"the nodes of a Ray cluster must measure with what this host has, but {', '.join(other)}; {_ADVICE[code]}"
        )


def check_here(ours: Facts, theirs: Facts) -> None:
    """Whether a node is this host.

    Raises:
        RayUnfit: It is another, which can't reach what listens here.
    """
    if theirs["place"] != ours["place"]:
        raise RayUnfit(
            "brokers that are started here, and addresses such as localhost, are reached from this host only, but "
            f"the Ray cluster's node {theirs['host']} is another host than {ours['host']}: give target.bootstrap an "
            "address that all nodes reach, or leave executor.ray_address out"
        )


def packages() -> list[Path]:
    """Folders of the packages that workers need."""
    return [Path(next(iter(importlib.import_module(name).__path__))) for name in _PACKAGES]
