"""A Java process with one of our programs, and the pipe to it.

Both sides write one JSON object per line. Nothing secret is in its command line, in its environment or in a file: the
properties of the client and the bytes to send go through the pipe. When the pipe closes, because this process has
ended, the Java process ends too.
"""

import contextlib
import json
import queue
import re
import subprocess
import threading
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any, Final, Self

from runners.errors import GeneratorError, LoadPaused, WorkerLost
from runners.host_processes.clean_up import temporary_folder
from runners.java_client.compiled import CompiledProgram
from runners.java_runtime.java import KAFKA_FLAGS, OUR_FLAGS, java_environment
from runners.load.payload import PayloadPool
from runners.reporting import one_line

_LINES_KEPT: Final = 200
_SHOWN_LINES: Final = 3
_END_TIMEOUT_S: Final = 5.0
_START_S: Final = 60.0
_SILENCE_S: Final = 10.0
"""Seconds without a message of a load after which the process counts as stopped. A load sends ten a second."""
_LOGGED: Final = re.compile(r"\[[^]]*\] [A-Z]+ \S+ - (\[(?:Producer|Consumer) clientId=[^]]*\] )?(?P<text>.*)")
"""A line of the client's log: its thread, the level, the class, the client and a text."""
_OUT_OF_MEMORY: Final = "OutOfMemoryError"
_FLAGS: Final = (
    *KAFKA_FLAGS,
    *OUR_FLAGS,
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:+DisplayVMOutputToStderr",  # standard output is the pipe
    "-Xshare:auto",
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
)

Message = Mapping[str, Any]


