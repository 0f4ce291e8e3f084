"""A cluster that somebody else runs: we connect to it, and change nothing on it except the topics that we create."""

import ipaddress
import math
import re
import socket
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from confluent_kafka import KafkaException
from typing_extensions import override

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers.certificates import absolute_paths, certificate_fault, require_files
from runners.clusters.brokers.embedded import log_dir_of
from runners.clusters.brokers.ports import listener, process_name
from runners.clusters.cluster import Cluster, LocalBroker, RunningCluster
from runners.errors import TargetError, TargetRefused, TargetUnreachable
from runners.reporting import Say, silent

_CONTACT_TIMEOUT_S = 10.0
_FIRST_SLICE_S = 0.25
_TCP_TIMEOUT_S = 3.0


@dataclass(frozen=True, slots=True)
class _Cause:
    """A cause of a failed connection, which we recognize in a message of librdkafka, with advice for the user.

    Attributes:
        pattern: Regular expression that finds the cause in the message.
        error: The class of the error to raise.
        advice: What the user can do.
        patience_s: Seconds that the failure may last before we report it. For example, a broker that restarts refuses
            connections only for a moment.
    """

    pattern: str
    error: type[TargetError]
    advice: str
    patience_s: float = 0.0


_UNTRUSTED = r"certificate verify failed|certificate could not be verified|unable to get local issuer"
_WHICH_BROKER = re.compile(r"://(?P<host>[^/\s]+):(?P<port>\d+)/")

# The user sees the first cause whose pattern matches a message. Failures at the end of a handshake come first, because
# they are the most specific. Source: rd_kafka_broker_fail, rd_kafka_transport_ssl_* and rd_kafka_sasl_* of librdkafka
# 2.16.
_CAUSES = (
    _Cause(  # the number is a broker id: a broker has answered and has advertised this address
        r"/\d+: (Failed to resolve|Connect to .* failed|Connection setup timed out)",
        TargetUnreachable,
        "the cluster advertises this address to its clients: correct advertised.listeners, or the name resolution or "
        "network of this host",
        patience_s=1.5,
    ),
    _Cause(
        r"not valid in current SASL state",
        TargetRefused,
        "the listener may not accept logins: check the port and security.protocol",
    ),
    _Cause(
        r"authentication (failed|error|failure)|SASL .*(error|failed)|saslauthenticat",
        TargetRefused,
        "check the user name, the password and sasl.mechanism",
    ),
    _Cause(
        _UNTRUSTED,
        TargetRefused,
        "the broker's certificate is not trusted: set ssl.ca.location to the CA that signed it",
    ),
    _Cause(  # the broker's answer to our certificate
        r"alert (certificate required|bad certificate|certificate unknown|certificate expired|certificate revoked|"
        r"unknown ca|unsupported certificate)",
        TargetRefused,
        "the broker requires a client certificate and does not accept yours: set ssl.certificate.location and "
        "ssl.key.location (or ssl.keystore.location); the certificate must not have expired, and the broker must trust "
        "the CA that signed it",
    ),
    _Cause(
        r"SSL handshake failed.*(PLAINTEXT|wrong version|unexpected message|packet length)",
        TargetRefused,
        "the listener may be plaintext: check the port and security.protocol",
    ),
    _Cause(
        r"(Disconnected|Broken pipe|Connection reset).*in state (APIVERSION_QUERY|UP)",
        TargetRefused,
        "the broker closes the connection: the listener may require TLS or SASL; check the port and security.protocol",
        patience_s=1.5,
    ),
    _Cause(  # each message begins with the listener's URL, which may be ssl://
        r"SSL handshake failed|\bSSL\b(?!://).*(error|alert)",
        TargetRefused,
        "check the ssl.* properties",
    ),
    _Cause(
        r"incorrect security\.protocol|security\.protocol is correctly|connecting to a SSL listener",
        TargetRefused,
        "the listener may require TLS or SASL: check the port and security.protocol",
    ),
    _Cause(
        r"invalid (response|message) size|protocol (parse|read) (error|failure)|receive\.message\.max",
        TargetRefused,
        "check that the port is a Kafka listener",
    ),
    _Cause(
        r"failed to resolve",
        TargetUnreachable,
        "check the host name, or the name resolution of this host",
    ),
    _Cause(
        r"connection refused",
        TargetUnreachable,
        "check the address, and that the broker is running",
        patience_s=1.5,
    ),
    _Cause(
        r"timed? ?out|unreachable|no route",
        TargetUnreachable,
        "check the network and the firewalls between this host and the brokers",
        patience_s=math.inf,
    ),
)


