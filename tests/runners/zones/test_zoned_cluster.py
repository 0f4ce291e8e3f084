"""Brokers behind a link: clients reach them only over the link, and nothing is left behind."""

import itertools
import os
from collections.abc import Iterator
from contextlib import closing

import psutil
import pytest

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.brokers.ports import listener
from runners.clusters.cluster import RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.host_processes.processes import ProcessIdentity
from runners.librdkafka.librdkafka_runner import LibrdkafkaRunner
from runners.load.isolated import Isolated
from runners.measurements.measurement import Window
from runners.runner import WatchDecision
from runners.workload import RecordSizes, Workload
from runners.zones.link import Link, LinkDirection
from runners.zones.zoned_cluster import ProxyProcess, ZonedCluster
from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.waiting import eventually
from tests.runners.clusters.owner import running_owner

pytestmark = pytest.mark.campaign

ROUND_TRIP_MS = 12.0
LIMIT_MB_PER_S = 8.0


def ports_of(running: RunningCluster) -> set[int]:
    return {int(address.rpartition(":")[2]) for address in running.bootstrap.split(",")}


@pytest.fixture(scope="module")
def zoned() -> Iterator[ZonedCluster]:
    """Three brokers in another zone."""
    link = Link(LinkDirection(ROUND_TRIP_MS - 4.0, LIMIT_MB_PER_S), LinkDirection(4.0))
    cluster = ZonedCluster(link, EmbeddedCluster(3))
    try:
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture(scope="module")
def running(zoned: ZonedCluster) -> RunningCluster:
    return zoned.start()


@pytest.mark.broker
def test_the_brokers_tell_clients_only_the_ports_of_the_proxy(running: RunningCluster) -> None:
    brokers = AdminConnection(running.connection).metadata(30.0).brokers.values()
    assert {broker.port for broker in brokers} == ports_of(running)
    assert {broker.port for broker in running.local_brokers}.isdisjoint(ports_of(running))
    assert running.label == "embedded (8 ms and 8 MB/s to the brokers, 4 ms to the clients)"


@pytest.mark.broker
def test_each_request_of_a_producer_takes_the_round_trip(running: RunningCluster) -> None:
    workload = Workload(RecordSizes.fixed(1000), warmup_s=0.5, measured_s=1.5, rate_records_per_s=200)
    with OwnedTopics(running) as topics:
        config = ProducerConfig.parse({"linger.ms": "0"})
        seen = Isolated(LibrdkafkaRunner(running, topics.create(3, 1))).run(config, workload)
    assert seen.counts.agree
    assert seen.latency.percentile_us(0.0) >= ROUND_TRIP_MS * 1000 * 0.99, "a histogram has buckets"
    assert seen.origin.cluster == running.label


@pytest.mark.broker
def test_the_brokers_replicate_without_the_link_and_the_bandwidth_limits_the_producer(
    running: RunningCluster, zoned: ZonedCluster
) -> None:
    workload = Workload(RecordSizes.fixed(10_000), replication=3, warmup_s=1.0, measured_s=2.0)
    with OwnedTopics(running) as topics:
        # A full queue of the default size would take two minutes to send.
        config = ProducerConfig.parse({"acks": "all", "queue.buffering.max.messages": "400"})
        windows: list[Window] = []

        def watch(window: Window) -> WatchDecision:
            windows.append(window)
            return WatchDecision.GO_ON

        seen = Isolated(LibrdkafkaRunner(running, topics.create(3, 3))).run(config, workload, watch)
        peers = {
            connection.raddr.port
            for broker in running.local_brokers
            for connection in psutil.Process(broker.pid).net_connections("tcp")
            if connection.status == psutil.CONN_ESTABLISHED
        }
    assert seen.counts.agree
    passed_mb = itertools.accumulate(window.value_bytes / 1e6 for window in windows)
    # The link may be ahead by 1 ms.
    assert all(mb <= LIMIT_MB_PER_S * (window.at_s + 0.001) for mb, window in zip(passed_mb, windows, strict=True))
    assert peers.isdisjoint(ports_of(running)), "no broker is a client of the proxy"
    assert seen.origin.link_mb_per_s == LIMIT_MB_PER_S
    lateness = zoned.lateness()
    assert lateness is not None
    assert lateness.chunks > 0


@pytest.mark.broker
def test_start_and_stop_leave_no_process_and_no_port() -> None:
    cluster = ZonedCluster(Link.symmetric(1.0))
    running = cluster.start()
    (broker,), (port,) = running.local_brokers, ports_of(running)
    proxy = listener(port)
    assert proxy is not None
    assert proxy.ppid() == os.getpid()
    cluster.stop()
    assert not psutil.pid_exists(proxy.pid)
    assert not psutil.pid_exists(broker.pid)
    assert listener(port) is None
    assert cluster.lateness() is None
    cluster.stop()  # a second call is allowed


@pytest.mark.broker
def test_the_brokers_and_the_proxy_end_with_their_killed_owner() -> None:
    with running_owner("zoned") as (owner, told):
        processes = [ProcessIdentity.of(told[name]) for name in ("broker", "proxy")]
        owner.kill()
        eventually(lambda: not any(process.process() for process in processes))


@pytest.mark.broker
def test_a_start_that_fails_leaves_no_proxy() -> None:
    before = set(psutil.Process().children())
    with pytest.raises(Exception, match="did not answer within 0 s"):
        ZonedCluster(Link(), EmbeddedCluster(start_timeout_s=0.0)).start()
    assert set(psutil.Process().children()) == before


def test_a_proxy_needs_a_port_for_each_broker() -> None:
    with closing(ProxyProcess(Link(), 1)) as proxy, pytest.raises(ValueError, match="but has 1 for 3 brokers"):
        EmbeddedCluster(3, proxy=proxy)
