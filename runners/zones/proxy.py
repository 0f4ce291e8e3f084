"""The program of the proxy. `ProxyProcess` in `zoned_cluster.py` starts and stops it.

Its standard input is a pipe, and its owner holds the writing end. The kernel closes the pipe when the owner ends, even
by SIGKILL, and then this program ends. Nothing is left behind, because the kernel closes all sockets with it.

The owner writes lines of JSON, and gets a line for each:

    {"host": "127.0.0.1", "ports": 3, "link": {...}}    the ports on which it listens, one for each broker
    {"targets": [9092, 9093, 9094]}                     true; new connections are forwarded there from now on
    {"report": true}                                    how late chunks have left (`LatenessReport`)
"""

import gc
import json
import os
import signal
import socket
import sys
from typing import Any, Final

from runners.zones.forwarder import Forwarder
from runners.zones.link import Link

_BACKLOG: Final = 128
_LINE_BYTES: Final = 4096
"""The longest write to a pipe that arrives in one piece. Source: PIPE_BUF, pipe(7)."""


def main() -> int:
    """Listen, forward until the owner ends or closes the pipe, and return the exit status."""
    owner = os.getppid()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a Ctrl-C in the terminal of the owner is for the owner
    settings = _next_line()
    if settings is None:
        return 0
    host = str(settings["host"])
    listeners = [_listen(host) for _ in range(settings["ports"])]
    _answer([listener.getsockname()[1] for listener in listeners])
    forwarder = Forwarder(listeners, host, Link.parse(settings["link"]))
    os.set_blocking(sys.stdin.fileno(), False)
    gc.freeze()  # the garbage collector need not look at the modules, which stay until the end

    def obey() -> bool:
        # The owner may have ended although the pipe is still open: a child that it forked may hold the writing end.
        if os.getppid() != owner:
            return False
        try:
            # A line comes in one piece: the owner waits for the answer to the line before, and a pipe does not split a
            # short line.
            orders = os.read(sys.stdin.fileno(), _LINE_BYTES)
        except BlockingIOError:
            return True
        if orders:
            _answer(_carried_out(json.loads(orders), forwarder))
        return bool(orders)

    forwarder.run(sys.stdin.fileno(), obey)
    return 0


def _listen(host: str) -> socket.socket:
    listener = socket.create_server((host, 0), backlog=_BACKLOG)
    listener.setblocking(False)
    return listener


def _next_line() -> Any:
    """Return the next line from the owner; None if the owner has ended."""
    line = b""
    while not line.endswith(b"\n"):
        # Byte by byte, so that nothing of the next line is taken.
        if not (byte := os.read(sys.stdin.fileno(), 1)):
            return None
        line += byte
    return json.loads(line)


def _answer(value: object) -> None:
    os.write(sys.stdout.fileno(), f"{json.dumps(value)}\n".encode())


def _carried_out(order: dict[str, Any], forwarder: Forwarder) -> object:
    """Carry out an order, and return the answer."""
    if "targets" not in order:
        return _report(forwarder)
    forwarder.connect([int(port) for port in order["targets"]])
    return True


def _report(forwarder: Forwarder) -> dict[str, int | None]:
    late = forwarder.lateness
    percentiles = {
        name: late.percentile_us(ratio) for name, ratio in (("p50_us", 0.5), ("p99_us", 0.99), ("max_us", 1.0))
    }
    return {"chunks": late.count, **percentiles}
