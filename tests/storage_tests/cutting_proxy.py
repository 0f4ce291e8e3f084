"""Stands between a client and PostgreSQL, and cuts the line at a moment of the test's choosing."""

import contextlib
import select
import socket
import threading
from types import TracebackType
from typing import Self


class CuttingProxy:
    """Passes bytes on, on a port of its own, until what is to be cut at comes by; later connections are served."""

    def __init__(self, to_port: int) -> None:
        self._to_port = to_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.cuts = 0
        self._words: bytes | None = None
        self._answered = False
        self._threads: list[threading.Thread] = []
        self._ending = threading.Event()

    def cut_at(self, words: bytes, *, answered: bool) -> None:
        """Cut the next line on which the client says this.

        Args:
            words: In one message.
            answered: Whether the server hears it and answers, and only the answer is lost; else it never hears it.
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
            assert server.recv(1 << 16), "the server has answered"
        self.cuts += 1
