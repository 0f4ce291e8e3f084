"""The proxy forwards every byte, holds a bounded number of them, and ends with its owner."""

import os
import random
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

import psutil
import pytest

from runners.errors import EmbeddedBrokerError
from runners.zones.link import Link, LinkDirection
from runners.zones.streams import STREAM_BYTES
from runners.zones.zoned_cluster import ProxyProcess
from tests.helpers.ports import free_port
from tests.helpers.waiting import PATIENCE_S, eventually

HOST = "127.0.0.1"
Handler = Callable[[socket.socket], None]


def echo(connection: socket.socket) -> None:
    """Send everything back, then end."""
    while data := connection.recv(1 << 16):
        connection.sendall(data)


@contextmanager
def server(handle: Handler) -> Iterator[int]:
    """Serve each connection in a thread of its own, and yield the port."""
    with socket.create_server((HOST, 0)) as listener:

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):  # the other side may go at any time
                handle(connection)

        def accept() -> None:
            while True:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                threading.Thread(target=serve, args=(connection,), daemon=True).start()

        acceptor = threading.Thread(target=accept, daemon=True)
        acceptor.start()
        yield int(listener.getsockname()[1])
        listener.shutdown(socket.SHUT_RDWR)
        acceptor.join(PATIENCE_S)


@contextmanager
def behind(link: Link, *targets: int) -> Iterator[ProxyProcess]:
    """Run a proxy before the given ports."""
    with closing(ProxyProcess(link, len(targets))) as proxy:
        proxy.connect(targets)
        yield proxy


def connected(port: int) -> socket.socket:
    return socket.create_connection((HOST, port), timeout=PATIENCE_S)


def read_to_end(connection: socket.socket) -> bytes:
    found = bytearray()
    while data := connection.recv(1 << 20):
        found += data
    return bytes(found)


def read_exactly(connection: socket.socket, size: int) -> None:
    while size:
        data = connection.recv(size)
        assert data
        size -= len(data)


