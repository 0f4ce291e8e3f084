"""A broker that other hosts can reach, and `tuner broker run`, which runs it in the foreground."""

import signal
import subprocess
from collections.abc import Iterator

import psutil
import pytest

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers.persistent import Address, broker_for_other_hosts, wait_while_running
from runners.clusters.cluster import RunningCluster
from runners.errors import BrokerDidNotStart, EmbeddedBrokerError
from tests.helpers.command import arguments, tuner
from tests.helpers.ports import free_port
from tests.helpers.waiting import eventually

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize(
    ("text", "host", "port"),
    [("0.0.0.0:9092", "0.0.0.0", 9092), ("kafka.example:1", "kafka.example", 1), ("[::1]:65535", "::1", 65535)],
)
def test_an_address_is_parsed_and_printed(text: str, host: str, port: int) -> None:
    assert Address.parse(text) == Address(host, port)
    assert str(Address.parse(text)) == text


@pytest.mark.parametrize("text", ["", "kafka", ":9092", "kafka:0", "kafka:65536", "::1:9092", "kafka:9092\nx=y"])
def test_a_text_that_is_not_an_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="an address is HOST:PORT"):
        Address.parse(text)


@pytest.mark.parametrize("advertised", ["0.0.0.0:9092", "[::]:9092"])
def test_a_wildcard_address_can_t_be_advertised(advertised: str) -> None:
    with pytest.raises(ValueError, match="IP address of this host"):
        broker_for_other_hosts(Address.parse("0.0.0.0:9092"), Address.parse(advertised))
    ended = tuner("broker", "run", "--listen", "0.0.0.0:9092", "--advertise", advertised)
    assert ended.code == 2
    assert "IP address of this host" in ended.complaint


@pytest.fixture(scope="module")
def outside() -> Address:
    return Address("127.0.0.1", free_port())


@pytest.fixture(scope="module")
def opened(own_places: None, outside: Address) -> Iterator[RunningCluster]:
    cluster = broker_for_other_hosts(outside, Address("localhost", outside.port))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


def advertised_to(bootstrap: str) -> list[tuple[str, int]]:
    found = AdminConnection({"bootstrap.servers": bootstrap}).metadata(10.0).brokers
    return [(broker.host, broker.port) for broker in found.values()]


@pytest.mark.broker
def test_each_client_gets_an_address_that_it_can_reach(opened: RunningCluster, outside: Address) -> None:
    inside = Address.parse(opened.bootstrap)
    assert advertised_to(str(outside)) == [("localhost", outside.port)]
    assert advertised_to(opened.bootstrap) == [(inside.host, inside.port)]
    assert inside.port != outside.port


@pytest.mark.broker
def test_a_taken_port_gives_one_clear_error(opened: RunningCluster, outside: Address) -> None:
    with pytest.raises(BrokerDidNotStart, match=f"{outside} is not available"):
        broker_for_other_hosts(outside, outside)


@pytest.mark.broker
def test_the_command_runs_until_it_gets_sigterm(own_places: None) -> None:
    port = free_port()
    running = subprocess.Popen(
        arguments("broker", "run", "--listen", f"127.0.0.1:{port}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    with running:
        assert running.stdout is not None
        assert f"the broker runs at 127.0.0.1:{port}".encode() in running.stdout.readline()
        children = psutil.Process(running.pid).children(recursive=True)
        assert advertised_to(f"127.0.0.1:{port}") == [("127.0.0.1", port)]
        running.send_signal(signal.SIGTERM)
        assert running.wait(30) == 130
    eventually(lambda: not any(child.is_running() for child in children))


@pytest.mark.broker
def test_a_broker_that_dies_ends_the_wait(own_places: None) -> None:
    port = free_port()
    address = Address("127.0.0.1", port)
    cluster = broker_for_other_hosts(address, address)
    try:
        running = cluster.start()
        psutil.Process(running.local_brokers[0].pid).kill()
        with pytest.raises(EmbeddedBrokerError, match=f"the broker at {address} ended by itself"):
            wait_while_running(running, address)
    finally:
        cluster.stop()
