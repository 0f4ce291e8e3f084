"""A proxy between a client and a server, which cuts connections at a moment that the test chooses."""

import contextlib
import select
import socket
import threading
import time
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Forwards connections. It cuts a connection whose client sends certain words, or all of them when `cut` is called.

    Args:
        to_port: The port of the server. It may be changed when the server has moved.
        mb_per_s: The most that each client can send, in millions of bytes per second; None for no limit.

    Attributes:
        cuts: How often connections were cut.
        sent_bytes: How many bytes all clients have sent to the server.
    """

    def __init__(self, to_port: int, mb_per_s: float | None = None) -> None:
        self.to_port = to_port
        self._s_per_byte = 1e-6 / mb_per_s if mb_per_s else 0.0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = self.sent_bytes = 0
        self._open: set[socket.socket] = set()
        self.silent = threading.Event()
        """While this is set, nothing is forwarded, and the connections stay open."""
        self._words: bytes | None = None
        self._answered = False
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()

    def cut_at(self, words: bytes, *, answered: bool) -> None:
        """Cut the next connection on which the client sends these words.

        Args:
            words: The words, which must lie in one message.
            answered: Whether the server gets the message and answers, so that only the answer is lost. Otherwise the
                server never gets the message.
        """
        self._words, self._answered = words, answered

    def cut(self) -> None:
        """Cut all connections now, whichever side is sending."""
        self.cuts += 1
        self._end_all()

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        self._end_all()
        for thread in list(self._threads):
            thread.join(10)
        self._listener.close()

    def _end_all(self) -> None:
        for each in list(self._open):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments)
        self._threads = [*(each for each in self._threads if each.is_alive()), thread]
        thread.start()

    def _accept(self) -> None:
        while not self._ending.is_set():
            if select.select([self._listener], [], [], 0.05)[0]:
                client, _ = self._listener.accept()
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        with client, contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", self.to_port)) as server:
            self._open |= {client, server}
            try:
                self._forward(client, server)
            finally:
                self._open -= {client, server}

    def _forward(self, client: socket.socket, server: socket.socket) -> None:
        while not self._ending.is_set():
            if self.silent.is_set():
                self._ending.wait(0.05)
                continue
            for ready in select.select([client, server], [], [], 0.05)[0]:
                data = ready.recv(1 << 16)
                if not data:
                    return
                if ready is client and self._words is not None and self._words in data:
                    self._words = None
                    self._cut(server, data)
                    return
                (server if ready is client else client).sendall(data)
                if ready is client:
                    self.sent_bytes += len(data)
                    time.sleep(len(data) * self._s_per_byte)

    def _cut(self, server: socket.socket, data: bytes) -> None:
        if self._answered:
            server.sendall(data)
            assert server.recv(1 << 16), "the server must have answered"
        self.cuts += 1
