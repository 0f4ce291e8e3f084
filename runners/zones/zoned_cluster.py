"""Brokers that we start as if in another zone: clients reach them only over a link with a delay and a bandwidth."""

import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.reporting import Say, silent
from runners.zones.link import Link
from runners.zones.proxy_process import LatenessReport, ProxyProcess


@dataclass(slots=True)
class ZonedCluster:
    """A cluster of embedded brokers behind a link, with a proxy that imitates the link.

    Each broker advertises a port of the proxy, so that a client that knows one of these ports never goes around the
    proxy. The brokers talk to each other without it. The proxy ends when `stop` is called, or when this process ends in
    any way, even by SIGKILL.

    What the proxy does not imitate: it ends TCP connections. So connecting takes no round trip, and no window of TCP
    limits the throughput over a long delay. There is no loss and no jitter.

    Attributes:
        link: The delay and the bandwidth, which all connections to all brokers share.
        cluster: The brokers, which are not started yet.
    """

    link: Link
    cluster: EmbeddedCluster = field(default_factory=EmbeddedCluster)
    _stack: contextlib.ExitStack = field(default_factory=contextlib.ExitStack, init=False)
    _proxy: ProxyProcess | None = field(default=None, init=False)

    def start(self, progress: Say = silent) -> RunningCluster:
        """Start the proxy and the brokers, and wait until they answer.

        Args:
            progress: Receives a line for each step.

        Returns:
            The cluster, with the addresses of the proxy. `RunningCluster.in_same_zone` leads around it.

        Raises:
            EmbeddedBrokerError: The brokers or the proxy did not start.
            DiskTooFull: There is too little free disk space.
        """
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

    def stop(self) -> None:
        """Stop the brokers and the proxy, remove the brokers' data, and wait until all is done."""
        self._proxy = None
        self._stack.close()
