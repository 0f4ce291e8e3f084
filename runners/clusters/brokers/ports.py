"""Finds free TCP ports on this host, and the process that listens on one."""

import contextlib
import socket

import psutil

from runners.errors import BrokerDidNotStart


def free_ports(host: str, count: int) -> list[int]:
    """Return several different ports on which no process listens at the moment.

    Args:
        host: The address that the ports will be bound to.
        count: The number of ports.
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for opened in sockets:
            opened.bind((host, 0))
        return [int(opened.getsockname()[1]) for opened in sockets]


def require_free(host: str, port: int) -> None:
    """Check that a port is free to listen on.

    Raises:
        BrokerDidNotStart: The port is not free. The message names the process that uses it, if we can find out.
    """
    with socket.socket() as probe:
        # Java sets this option too. With it, connections that are still closing don't block the port.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            holder = listener(port)
            by = f" (process {holder.pid}, {process_name(holder)})" if holder else ""
            raise BrokerDidNotStart(
                f"the broker's port must be free, but {host}:{port} is not available: {error.strerror}{by}; "
                "choose another port, or leave the port out to use a free one"
            ) from None


def listener(port: int) -> psutil.Process | None:
    """Return the process on this host that listens on a TCP port.

    The result is None if no process listens there, or if this user may not see which process does.
    """
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
    """Return the name of a process, or `?` if it has ended."""
    try:
        return str(process.name())
    except psutil.Error:
        return "?"
