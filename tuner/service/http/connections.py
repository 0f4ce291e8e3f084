"""The limit on the service's connections, and the choice of a connection to close when a new client needs a slot."""

import asyncio
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tuner.service.errors import ServiceConfigError

MOST_CONNECTIONS: Final = 1_000
RESERVED: Final = 100
"""File descriptors that are kept for the service's own work: the queue, studies' processes, logs and pipes."""
SLOT: Final = "slot"
"""The key of a request's state that holds the `Slot` of its connection."""
_FEWEST: Final = 10
_GRACE_S: Final = 1.0
_PACE_S: Final = 0.005
"""Seconds between two connections that are closed, so that clients who only reconnect cost little CPU time."""


class Connections:
    """The connections that are open, each with a slot. Use it in one event loop.

    A client is accepted when the service has accepted one of its requests. When all slots are taken, the service closes
    one connection of a client that is not accepted: the oldest of the address that has most of these connections. It
    does so only after the client had time to send a request. Clients for whom there is no slot yet wait in the kernel's
    queue, where they need no file descriptor. Accepted clients keep their connections. They get at most four fifths of
    the slots, so that new clients always get a slot. There is no limit for a single address, because behind a proxy all
    clients have the proxy's address.

    Args:
        most: The number of slots.
        grace_s: How long an unaccepted client keeps its slot at least, in seconds.

    Attributes:
        open: The number of slots that are taken.
        accepted: How many of these are taken by accepted clients.
    """

    def __init__(self, most: int, grace_s: float = _GRACE_S) -> None:
        self._most = most
        self._grace_s = grace_s
        self._unaccepted: dict[str, dict[Slot, None]] = {}
        """The slots of unaccepted clients by address, the oldest first."""
        self._changed = asyncio.Event()
        self.open = 0
        self.accepted = 0

    async def wait_for_room(self) -> None:
        """Wait until a slot is free, and close an unaccepted connection if need be."""
        loop = asyncio.get_running_loop()
        while self.open >= self._most:
            self._changed.clear()
            most = max(self._unaccepted.values(), key=len, default={})
            oldest = next(iter(most), None)
            wait_s = self._grace_s if oldest is None else oldest.since_s + self._grace_s - loop.time()
            if oldest is not None and wait_s <= 0:
                oldest.free()
                oldest.abort()
                await asyncio.sleep(_PACE_S)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait_s)

    def take_slot(self, host: str, abort: Callable[[], object]) -> "Slot":
        """Return the slot of a new connection, whose client is not accepted yet.

        Args:
            host: The client's address.
            abort: Closes the connection immediately.
        """
        slot = Slot(self, host, abort)
        self._unaccepted.setdefault(host, {})[slot] = None
        self.open += 1
        return slot

    def accept(self, slot: "Slot") -> bool:
        """Accept a client. Return False if the accepted clients have all the slots that they may have."""
        if slot in self._unaccepted.get(slot.host, ()):
            if self.accepted >= self._most * 4 // 5:
                return False
            self._forget(slot)
            self.accepted += 1
            slot.accepted = True
        return True

    def free(self, slot: "Slot") -> None:
        """Free a slot. Calling it twice is allowed."""
        if slot.accepted:
            self.accepted -= 1
            slot.accepted = False
        elif slot in self._unaccepted.get(slot.host, ()):
            self._forget(slot)
        else:
            return
        self.open -= 1
        self._changed.set()

    def _forget(self, slot: "Slot") -> None:
        others = self._unaccepted[slot.host]
        del others[slot]
        if not others:
            del self._unaccepted[slot.host]


class Slot:
    """The slot of one connection.

    Attributes:
        host: The client's address.
        abort: Closes the connection immediately.
        since_s: When the client connected, by the event loop's clock.
        accepted: Whether the service has accepted a request of this client.
    """

    def __init__(self, connections: Connections, host: str, abort: Callable[[], object]) -> None:
        self._connections = connections
        self.host = host
        self.abort = abort
        self.since_s = asyncio.get_running_loop().time()
        self.accepted = False

    def accept(self) -> bool:
        """Accept the client; see `Connections.accept`."""
        return self._connections.accept(self)

    def free(self) -> None:
        """Free the slot. Calling it twice is allowed."""
        self._connections.free(self)


def most_connections() -> int:
    """Return how many connections may be open, and raise this process's limit of file descriptors as far as needed.

    Raises:
        ServiceConfigError: The process may open too few files.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = MOST_CONNECTIONS + RESERVED
    if soft != resource.RLIM_INFINITY and soft < wanted:
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    if soft != resource.RLIM_INFINITY and soft < RESERVED + _FEWEST:
        raise ServiceConfigError(
            f"the service must be allowed at least {RESERVED + _FEWEST} open files, but the limit is {soft}; raise it "
            "with `ulimit -n`"
        )
    return MOST_CONNECTIONS if soft == resource.RLIM_INFINITY else min(MOST_CONNECTIONS, soft - RESERVED)
