"""A peer in a process of its own, which answers messages, counts what arrives, or sends without pause, over loopback.

The functions `echoed`, `sent_mb_per_s`, `received_mb_per_s` and `sending` talk to such a peer.
"""

import random
import select
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Final

import numpy as np
from numpy.typing import NDArray

from runners.clock import NS_PER_MS, NS_PER_S

HOST: Final = "127.0.0.1"
MESSAGE_BYTES: Final = 100
MESSAGES_PER_S: Final = 500.0
_SHORTEST_GAP_S: Final = 0.0005
_LONGEST_GAP_S: Final = 2 / MESSAGES_PER_S - _SHORTEST_GAP_S
_STAMP_BYTES: Final = 8
_BLOCK_BYTES: Final = 1 << 18
_SETTLING_NS: Final = NS_PER_S // 2
"""A rate is measured after this time, because the first bytes fill buffers."""
_ECHO, _SINK, _FLOOD = b"e", b"s", b"f"
"""What the first byte of a connection asks of the peer: to send each message back, to count bytes, or to send them."""
_PATIENCE_S: Final = 30.0
_STARTING_S: Final = 2.0
_SENT_AT_ONCE_S: Final = 0.001


@contextmanager
def peer() -> Iterator[int]:
    """Run a peer while the context is open, and yield its port."""
    context = get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()
    try:
        yield int(ours.recv())
    finally:
        process.kill()
        process.join()


@contextmanager
def sending(port: int, mb_per_s: float) -> Iterator[None]:
    """Let another process send to a peer at a fixed rate while the context is open.

    Args:
        port: The port of the peer, or of a proxy before it.
        mb_per_s: Megabytes per second.
    """
    process = get_context("spawn").Process(target=_send, args=(port, mb_per_s), daemon=True)
    process.start()
    time.sleep(_STARTING_S)
    try:
        yield
    finally:
        process.kill()
        process.join()


def echoed(port: int, seconds: float) -> NDArray[np.float64]:
    """Send small messages at random times to a peer, which sends them back.

    Args:
        port: The port of the peer, or of a proxy before it.
        seconds: For how long.

    Returns:
        Shape (3, n), in milliseconds: how long each message took to the peer, how long back, and both.
    """
    times: list[tuple[int, int, int]] = []
    with _connected(port, _ECHO) as connection:
        ends_ns = time.monotonic_ns() + round(seconds * NS_PER_S)
        sent, received, due_ns = 0, b"", time.monotonic_ns()
        while (now_ns := time.monotonic_ns()) < ends_ns or len(times) < sent:
            if now_ns < ends_ns and now_ns >= due_ns:
                connection.sendall(_stamped(b""))
                sent += 1
                due_ns = now_ns + round(random.uniform(_SHORTEST_GAP_S, _LONGEST_GAP_S) * NS_PER_S)
                continue
            wait_s = (due_ns - now_ns) / NS_PER_S if now_ns < ends_ns else _PATIENCE_S
            if not select.select([connection], [], [], max(wait_s, 0.0))[0]:
                continue
            received += connection.recv(_BLOCK_BYTES)
            arrived_ns = time.monotonic_ns()
            while len(received) >= MESSAGE_BYTES:
                message, received = received[:MESSAGE_BYTES], received[MESSAGE_BYTES:]
                left_ns, answered_ns = (_stamp(message, place) for place in (0, 1))
                times.append((answered_ns - left_ns, arrived_ns - answered_ns, arrived_ns - left_ns))
    return np.array(times, dtype=np.float64).T / NS_PER_MS


def sent_mb_per_s(port: int, seconds: float) -> float:
    """Send to a peer without pause, and return the megabytes per second that it has received.

    Args:
        port: The port of the peer, or of a proxy before it.
        seconds: For how long.
    """
    with _connected(port, _SINK) as connection:
        ends = time.monotonic() + seconds
        block = bytes(_BLOCK_BYTES)
        while time.monotonic() < ends:
            connection.sendall(block)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(None)  # the bytes in the buffers may take a while
        answer = b""
        while data := connection.recv(_BLOCK_BYTES):
            answer += data
    return float(answer)


def received_mb_per_s(port: int, seconds: float) -> float:
    """Let a peer send without pause, and return the megabytes per second that arrive.

    Args:
        port: The port of the peer, or of a proxy before it.
        seconds: For how long.
    """
    with _connected(port, _FLOOD) as connection:
        return _counted(connection, seconds)


@contextmanager
def _connected(port: int, mode: bytes) -> Iterator[socket.socket]:
    with socket.create_connection((HOST, port), timeout=_PATIENCE_S) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.sendall(mode)
        yield connection


def _stamped(before: bytes) -> bytes:
    """Return a message that begins with the time stamps in `before` and the time now, in nanoseconds."""
    return (before + time.monotonic_ns().to_bytes(_STAMP_BYTES, "little")).ljust(MESSAGE_BYTES, b"\0")


def _stamp(message: bytes, place: int) -> int:
    return int.from_bytes(message[place * _STAMP_BYTES : (place + 1) * _STAMP_BYTES], "little")


def _counted(connection: socket.socket, seconds: float) -> float:
    """Read until the peer ends or the time is over, and return the MB/s after the settling time."""
    buffer = memoryview(bytearray(_BLOCK_BYTES))
    started_ns = time.monotonic_ns()
    counted, from_ns, last_ns = 0, 0, 0
    while (got := connection.recv_into(buffer)) and last_ns - started_ns < seconds * NS_PER_S:
        last_ns = time.monotonic_ns()
        if from_ns:
            counted += got
        elif last_ns - started_ns >= _SETTLING_NS:
            from_ns = last_ns
    return counted / max(last_ns - from_ns, 1) * 1e3


def _send(port: int, mb_per_s: float) -> None:
    block = bytes(round(mb_per_s * 1e6 * _SENT_AT_ONCE_S))
    with _connected(port, _SINK) as connection:
        due = time.monotonic()
        while True:
            connection.sendall(block)
            due += _SENT_AT_ONCE_S
            time.sleep(max(due - time.monotonic(), 0.0))


def _serve(owner: Connection) -> None:
    """Serve one connection after another."""
    with socket.create_server((HOST, 0)) as listener:
        owner.send(listener.getsockname()[1])
        while True:
            connection, _ = listener.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with connection:
                try:
                    _answer(connection)
                except OSError:
                    continue  # the other side has gone


def _answer(connection: socket.socket) -> None:
    mode = connection.recv(1)
    if mode == _SINK:
        connection.sendall(str(_counted(connection, float("inf"))).encode())
    elif mode == _FLOOD:
        block = bytes(_BLOCK_BYTES)
        while True:
            connection.sendall(block)
    else:
        received = b""
        while data := connection.recv(_BLOCK_BYTES):
            received += data
            while len(received) >= MESSAGE_BYTES:
                connection.sendall(_stamped(received[:_STAMP_BYTES]))
                received = received[MESSAGE_BYTES:]
