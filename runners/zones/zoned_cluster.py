"""Brokers that we start as if in another zone: clients reach them only over a link with a delay and a bandwidth."""

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from typing_extensions import override

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import Cluster, RunningCluster
from runners.errors import EmbeddedBrokerError
from runners.reporting import Say, silent
from runners.zones.link import Link

_ROOT: Final = Path(__file__).parents[2]
_PROGRAM: Final = "import sys; sys.path.insert(0, sys.argv[1]); from runners.zones.proxy import main; sys.exit(main())"
_GRACE_S: Final = 5.0


@dataclass(frozen=True, slots=True)
class LatenessReport:
    """How late the proxy has released chunks of bytes, compared with the delay and the bandwidth of the link.

    Attributes:
        chunks: How many chunks it has released.
        p50_us, p99_us, max_us: Percentiles in microseconds. None if there were no chunks.
    """

    chunks: int
    p50_us: int | None
    p99_us: int | None
    max_us: int | None


class ProxyProcess:
    """A running proxy, which accepts connections once `connect` was called. It ends with this process at the latest.

    Use it as a context manager, or call `close`. It is a `BrokerProxy` for an `EmbeddedCluster`.

    Attributes:
        ports: The ports on which it listens, one for each broker.
    """

    def __init__(self, link: Link, ports: int, host: str = "127.0.0.1") -> None:
        """Start the process, which listens immediately.

        Args:
            link: The link that all its connections share.
            ports: How many ports it listens on.
            host: The IPv4 address that it listens on, and on which the brokers listen.

        Raises:
            EmbeddedBrokerError: It did not start. The message shows what it wrote.
        """
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _PROGRAM, str(_ROOT)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        try:
            settings = {"host": host, "ports": ports, "link": link.as_settings()}
            self.ports: Sequence[int] = tuple(self._ask(settings))
        except BaseException:
            self.close()
            raise

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def connect(self, targets: Sequence[int]) -> None:
        """Tell the proxy where to forward new connections to. From now on it accepts connections.

        Args:
            targets: The port of each broker, in the order of `ports`.

        Raises:
            EmbeddedBrokerError: The proxy has ended. The message shows what it wrote.
        """
        self._ask({"targets": list(targets)})

    def report(self) -> LatenessReport:
        """Return how late it has released chunks so far.

        Raises:
            EmbeddedBrokerError: The proxy has ended. The message shows what it wrote.
        """
        return LatenessReport(**self._ask({"report": True}))

    def close(self) -> None:
        """End the process and its connections. Further calls do nothing."""
        process = self._process
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        try:
            process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stderr is not None:
            process.stderr.close()

    def _ask(self, order: dict[str, Any]) -> Any:
        """Write an order, and return the answer."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        answer = b""
        with contextlib.suppress(OSError):  # it has ended
            self._process.stdin.write(json.dumps(order).encode() + b"\n")
            self._process.stdin.flush()
            answer = self._process.stdout.readline()
        if not answer:
            raise self._ended()
        return json.loads(answer)

    def _ended(self) -> EmbeddedBrokerError:
        assert self._process.stderr is not None
        self._process.kill()
        said = self._process.stderr.read().decode(errors="replace").strip()
        return EmbeddedBrokerError(
            f"the proxy between the client and the brokers ended by itself; it wrote: {said[-2000:] or '(nothing)'}"
        )


@dataclass(slots=True)
class ZonedCluster(Cluster):
    """A cluster of embedded brokers behind a link, with a proxy that imitates the link.

    Each broker advertises a port of the proxy, so that a client that knows one of these ports never goes around the
    proxy. The brokers talk to each other without it. The proxy ends when `stop` is called, or when this process ends in
    any way, even by SIGKILL.

    The proxy does not imitate everything, because TCP connections end at it: connecting takes no round trip over the
    link, and no window of TCP limits the throughput over a long delay. There is no loss and no jitter.

    Attributes:
        link: The delay and the bandwidth, which all connections to all brokers share.
        cluster: The brokers, which are not started yet.
    """

    link: Link
    cluster: EmbeddedCluster = field(default_factory=EmbeddedCluster)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False)
    _proxy: ProxyProcess | None = field(default=None, init=False)

    @override
    def start(self, progress: Say = silent) -> RunningCluster:
        try:
            # The ports of the proxy must be known before the brokers start, because the brokers advertise them.
            proxy = self._stack.enter_context(
                contextlib.closing(ProxyProcess(self.link, self.cluster.brokers, self.cluster.host))
            )
            self._proxy = proxy
            cluster = replace(self.cluster, proxy=proxy)
            self._stack.callback(cluster.stop)
            running = cluster.start(progress)
        except BaseException:
            self.stop()
            raise
        return replace(
            running,
            connection=self._connection(running, proxy.ports),
            link=str(self.link),
            link_mb_per_s=self.link.to_brokers.mb_per_s,
            without_link=self._connection(running, [broker.inter_broker_port for broker in running.local_brokers]),
        )

    def _connection(self, running: RunningCluster, ports: Iterable[int | None]) -> dict[str, str]:
        addresses = ",".join(f"{self.cluster.host}:{port}" for port in ports)
        return {**running.connection, "bootstrap.servers": addresses}

    def lateness(self) -> LatenessReport | None:
        """Return how late the proxy has released bytes so far; None if the cluster does not run.

        Raises:
            EmbeddedBrokerError: The proxy has ended.
        """
        return self._proxy.report() if self._proxy else None

    @override
    def stop(self) -> None:
        self._proxy = None
        self._stack.close()
