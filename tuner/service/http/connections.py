"""The limit on the service's connections, and the choice of a connection to close when a new client needs a place."""

import asyncio
import resource
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from tuner.service.errors import ServiceConfigError

MOST_CONNECTIONS: Final = 1_000
RESERVED: Final = 100
"""File descriptors that are kept for the service's own work: the queue, studies' processes, logs and pipes."""
PLACE: Final = "place"
"""The key of a request's state that holds the `Place` of its connection."""
_FEWEST: Final = 10
_GRACE_S: Final = 1.0
_PACE_S: Final = 0.005
"""Seconds between two connections that are closed, so that strangers who reconnect cost little CPU time."""


class Connections:
    """The connections that are open, each with a place. Use it in one event loop.

    A client is a stranger until the service has accepted one of its requests. When all places are taken, the oldest
    stranger of the address with the most strangers is disconnected, but only after it had time to send a request.
    Clients for whom there is no place yet wait in the kernel's queue, where they need no file descriptor. Clients with
    an accepted request keep their connections. They get at most four fifths of the places, so that strangers always
    find a place. There is no limit for a single address, because behind a proxy all clients have the proxy's address.

    Args:
        most: The number of places.
        grace_s: How long a stranger keeps its place at least, in seconds.

    Attributes:
        open: The number of places that are taken.
        known: How many of these are taken by clients that were let in.
    """

    def __init__(self, most: int, grace_s: float = _GRACE_S) -> None:
        self._most = most
        self._grace_s = grace_s
        self._strangers: dict[str, dict[Place, None]] = {}
        """The strangers by address, the oldest first."""
        self._changed = asyncio.Event()
        self.open = 0
        self.known = 0

    async def wait_for_room(self) -> None:
        """Wait until a place is free, and close a stranger's connection if need be."""
        loop = asyncio.get_running_loop()
        while self.open >= self._most:
            self._changed.clear()
            most = max(self._strangers.values(), key=len, default={})
            oldest = next(iter(most), None)
            wait_s = self._grace_s if oldest is None else oldest.since_s + self._grace_s - loop.time()
            if oldest is not None and wait_s <= 0:
                oldest.leave()
                oldest.abort()
                await asyncio.sleep(_PACE_S)
                return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), wait_s)

    def enter(self, host: str, abort: Callable[[], object]) -> "Place":
        """Return the place of a new connection, which belongs to a stranger.

        Args:
            host: The client's address.
            abort: Closes the connection at once.
        """
        place = Place(self, host, abort)
        self._strangers.setdefault(host, {})[place] = None
        self.open += 1
        return place

    def let_in(self, place: "Place") -> bool:
        """Let a client in. Return False if clients that were let in have all the places that they may have."""
        if place in self._strangers.get(place.host, ()):
            if self.known >= self._most * 4 // 5:
                return False
            self._forget(place)
            self.known += 1
            place.known = True
        return True

    def leave(self, place: "Place") -> None:
        """Free a place. Calling it twice is allowed."""
        if place.known:
            self.known -= 1
            place.known = False
        elif place in self._strangers.get(place.host, ()):
            self._forget(place)
        else:
            return
        self.open -= 1
        self._changed.set()

    def _forget(self, place: "Place") -> None:
        others = self._strangers[place.host]
        del others[place]
        if not others:
            del self._strangers[place.host]


class Place:
    """The place of one connection.

    Attributes:
        host: The client's address.
        abort: Closes the connection at once.
        since_s: When the client connected, by the event loop's clock.
        known: Whether the service has let in a request of this client.
    """

    def __init__(self, connections: Connections, host: str, abort: Callable[[], object]) -> None:
        self._connections = connections
        self.host = host
        self.abort = abort
        self.since_s = asyncio.get_running_loop().time()
        self.known = False

    def let_in(self) -> bool:
        """Let the client in; see `Connections.let_in`."""
        return self._connections.let_in(self)

    def leave(self) -> None:
        """Free the place. Calling it twice is allowed."""
        self._connections.leave(self)


def places() -> int:
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