@pytest.mark.parametrize(
    "link",
    [Link(), Link.symmetric(2.0), Link.symmetric(1.0, 20.0), Link(LinkDirection(0.5), LinkDirection(3.0, 50.0))],
    ids=["nothing", "delay", "both", "different"],
)
def test_every_byte_arrives_in_order_on_every_connection(link: Link) -> None:
    contents = [random.Random(number).randbytes(400_000) for number in range(5)]
    found: dict[int, bytes] = {}

    def exchange(number: int, port: int) -> None:
        with connected(port) as connection:
            reader = threading.Thread(target=lambda: found.update({number: read_to_end(connection)}))
            reader.start()
            at, sizes = 0, random.Random(number)
            while at < len(contents[number]):
                size = sizes.choice((1, 100, 10_000, 100_000))
                connection.sendall(contents[number][at : at + size])
                at += size
            connection.shutdown(socket.SHUT_WR)
            reader.join(PATIENCE_S)

    with server(echo) as first, server(echo) as second, behind(link, first, second) as proxy:
        threads = [
            threading.Thread(target=exchange, args=(number, proxy.ports[number % 2])) for number in range(len(contents))
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(PATIENCE_S)
        report = proxy.report()
    assert [found[number] == contents[number] for number in range(len(contents))] == [True] * len(contents)
    assert report.chunks >= 2 * len(contents)
    assert report.p50_us is not None


def test_each_port_leads_to_its_own_broker() -> None:
    with (
        server(lambda connection: connection.sendall(b"first")) as first,
        server(lambda connection: connection.sendall(b"second")) as second,
        behind(Link(), first, second) as proxy,
    ):
        said = []
        for port in proxy.ports:
            with connected(port) as connection:
                said.append(read_to_end(connection))
    assert said == [b"first", b"second"]


def test_a_round_trip_takes_as_long_as_was_asked_for_at_least() -> None:
    link = Link(LinkDirection(5.0), LinkDirection(20.0))
    with server(echo) as port, behind(link, port) as proxy, connected(proxy.ports[0]) as connection:
        for _ in range(10):
            started = time.monotonic()
            connection.sendall(b"hello")
            assert connection.recv(100) == b"hello"
            assert time.monotonic() - started >= 0.0249


def test_a_transfer_takes_as_long_as_the_bandwidth_demands_at_least() -> None:
    size, link = 2_000_000, Link(LinkDirection(mb_per_s=10.0), LinkDirection())
    with server(echo) as port, behind(link, port) as proxy, connected(proxy.ports[0]) as connection:
        started = time.monotonic()
        sender = threading.Thread(target=connection.sendall, args=(bytes(size),))
        sender.start()
        read_exactly(connection, size)
        assert time.monotonic() - started >= 0.199
        sender.join(PATIENCE_S)


def test_connections_share_the_bandwidth() -> None:
    size, started = 500_000, time.monotonic()
    with server(echo) as port, behind(Link(LinkDirection(mb_per_s=10.0), LinkDirection()), port) as proxy:
        connections = [connected(proxy.ports[0]) for _ in range(4)]
        for connection in connections:
            threading.Thread(target=connection.sendall, args=(bytes(size),), daemon=True).start()
        for connection in connections:
            read_exactly(connection, size)
            connection.close()
    assert time.monotonic() - started >= 0.199


def test_a_receiver_that_does_not_read_stops_only_its_own_sender() -> None:
    released = threading.Event()

    def wait_or_echo(connection: socket.socket) -> None:
        if connection.recv(1) == b"w":
            released.wait(PATIENCE_S)
        echo(connection)

    with (
        server(wait_or_echo) as port,
        behind(Link.symmetric(1.0), port) as proxy,
        connected(proxy.ports[0]) as stopped,
        connected(proxy.ports[0]) as other,
    ):
        assert sent_until_full(stopped, b"w") < 2 * STREAM_BYTES
        assert psutil.Process(proxy.pid).memory_info().rss < 2 * STREAM_BYTES
        other.sendall(b"-hello")
        read_exactly(other, 5)
        released.set()


def sent_until_full(connection: socket.socket, first: bytes) -> int:
    """Send until nothing is accepted for a second, and return the number of bytes that were."""
    connection.sendall(first)
    connection.settimeout(1.0)
    block, sent = bytes(1 << 20), 0
    with suppress(TimeoutError):
        while sent < 4 * STREAM_BYTES:
            sent += connection.send(block)
    return sent


def test_the_proxy_closes_the_connection_if_no_broker_runs() -> None:
    port = free_port()
    with (
        behind(Link.symmetric(1.0), port) as proxy,
        connected(proxy.ports[0]) as connection,
        suppress(ConnectionResetError),
    ):
        assert connection.recv(1) == b""


def test_the_other_side_sees_that_one_side_has_gone() -> None:
    ended = threading.Event()

    def until_end(connection: socket.socket) -> None:
        connection.sendall(b"hello")
        read_to_end(connection)
        ended.set()

    with server(until_end) as port, behind(Link.symmetric(1.0), port) as proxy:
        with connected(proxy.ports[0]) as connection:
            assert connection.recv(5) == b"hello"
        assert ended.wait(PATIENCE_S)
        process = psutil.Process(proxy.pid)
        eventually(lambda: not [each for each in process.net_connections("tcp") if each.status == "ESTABLISHED"])


def test_nothing_is_left_after_the_end() -> None:
    with server(echo) as port, behind(Link(), port) as proxy, connected(proxy.ports[0]) as connection:
        connection.sendall(b"x")
        assert connection.recv(1) == b"x"
    assert not psutil.pid_exists(proxy.pid)
    with pytest.raises(ConnectionRefusedError):
        connected(proxy.ports[0])
    proxy.close()  # a second call is allowed


OWNER = """
import os, signal, sys
from runners.zones.link import Link
from runners.zones.zoned_cluster import ProxyProcess
from runners.zones.streams import STREAM_BYTES
proxy = ProxyProcess(Link(), 1)
if sys.argv[1] == "connected":
    proxy.connect([1])
child = os.fork() if sys.argv[2] == "forked" else -1
if child:
    os.write(1, f"{proxy.pid} {child}\\n".encode())
signal.pause()
"""


@pytest.mark.parametrize(
    ("state", "forked"),
    [("listening", "alone"), ("connected", "alone"), ("connected", "forked")],
    ids=["while it starts", "while it forwards", "while a child of the owner has the pipe"],
)
def test_the_proxy_ends_with_its_killed_owner(state: str, forked: str) -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER, state, forked], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        proxy, child = map(int, owner.stdout.readline().split())
        try:
            assert psutil.pid_exists(proxy)
            owner.kill()
            owner.wait()
            eventually(lambda: not psutil.pid_exists(proxy))
        finally:
            if child > 0:
                os.kill(child, signal.SIGKILL)


def test_the_error_about_a_proxy_that_was_killed_says_so() -> None:
    with server(echo) as port, behind(Link(), port) as proxy:
        os.kill(proxy.pid, signal.SIGKILL)
        with pytest.raises(EmbeddedBrokerError, match="ended by itself"):
            proxy.report()


def test_the_error_about_a_proxy_that_failed_quotes_it() -> None:
    with closing(ProxyProcess(Link(), 1)) as proxy, pytest.raises(EmbeddedBrokerError, match="invalid literal for int"):
        proxy.connect(["nowhere"])  # type: ignore[list-item]
