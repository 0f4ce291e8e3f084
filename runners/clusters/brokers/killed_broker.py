"""Kills a broker that we have started, so that a measurement shows what its loss costs."""

import os
import signal
from typing import Final

from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.stored_topics import StoredTopics
from runners.errors import WorkloadRefused

LONGEST_OUTAGE_S: Final = 120.0
"""How long a measurement may go without a delivery after the kill.

The other brokers notice after 9 s (`broker.session.timeout.ms`) that a broker is gone. Until then its partitions have
no leader, and with acks=all the other partitions wait for its replicas, too. If fewer replicas are left than
`min.insync.replicas`, no record is acknowledged until the broker is back.
"""


def kill_leader(cluster: RunningCluster, topic: str) -> None:
    """Kill the broker that leads a topic's first partition, as a crash does: it can't hand over its partitions.

    Raises:
        WorkloadRefused: We have not started this broker.
        BrokerLost: The cluster did not answer.
    """
    direct = cluster.in_same_zone()
    leader = StoredTopics(direct.connection).one(topic).partitions[0].leader
    for broker in direct.local_brokers:
        if cluster.kind == "embedded" and leader.port in (broker.port, broker.inter_broker_port):
            os.kill(broker.pid, signal.SIGKILL)
            return
    raise WorkloadRefused(
        f"only a broker that the tuner has started may be killed, but {leader.host}:{leader.port} is another one; "
        "leave broker_killed_after or the address of the cluster out"
    )