class ExistingCluster(Cluster):
    """A cluster at a given address, reached with the user's own client properties.

    `start` also checks that this host can reach every broker at its advertised address.
    """

    def __init__(
        self,
        bootstrap: str,
        connection: Mapping[str, str] | None = None,
        *,
        timeout_s: float = _CONTACT_TIMEOUT_S,
    ) -> None:
        """Describe the cluster, without contacting it.

        Args:
            bootstrap: Addresses of one or more brokers: `host:port[,host:port]`.
            connection: Further client properties under librdkafka's names, for example those for security.
            timeout_s: Seconds to wait for an answer.
        """
        self._connection = {**absolute_paths(connection or {}), "bootstrap.servers": bootstrap}
        self._timeout_s = timeout_s

    @override
    def start(self, progress: Say = silent) -> RunningCluster:
        bootstrap = self._connection["bootstrap.servers"]
        require_files(self._connection)
        progress(f"contacting {bootstrap}")
        try:
            admin = AdminConnection(self._connection)
        except (KafkaException, ValueError, TypeError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise TargetRefused(
                f"the connection's properties must be valid for librdkafka, but it reports: {reason}; correct them"
            ) from None
        brokers = self._ask(admin, bootstrap)
        _require_reachable(brokers, bootstrap)
        return RunningCluster(
            kind="existing", connection=self._connection, local_brokers=tuple(_local_brokers(brokers))
        )

    @override
    def stop(self) -> None:
        """Do nothing, because we did not start the cluster."""

    def _ask(self, admin: AdminConnection, bootstrap: str) -> list[tuple[str, int]]:
        begun, slice_s = time.monotonic(), _FIRST_SLICE_S
        while True:
            try:
                found = admin.metadata(min(slice_s, self._timeout_s))
                return [(broker.host, broker.port) for broker in found.brokers.values()]
            except KafkaException as error:
                slice_s *= 2  # so that a distant cluster gets enough time to answer
                waited_s = time.monotonic() - begun
                over = waited_s >= self._timeout_s
                complaints = admin.complaints()
                if failure := _explain(self._connection, complaints, math.inf if over else waited_s):
                    raise failure from None
                if over:
                    reason = "; ".join(complaints[-3:]) or error.args[0].str()
                    raise TargetUnreachable(
                        f"no broker answers at {bootstrap}: {reason}; check the address and the network"
                    ) from None


def _explain(connection: Mapping[str, str], complaints: list[str], waited_s: float) -> TargetError | None:
    """Return the error for the first known cause among librdkafka's messages.

    The result is None if no message points to a known cause. Some failures often pass by themselves. They count only
    after we have tried for the `patience_s` of their cause.

    Args:
        connection: Client properties under librdkafka's names.
        complaints: The messages.
        waited_s: For how many seconds we have tried; infinite if we try no more.
    """
    bootstrap = connection["bootstrap.servers"]
    for cause in _CAUSES:
        for complaint in complaints:
            if cause.patience_s <= waited_s and re.search(cause.pattern, complaint, re.IGNORECASE):
                fault = _certificate_fault(complaint, connection) if cause.pattern == _UNTRUSTED else None
                reason = f"its certificate is rejected: {fault}" if fault else f"{complaint}; {cause.advice}"
                return cause.error(f"no broker answers at {bootstrap}: {reason}")
    return None


def _certificate_fault(complaint: str, connection: Mapping[str, str]) -> str | None:
    broker = _WHICH_BROKER.search(complaint)
    return certificate_fault(broker["host"].strip("[]"), int(broker["port"]), connection) if broker else None


def _require_reachable(brokers: list[tuple[str, int]], bootstrap: str) -> None:
    """Check that this host can connect to every broker at its advertised address.

    The bootstrap address may work even if the advertised addresses don't.
    """
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(brokers)))) as workers:
        failures = [failure for failure in workers.map(_connect, brokers) if failure]
    if failures:
        raise TargetUnreachable(
            f"every broker must be reachable at the address it advertises, but {bootstrap} names "
            f"{'; '.join(failures)}, which this host can't reach; correct advertised.listeners, or the name resolution "
            "or network of this host"
        )


def _connect(address: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(address, timeout=_TCP_TIMEOUT_S).close()
    except OSError as error:
        return f"{address[0]}:{address[1]} ({error.strerror or error})"
    return None


def _local_brokers(brokers: Iterable[tuple[str, int]]) -> Iterable[LocalBroker]:
    for host, port in brokers:
        # The listener may also be a Docker proxy or an SSH tunnel, with the broker somewhere else.
        if _is_loopback(host) and (process := listener(port)) and "java" in process_name(process):
            yield LocalBroker(pid=process.pid, port=port, log_dir=log_dir_of(process.pid))


def _is_loopback(host: str) -> bool:
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
        return all(ipaddress.ip_address(address).is_loopback for address in addresses)
    except (OSError, ValueError):
        return False
