"""Forwards TCP connections over a link: one thread, which waits for sockets and for the next chunk that leaves.

The sockets are watched by `epoll`, edge-triggered: a socket that has bytes to read is remembered until they are read,
because the link may not take them yet. Connections that have bytes to read take turns, a chunk each, so that they share
the bandwidth.
"""

import select
import socket
import time
from collections.abc import Callable, Sequence
from typing import Final

from runners.zones.arrival import note_arrivals, receive
from runners.zones.lateness import Lateness
from runners.zones.link import Link
from runners.zones.streams import STREAM_BYTES, Flow, Stream
from runners.zones.timer import Timer

MAX_LEAD_NS: Final = 100_000
"""The timer is set at most this long before a chunk leaves, because waking up takes time."""
_LEAD_DIVISOR: Final = 16
_CHECK_S: Final = 0.2
_EVENTS: Final = select.EPOLLIN | select.EPOLLOUT | select.EPOLLRDHUP | select.EPOLLET
_READABLE: Final = select.EPOLLIN | select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR
_ENDING: Final = select.EPOLLRDHUP | select.EPOLLHUP | select.EPOLLERR


class Forwarder:
    """Accepts connections on several ports and forwards each over the link to a port of the same host.

    Attributes:
        lateness: How late chunks have left.
    """

    def __init__(self, listeners: Sequence[socket.socket], host: str, link: Link) -> None:
        """Prepare the forwarding.

        Args:
            listeners: Listening sockets that do not block.
            host: The host to forward to.
            link: Delay and bandwidth of each direction.

        Raises:
            OSError: The kernel gives no timer.
        """
        self._listeners, self._host = listeners, host
        self._accepting: dict[int, tuple[socket.socket, int]] = {}
        self._to_brokers, self._to_clients = Flow(link.to_brokers), Flow(link.to_clients)
        self._flows = (self._to_brokers, self._to_clients)
        self._incoming: dict[int, Stream] = {}
        self._timer, self._epoll = Timer(), select.epoll()
        self._lead_ns = 0
        self.lateness = Lateness()
        self._epoll.register(self._timer, select.EPOLLIN | select.EPOLLET)

    def connect(self, targets: Sequence[int]) -> None:
        """Forward new connections of each listener to the port in `targets` from now on."""
        for listener, port in zip(self._listeners, targets, strict=True):
            if listener.fileno() not in self._accepting:
                if self._to_brokers.queue_bytes is not None:
                    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._to_brokers.queue_bytes)
                self._epoll.register(listener, select.EPOLLIN)
            self._accepting[listener.fileno()] = (listener, port)

    def run(self, orders: int, obey: Callable[[], bool]) -> None:
        """Forward until `obey` returns False.

        Args:
            orders: A file descriptor. When it is readable, `obey` is called.
            obey: Returns whether to continue. It is also called from time to time.
        """
        self._epoll.register(orders, select.EPOLLIN)
        timer, checked = self._timer.fileno(), time.monotonic()
        while True:
            now_ns = time.monotonic_ns()
            self._release(now_ns)
            self._read(now_ns)
            called = False
            for number, event in self._wait():
                if number == timer:
                    self._learn_lead()
                elif (stream := self._incoming.get(number)) is not None:
                    self._note(stream, event)
                elif number in self._accepting:
                    self._accept(number)
                else:
                    called = True
            if called or time.monotonic() - checked > _CHECK_S:
                if not obey():
                    return
                checked = time.monotonic()

    def _wait(self) -> list[tuple[int, int]]:
        """Wait for events, until the next chunk leaves or can be read."""
        wake_ns = [at_ns for flow in self._flows if (at_ns := flow.wake_ns(self._lead_ns)) is not None]
        at_ns = min(wake_ns, default=0)
        if at_ns and at_ns <= time.monotonic_ns():
            return self._epoll.poll(0)
        self._timer.set(at_ns)
        return self._epoll.poll(_CHECK_S)

    def _learn_lead(self) -> None:
        """Learn how long waking up takes, in order to wake up that much earlier for the next chunk."""
        late_ns = min(time.monotonic_ns() - self._timer.at_ns, MAX_LEAD_NS)
        self._lead_ns += (late_ns - self._lead_ns) // _LEAD_DIVISOR

    def _note(self, stream: Stream, event: int) -> None:
        """Note what has happened to the socket that is the source of this stream and the target of its opposite."""
        if event & _READABLE:
            stream.ending = stream.ending or bool(event & _ENDING)
            self._queue(stream)
        if event & select.EPOLLOUT and stream.opposite.blocked:
            self._flush(stream.opposite)

    def _queue(self, stream: Stream) -> None:
        if not (stream.queued or stream.read or stream.closed):
            stream.queued = True
            stream.waiting.append(stream)

    def _read(self, now_ns: int) -> None:
        """Read a chunk from each stream that has bytes to read, as long as the link takes chunks."""
        for flow in self._flows:
            waiting, takes_ns = flow.waiting, flow.line.takes_ns
            for _ in range(len(waiting)):
                if (at_ns := takes_ns()) is None or at_ns > now_ns:
                    break
                self._read_chunk(waiting.popleft())

    def _read_chunk(self, stream: Stream) -> None:
        stream.queued = False
        if stream.closed or stream.read:
            return
        if stream.held_bytes >= STREAM_BYTES:
            stream.full = True
            return
        wanted = stream.line.chunk_bytes
        try:
            data, arrived_ns = receive(stream.source, wanted)
        except BlockingIOError:
            return
        except OSError:
            self._close(stream)
            return
        if not data:
            stream.read = True
            stream.line.take(arrived_ns, stream, None)
            return
        stream.held_bytes += len(data)
        stream.line.take(arrived_ns, stream, data)
        if len(data) == wanted or stream.ending:
            self._queue(stream)  # otherwise everything was read, and `epoll` reports when there is more

    def _release(self, now_ns: int) -> None:
        """Send the chunks that leave the link now."""
        for flow in self._flows:
            while (chunk := flow.line.release(now_ns)) is not None:
                leaves_ns, stream, data = chunk
                self.lateness.add(now_ns - leaves_ns)
                if stream.closed:
                    stream.line.held_bytes -= len(data or b"")
                    continue
                waits = bool(stream.blocked)
                stream.blocked.append(None if data is None else memoryview(data))
                if not waits:
                    self._flush(stream)

    def _flush(self, stream: Stream) -> None:
        """Send what has left the link, as far as the target accepts it."""
        while stream.blocked:
            data = stream.blocked[0]
            try:
                if data is None:
                    stream.target.shutdown(socket.SHUT_WR)
                    stream.ended = True
                    stream.blocked.popleft()
                    if stream.opposite.ended:
                        self._close(stream)
                    return
                sent = stream.target.send(data)
            except BlockingIOError:
                return  # `epoll` reports when it accepts more
            except OSError:
                self._close(stream)
                return
            stream.held_bytes -= sent
            stream.line.held_bytes -= sent
            if sent == len(data):
                stream.blocked.popleft()
            else:
                stream.blocked[0] = data[sent:]
            if stream.full:
                stream.full = False
                self._queue(stream)

    def _accept(self, number: int) -> None:
        """Accept the connections that wait at a listener, and connect each to its broker."""
        listener, port = self._accepting[number]
        while True:
            try:
                client, _ = listener.accept()
            except OSError:  # none is left, or the client has gone
                return
            broker = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
            if self._to_clients.queue_bytes is not None:
                broker.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, self._to_clients.queue_bytes)
            for connection in (client, broker):
                connection.setblocking(False)
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                note_arrivals(connection)
            to_broker = Stream(client, broker, self._to_brokers)
            to_client = Stream(broker, client, self._to_clients)
            to_broker.opposite, to_client.opposite = to_client, to_broker
            broker.connect_ex((self._host, port))  # a refusal shows as an error when the connection is read
            for stream in (to_broker, to_client):
                self._incoming[stream.source.fileno()] = stream
                self._epoll.register(stream.source, _EVENTS)

    def _close(self, stream: Stream) -> None:
        """Close a connection on both sides, and drop what is on its way."""
        for side in (stream, stream.opposite):
            if side.closed:
                continue
            side.closed = True
            side.line.held_bytes -= sum(len(data) for data in side.blocked if data is not None)
            side.blocked.clear()
            del self._incoming[side.source.fileno()]
            side.source.close()