class Jvm:
    """A Java process with one of our programs, which carries out one command after another until its pipe is closed.

    Attributes:
        version: The release of kafka-clients.
        heap_bytes: The largest size of the heap.
        warm: Whether the process has been warmed up, so that its hot code is compiled.
    """

    def __init__(self, program: CompiledProgram, heap_bytes: int) -> None:
        """Start the process.

        Args:
            program: The compiled program, with a release of the client.
            heap_bytes: The largest size of the heap.

        Raises:
            GeneratorError: It does not start, or takes too long.
        """
        self.version, self.heap_bytes, self.warm = program.version, heap_bytes, False
        self._pool: PayloadPool | None = None
        self._silent_s = 0.0
        self._new_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._last_lines: deque[str] = deque(maxlen=_SHOWN_LINES)  # also lines that complaints() has already returned
        self._out_of_memory = ""
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        with contextlib.ExitStack() as stack:
            # A Java process that is killed leaves the libraries there that its codecs unpack.
            folder = stack.enter_context(temporary_folder("java", "tuner-java-"))
            self._process = _process(program, heap_bytes, folder)
            self._cleanup = stack.pop_all()
        self._readers = [self._reader("answers", self._read_answers), self._reader("log", self._read_log)]
        try:
            self.answer(_START_S)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int:
        """The id of the process."""
        return self._process.pid

    @property
    def runs(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def send_pool(self, pool: PayloadPool) -> None:
        """Give the process the records to send, unless it has them.

        Raises:
            GeneratorError: The process has ended.
        """
        if pool is self._pool:
            return
        keys, key_bytes = pool.keys.shape
        self.send({"do": "pool", "records": len(pool), "keys": keys if key_bytes else 0, "key_bytes": key_bytes})
        for part in (pool.lengths.astype("<i4"), pool.values, pool.keys):
            self._write(part.tobytes())
        self._pool = pool

    def send(self, message: Message) -> None:
        """Send a command.

        Raises:
            GeneratorError: The process has ended.
        """
        self._write(json.dumps(message).encode() + b"\n")

    def answer(self, timeout_s: float) -> Message:
        """Return the answer to a command that should take at most `timeout_s`.

        Raises:
            WorkerLost: None has come in time.
            GeneratorError: The process has ended.
        """
        try:
            return self.receive(timeout_s)
        except TimeoutError:
            raise WorkerLost(
                f"the Java client's process did not answer within {timeout_s:.0f} s; check whether this host is "
                f"overloaded, or whether the process was stopped. {self._last_words()}"
            ) from None

    def receive(self, timeout_s: float) -> Message:
        """Return the next answer.

        Raises:
            TimeoutError: None has come in time.
            GeneratorError: The process has ended.
        """
        try:
            message = self._messages.get(timeout=timeout_s)
        except queue.Empty:
            raise TimeoutError from None
        if message is None:
            raise self._ended()
        return message

    def next_message(self, timeout_s: float) -> Message | None:
        """Return the next message of a load; None if none has come in time.

        Raises:
            LoadPaused: None has come for so long that the process must have been stopped.
            GeneratorError: The process has ended.
        """
        try:
            message = self.receive(timeout_s)
        except TimeoutError:
            # We add up the waits instead of reading a clock, because a clock also counts the time for which this
            # process itself stood still.
            self._silent_s += timeout_s
            if self._silent_s > _SILENCE_S:
                raise LoadPaused(
                    f"the Java client's process was silent for {_SILENCE_S:.0f} s; check whether it was stopped"
                ) from None
            return None
        self._silent_s = 0.0
        return message

    def complaints(self) -> list[str]:
        """Return the lines that the client has logged and the process has written to stderr since the last call."""
        lines = []
        with contextlib.suppress(IndexError):
            while True:
                lines.append(self._new_lines.popleft())
        return lines

    def end(self) -> None:
        """End the process immediately."""
        self._process.kill()
        self._process.wait()
        for reader in self._readers:
            reader.join()
        for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._cleanup.close()

    def _write(self, content: bytes) -> None:
        pipe = self._process.stdin
        assert pipe is not None
        try:
            pipe.write(content)
            pipe.flush()
        except OSError:
            raise self._ended() from None

    def _reader(self, name: str, read: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=read, name=f"tuner-java-{name}", daemon=True)
        thread.start()
        return thread

    def _read_answers(self) -> None:
        for line in _lines(self._process.stdout):
            try:
                self._messages.put(json.loads(line))
            except ValueError:
                self._keep_line(line)
        self._messages.put(None)

    def _read_log(self) -> None:
        for line in _lines(self._process.stderr):
            logged = _LOGGED.match(line)
            self._keep_line(logged["text"] if logged else line)

    def _keep_line(self, text: str) -> None:
        line = one_line(text)
        self._new_lines.append(line)
        self._last_lines.append(line)
        if _OUT_OF_MEMORY in line:
            self._out_of_memory = self._out_of_memory or line

    def _ended(self) -> GeneratorError:
        """Return the error of a process that has ended, with the last lines that it wrote."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_TIMEOUT_S)
        self._process.kill()
        self._readers[1].join(_END_TIMEOUT_S)
        if self._out_of_memory:
            return GeneratorError(
                f"the Java client ran out of memory with a heap of {self.heap_bytes / 2**20:.0f} MiB "
                f"({self._out_of_memory}); lower buffer.memory and batch.size of a producer, or fetch.max.bytes of a "
                "consumer, or measure smaller records"
            )
        code = self._process.poll()
        return WorkerLost(
            f"the Java client's process ended with exit code {code} before it reported a result; check "
            f"whether it was killed, for example because memory ran out. {self._last_words()}"
        )

    def _last_words(self) -> str:
        return f"It wrote: {' / '.join(self._last_lines) or 'nothing'}"


def _process(program: CompiledProgram, heap_bytes: int, folder: Path) -> subprocess.Popen[bytes]:
    heap = (f"-Xmx{heap_bytes}", f"-Xms{heap_bytes}")
    command = [str(program.java.path), *_FLAGS, *heap, f"-Djava.io.tmpdir={folder}"]
    return subprocess.Popen(
        [*command, "-cp", program.class_path, program.main_class],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=java_environment(),
        process_group=0,  # Ctrl-C reaches a whole process group, but only we decide whether the process ends
    )


def _lines(pipe: IO[bytes] | None) -> Iterator[str]:
    assert pipe is not None
    for line in pipe:
        yield line.decode(errors="replace").rstrip("\n")
