"""A real Kafka on this host with no set-up, that ends with us."""

from collections.abc import Mapping
from pathlib import Path

from runners.clusters.brokers import Brokers, Wish, bring_down, bring_up
from runners.clusters.cluster import LocalBroker, RunningCluster
from runners.reporting import Say, silent


class EmbeddedCluster:
    """One or more brokers of Kafka 4.3.1 in KRaft mode, each broker and controller at once.

    They listen on loopback and keep their data below the temporary folder. A keeper process ends them and
    removes the data when `stop` is called or this process ends in any way, SIGKILL included; their logs are
    kept in the state folder.
    """

    def __init__(
        self,
        brokers: int = 1,
        *,
        host: str = "127.0.0.1",
        port: int | None = None,
        properties: Mapping[str, str] | None = None,
        connection: Mapping[str, str] | None = None,
        data_root: Path | None = None,
        start_timeout_s: float = 60.0,
    ) -> None:
        """Describe the cluster; nothing is started.

        Args:
            brokers: How many. With 3, all three vote on metadata, and replication 3 works.
            host: IPv4 address that they listen on.
            port: Client port of the first broker, the others follow; free ones by default.
            properties: Broker properties that win over ours.
            connection: Client properties that the brokers want, where `properties` change their security.
            data_root: Folder for the data; by default memory for the log where there is room, see `lay_out`.
            start_timeout_s: Seconds that the brokers may take until they answer, downloads not counted.

        Raises:
            ValueError: Fewer than one broker.
        """
        self._wish = Wish(
            brokers=brokers,
            host=host,
            port=port,
            properties=dict(properties or {}),
            connection=dict(connection or {}),
            data_root=data_root,
            start_timeout_s=start_timeout_s,
        )
        self._brokers: Brokers | None = None

    def start(self, progress: Say = silent) -> RunningCluster:
        """Fetch what is missing, start the brokers, wait until they answer.

        The first start of all fetches 46 MB and prepares quick starts; later ones need no network.

        Args:
            progress: Told what is being done.

        Raises:
            JavaNotFound: No Java runtime is usable.
            JarsUnavailable: Kafka's jars could not be fetched.
            BrokerDidNotStart: A port is taken, or a broker ended or stayed silent; its log is named.
            DiskTooFull: Too little space is free.
        """
        brokers = self._brokers = bring_up("broker", self._wish, progress)
        return RunningCluster(
            kind="embedded",
            connection={**self._wish.connection, "bootstrap.servers": str(brokers.record.facts["bootstrap"])},
            local_brokers=tuple(
                LocalBroker(pid=pid, port=node.port, log_dir=node.log_dir)
                for pid, node in zip(brokers.pids, brokers.nodes, strict=True)
            ),
        )

    def stop(self) -> None:
        """End the brokers and remove their data; returns when both are done."""
        if self._brokers is not None:
            bring_down(self._brokers.record, self._brokers.lifeline)
            self._brokers = None
