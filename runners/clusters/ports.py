"""Ports of this host."""

import contextlib
import socket

import psutil

from runners.errors import BrokerDidNotStart


def free_ports(host: str, count: int) -> list[int]:
    """Ports that nobody listens on at this moment, all different.

    Args:
        host: Address that they will be bound to.
        count: How many.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((host, 0))
        return [int(each.getsockname()[1]) for each in sockets]


def require_free(host: str, port: int) -> None:
    """See that a port can be listened on.

    Raises:
        BrokerDidNotStart: It can't; the message names who has it, where that may be known.
    """
    with socket.socket() as probe:
        # As Java does: connections that are still closing don't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            holder = listener(port)
            by = f" (process {holder.pid}, {process_name(holder)})" if holder else ""
            raise BrokerDidNotStart(
                f"The broker's port must be free, but {host}:{port} can't be had: {error.strerror}{by}. "
                "Choose another port, or name none to have a free one taken."
            ) from None


def listener(port: int) -> psutil.Process | None:
    """The process of this host that listens on a TCP port; None if there is none, or we may not know."""
    try:
        connections = psutil.net_connections("tcp")
    except psutil.AccessDenied:
        return None
    for connection in connections:
        listens_on = connection.laddr.port if connection.laddr and connection.status == psutil.CONN_LISTEN else None
        if listens_on == port and connection.pid:
            with contextlib.suppress(psutil.NoSuchProcess):
                return psutil.Process(connection.pid)
    return None


def process_name(process: psutil.Process) -> str:
    """Its name; `?` once it has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return "?"
