"""A proxy between a client and PostgreSQL, which cuts the connection at a moment that the test chooses."""

import contextlib
import select
import socket
import threading
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Forwards connections from its own port until a client sends certain words, and then cuts that connection."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = 0
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

    def __enter__(self) -> Self:
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ending.set()
        for thread in list(self._threads):
            thread.join(10)
        self._listener.close()

    def _start(self, work: object, *arguments: object) -> None:
        assert callable(work)
        thread = threading.Thread(target=work, args=arguments)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while not self._ending.is_set():
            if select.select([self._listener], [], [], 0.05)[0]:
                client, _ = self._listener.accept()
                self._start(self._serve, client)

    def _serve(self, client: socket.socket) -> None:
        server = socket.create_connection(("127.0.0.1", self._to_port))
        with client, server, contextlib.suppress(OSError):
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

    def _cut(self, server: socket.socket, data: bytes) -> None:
        if self._answered:
            server.sendall(data)
            assert server.recv(1 << 16), "the server must have answered"
        self.cuts += 1
