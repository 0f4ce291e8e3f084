"""Settings of an existing Ray cluster, and the check that its nodes have the same software as this host.

The function `facts_of_this_host` also runs on nodes that may not have our packages. Ray sends its code along, so it
relies on the standard library only.
"""

import hashlib
import importlib
import importlib.metadata
import os
import platform
import socket
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from runners.errors import RayUnfit

DEFAULT_WAIT_S: Final = 60.0
_ZONE: Final = "zone:"
_CLIENT: Final = "ray://"
Facts = Mapping[str, str]
"""Facts about a node by name: the versions of its software, such as `Python`, and its host's identity, such as `host`.

If our code can't run on the node, `trouble` says why, and the versions of missing packages are left out.
"""

_PACKAGES: Final = ("search_spaces", "runners", "objectives", "tuner")


class Code(StrEnum):
    """Which copy of our code the workers run."""

    SHIP = "ship"
    """The code of this process: Ray sends our four packages to the nodes, but not the packages that ours depend on."""
    INSTALLED = "installed"
    """The code that is installed on the nodes, for example by their image."""


@dataclass(frozen=True, slots=True)
class RayCluster:
    """An existing Ray cluster, and how to use it.

    Attributes:
        address: Address of the head node as `host:port`, or `auto`. This process must run on one of the nodes.
        code: Which copy of our code the workers run.
        wait_s: Seconds to wait until the cluster has the nodes and free cores that the workers need.
        this_host_only: Whether only this host can reach the Kafka cluster, so that no worker may run on another host.
    """

    address: str
    code: Code = Code.SHIP
    wait_s: float = DEFAULT_WAIT_S
    this_host_only: bool = False

    def __post_init__(self) -> None:
        """Raise `RayUnfit` for a `ray://` address, because workers can't stream their results to a Ray client."""
        if self.address.startswith(_CLIENT):
            raise RayUnfit(
                f"the address of a Ray cluster must be host:port or auto, but got {self.address}: workers stream their "
                "results, which ray:// addresses do not support; run the tuner on a node of the cluster "
                "(docs/how-to/ray.md)"
            )


def resource_of(zone: str) -> str:
    """Return the name of the custom Ray resource with which a node declares its zone: `zone:a` for zone `a`."""
    return f"{_ZONE}{zone}"


def facts_of_this_host(job_modules: Sequence[str]) -> dict[str, str]:
    """Return this host's name, an id of its network, and the versions of software that affects a measurement.

    Args:
        job_modules: The modules that are imported when a job is unpickled. The function checks that this host can
            import them.
    """
    facts = {
        "host": socket.gethostname(),
        "network": _network_id(),
        "Python": ".".join(platform.python_version_tuple()[:2]),
    }
    try:
        facts["kafka-tuner"] = _our_version()
        for name in job_modules:
            importlib.import_module(name)
        client = importlib.import_module("confluent_kafka")
        facts["confluent-kafka"] = importlib.metadata.version("confluent-kafka")
        facts["librdkafka"] = client.libversion()[0]
    except Exception as error:  # noqa: BLE001 - a node must answer, whatever it lacks
        facts["trouble"] = f"{type(error).__name__}: {error}"
    return facts


def _our_version() -> str:
    """Return a hash of our source code, because two checkouts with the same release number may differ."""
    digest = hashlib.sha256()
    for root in packages():
        for file in sorted(root.rglob("*.py")):
            digest.update(str(file.relative_to(root)).encode() + b"\0" + file.read_bytes())
    return f"code {digest.hexdigest()[:12]}"


def _network_id() -> str:
    """Return an id of this host's network: processes with the same id share their loopback addresses.

    On systems other than Linux, the id is the host's name.
    """
    if not sys.platform.startswith("linux"):
        return socket.gethostname()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    return f"{boot} {os.stat('/proc/self/ns/net').st_ino}"  # noqa: PTH116


_ADVICE: Final = {
    Code.SHIP: "install the same versions there: `ray_code: ship` sends our own packages, but not what they depend on",
    Code.INSTALLED: "give all nodes the same image, or let `ray_code: ship` send our own packages",
}


def check_alike(ours: Facts, theirs: Facts, code: Code) -> None:
    """Check that a node has the same software as this host.

    Raises:
        RayUnfit: The node has other versions, which the message compares with ours, or it can't run our code.
    """
    host = theirs["host"]
    if "trouble" in theirs:
        raise RayUnfit(
            f"the nodes of a Ray cluster must be able to run the tuner's code, but {host} can't: {theirs['trouble']}; "
            f"{_ADVICE[code]}"
        )
    other = [
        f"{name} is {theirs.get(name)} on {host} and {ours.get(name)} here"
        for name in ("Python", "kafka-tuner", "confluent-kafka", "librdkafka")
        if theirs.get(name) != ours.get(name)
    ]
    if other:
        raise RayUnfit(
            f"the nodes of a Ray cluster must have the same software versions as this host, but {', '.join(other)}; "
            f"{_ADVICE[code]}"
        )


def check_same_host(ours: Facts, theirs: Facts) -> None:
    """Check that a node is this host. The check is for a Kafka cluster that only this host can reach.

    Raises:
        RayUnfit: The node is another host.
    """
    if theirs["network"] != ours["network"]:
        raise RayUnfit(
            "only this host can reach a broker that the tuner starts, or an address such as localhost, but the Ray "
            f"cluster's node {theirs['host']} is another host than {ours['host']}; set target.bootstrap to an address "
            "that all nodes can reach, or leave out executor.ray_address"
        )


def packages() -> list[Path]:
    """Return the folders of our own packages that Ray workers need."""
    return [Path(next(iter(importlib.import_module(name).__path__))) for name in _PACKAGES]
