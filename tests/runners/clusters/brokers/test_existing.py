"""A cluster that somebody else runs: it is found, or the error names the true cause."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from runners.clusters.admin_connection import AdminConnection, message_text
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.brokers.existing import ExistingCluster
from runners.clusters.cluster import LocalBroker, RunningCluster
from runners.clusters.topics.owned_topics import OwnedTopics
from runners.errors import TargetError, TargetRefused, TargetUnreachable
from tests.helpers.ports import free_port
from tests.helpers.waiting import PATIENCE_S

Answer = Callable[[socket.socket, threading.Event], None]
TLS_ALERT = bytes.fromhex("15030300020246")


@contextmanager
def server(answer: Answer) -> Iterator[str]:
    """Run a server that is not a Kafka broker, and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        ended = threading.Event()

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    if ended.is_set():
                        return
                    connection.settimeout(1)
                    try:
                        connection.recv(4096)
                        answer(connection, ended)
                    except OSError:
                        continue

        thread = threading.Thread(target=serve)
        thread.start()
        host, port = listening.getsockname()
        yield f"{host}:{port}"
        ended.set()
        with socket.socket() as waker:
            waker.connect_ex((host, port))
        thread.join()


def hang_up(_: socket.socket, ended: threading.Event) -> None:
    """Close the connection, as Kafka's TLS listener does if it gets plaintext."""


def alert(connection: socket.socket, ended: threading.Event) -> None:
    """Send a TLS alert, as other TLS servers do if they get plaintext."""
    connection.sendall(TLS_ALERT)


def say_nothing(_: socket.socket, ended: threading.Event) -> None:
    ended.wait(PATIENCE_S)


def web_page(connection: socket.socket, ended: threading.Event) -> None:
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n")


def start(bootstrap: str, timeout_s: float = 10.0, **properties: str) -> RunningCluster:
    named = {name.replace("_", "."): value for name, value in properties.items()}
    return ExistingCluster(bootstrap, named, timeout_s=timeout_s).start()


@pytest.mark.broker
def test_a_broker_on_this_host_is_found_with_its_process(broker: RunningCluster) -> None:
    cluster = ExistingCluster(broker.bootstrap, {"client.id": "me"})
    found = cluster.start()
    (local,) = broker.local_brokers
    assert found.kind == "existing"
    assert found.connection == {"bootstrap.servers": broker.bootstrap, "client.id": "me"}
    assert found.local_brokers == (LocalBroker(local.pid, local.port, local.log_dir),), (
        "its folder is known, because we started it"
    )
    cluster.stop()
    assert ExistingCluster(broker.bootstrap).start().bootstrap == broker.bootstrap


def test_an_address_without_a_server_gives_an_error() -> None:
    port = free_port()
    with pytest.raises(TargetUnreachable, match=rf"127\.0\.0\.1:{port}: .*Connection refused.*check the address"):
        start(f"127.0.0.1:{port}")


def test_an_unknown_host_name_gives_an_error() -> None:
    with pytest.raises(TargetUnreachable, match=r"Failed to resolve.*check the host name"):
        start("broker.invalid:9092")


def test_a_server_that_never_answers_gives_an_error(capfd: pytest.CaptureFixture[str]) -> None:
    with (
        server(say_nothing) as address,
        pytest.raises(TargetUnreachable, match=f"no broker answers at {address}"),
    ):
        start(address, timeout_s=1.0)
    assert capfd.readouterr() == ("", ""), "librdkafka must not print anything"


@pytest.mark.parametrize("answer", [hang_up, alert])
def test_plaintext_to_a_tls_listener_gives_an_error(answer: Answer) -> None:
    with (
        server(answer) as address,
        pytest.raises(TargetError, match=r"closes the connection.*security\.protocol") as caught,
    ):
        start(address)
    assert isinstance(caught.value, TargetRefused)


@pytest.mark.broker
def test_tls_to_a_plaintext_listener_gives_an_error(broker: RunningCluster) -> None:
    with pytest.raises(TargetRefused, match=r"SSL handshake failed.*may be plaintext"):
        start(broker.bootstrap, security_protocol="ssl")


def test_a_port_of_another_kind_of_server_gives_an_error() -> None:
    with server(web_page) as address, pytest.raises(TargetRefused, match="check that the port is a Kafka listener"):
        start(address)


def test_an_unknown_connection_property_gives_an_error() -> None:
    with pytest.raises(TargetRefused, match=r'No such configuration property: "sasl\.pasword"'):
        start("127.0.0.1:9092", sasl_pasword="secret")


@pytest.mark.campaign
@pytest.mark.broker
def test_an_unreachable_advertised_address_gives_an_error(broker: RunningCluster) -> None:
    port = free_port()
    unused = free_port()
    elsewhere = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{unused}"}
    cluster = EmbeddedCluster(port=port, properties=elsewhere)
    try:
        cluster.start()
        with pytest.raises(TargetUnreachable, match=rf"127\.0\.0\.1:{unused}.*advertised\.listeners"):
            start(f"127.0.0.1:{port}")
    finally:
        cluster.stop()


LOGIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SECURED = {
    "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
    "sasl.enabled.mechanisms": "PLAIN",
    "sasl.mechanism.inter.broker.protocol": "PLAIN",
    "listener.name.plaintext.plain.sasl.jaas.config": (
        f'{LOGIN} username="admin" password="top" user_admin="top" user_guest="low";'
    ),
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:admin;User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "false",
}


def login(user: str, password: str) -> dict[str, str]:
    return {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": password,
    }


@pytest.fixture(scope="module")
def secured() -> Iterator[RunningCluster]:
    cluster = EmbeddedCluster(properties=SECURED, connection=login("admin", "top"))
    try:
        yield cluster.start()
    finally:
        cluster.stop()


@pytest.mark.broker
def test_the_right_password_is_accepted(secured: RunningCluster) -> None:
    found = ExistingCluster(secured.bootstrap, login("admin", "top")).start()
    with OwnedTopics(found) as topics:
        assert topics.create(2).partitions == 2


@pytest.mark.broker
def test_a_wrong_password_is_named_as_the_cause(secured: RunningCluster) -> None:
    with pytest.raises(TargetRefused, match=r"uthentication failed.*check the user name, the password"):
        ExistingCluster(secured.bootstrap, login("admin", "guess")).start()


def test_the_count_of_repetitions_is_no_part_of_a_message() -> None:
    closed = "ssl://127.0.0.1:35907/bootstrap: Disconnected: SSL connection closed by peer (after 1ms in state UP"
    line = f"FAIL [rdkafka#producer-7] [thrd:ssl://127.0.0.1:35907/bootstrap]: {closed}"
    assert message_text(f"{line}, 1 identical error(s) suppressed)") == message_text(f"{line})") == f"{closed})"


def test_a_connection_that_breaks_under_tls_gets_the_advice_for_a_closed_connection(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A broker that requires a login may close the connection while librdkafka still writes to it."""
    broken = (
        "ssl://127.0.0.1:20002/bootstrap: Send failed: error:80000020:system library::Broken pipe: "
        "tls_retry_write_records failure (after 1ms in state UP)"
    )
    monkeypatch.setattr(AdminConnection, "complaints", lambda _: [broken])
    with pytest.raises(TargetRefused, match=r"may require TLS or SASL.*security\.protocol"):
        ExistingCluster(f"127.0.0.1:{free_port()}").start()


def test_a_login_to_a_listener_without_logins_does_not_blame_the_password(monkeypatch: pytest.MonkeyPatch) -> None:
    said = (
        "sasl_plaintext://127.0.0.1:9092/bootstrap: SASL PLAIN mechanism handshake failed: Broker: Request not valid "
        "in current SASL state: broker's supported mechanisms:  (after 6ms in state AUTH_HANDSHAKE)"
    )
    monkeypatch.setattr(AdminConnection, "complaints", lambda _: [said])
    with pytest.raises(TargetRefused, match=r"may not accept logins: check the port and security\.protocol$"):
        ExistingCluster(f"127.0.0.1:{free_port()}").start()


@pytest.mark.broker
def test_a_client_without_login_is_refused_by_a_listener_that_requires_one(secured: RunningCluster) -> None:
    with pytest.raises(TargetRefused, match=r"security\.protocol"):
        ExistingCluster(secured.bootstrap).start()


@pytest.mark.broker
def test_a_user_without_permissions_is_told_which_are_missing(secured: RunningCluster) -> None:
    guest = ExistingCluster(secured.bootstrap, login("guest", "low")).start()
    with (
        OwnedTopics(guest) as topics,
        pytest.raises(TargetRefused, match=r"permission to create topic tuner-.*is needed.*Authorization failed"),
    ):
        topics.create()
