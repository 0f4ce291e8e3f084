"""A cluster that somebody else runs: contacted, never changed but for topics of our own."""

import ipaddress
import math
import re
import socket
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from confluent_kafka import KafkaException

from runners.clusters.certificates import absolute_paths, certificate_fault, require_files
from runners.clusters.cluster import LocalBroker, RunningCluster
from runners.clusters.contact import Contact
from runners.clusters.embedded import log_dir_of
from runners.clusters.processes import listener, process_name
from runners.errors import TargetError, TargetRefused, TargetUnreachable
from runners.reporting import Say, silent

_CONTACT_TIMEOUT_S = 10.0
_FIRST_SLICE_S = 0.25
_TCP_TIMEOUT_S = 3.0
_PREFIX = re.compile(r"^[A-Z]+ \[rdkafka#[^]]*\] (\[thrd:[^]]*\]: )?")


@dataclass(frozen=True, slots=True)
class _Cause:
    """What a complaint of librdkafka's means to the user."""

    pattern: str
    error: type[TargetError]
    advice: str
    patience_s: float = 0.0  # how long it may still go away: a broker that restarts refuses connections


_UNTRUSTED = r"certificate verify failed|certificate could not be verified|unable to get local issuer"
_WHICH_BROKER = re.compile(r"://(?P<host>[^/\s]+):(?P<port>\d+)/")

# The first that any complaint matches is shown; what is said last in a handshake comes first here.
# Source: rd_kafka_broker_fail, rd_kafka_transport_ssl_* and rd_kafka_sasl_* of librdkafka 2.16 for the texts.
_CAUSES = (
    _Cause(  # the number is the broker's: it answered, and named itself so
        r"/\d+: (Failed to resolve|Connect to .* failed|Connection setup timed out)",
        TargetUnreachable,
        "The cluster sends its clients there: correct advertised.listeners, or this host's resolver or network.",
        patience_s=1.5,
    ),
    _Cause(
        r"authentication (failed|error|failure)|SASL .*(error|failed)|saslauthenticat",
        TargetRefused,
        "Check user, password and sasl.mechanism.",
    ),
    _Cause(
        _UNTRUSTED,
        TargetRefused,
        "Its certificate is not trusted: set ssl.ca.location to the CA that signed it.",
    ),
    _Cause(  # what the broker tells of our certificate, when it has seen it
        r"alert (certificate required|bad certificate|certificate unknown|certificate expired|certificate revoked|"
        r"unknown ca|unsupported certificate)",
        TargetRefused,
        "It lets clients in by their certificate, and does not take yours: set ssl.certificate.location and "
        "ssl.key.location (or ssl.keystore.location), and see that the certificate is in date and signed by a CA that "
        "the broker trusts.",
    ),
    _Cause(
        r"SSL handshake failed.*(PLAINTEXT|wrong version|unexpected message|packet length)",
        TargetRefused,
        "The listener may be plaintext: check port and security.protocol.",
    ),
    _Cause(r"SSL handshake failed|\bSSL\b.*(error|alert)", TargetRefused, "Check the ssl.* properties."),
    _Cause(
        r"incorrect security\.protocol|security\.protocol is correctly|connecting to a SSL listener",
        TargetRefused,
        "The listener may want TLS or SASL: check port and security.protocol.",
    ),
    _Cause(
        r"invalid (response|message) size|protocol (parse|read) (error|failure)|receive\.message\.max",
        TargetRefused,
        "Is that port a Kafka listener?",
    ),
    _Cause(
        r"Disconnected.*in state (APIVERSION_QUERY|UP)",
        TargetRefused,
        "It hangs up on us: the listener may want TLS or SASL; check port and security.protocol.",
        patience_s=1.5,
    ),
    _Cause(r"failed to resolve", TargetUnreachable, "Check the name, or the resolver of this host."),
    _Cause(
        r"connection refused",
        TargetUnreachable,
        "Check the address, and that the broker runs.",
        patience_s=1.5,
    ),
    _Cause(
        r"timed? ?out|unreachable|no route",
        TargetUnreachable,
        "Check network and firewall between this host and the brokers.",
        patience_s=math.inf,
    ),
)


class ExistingCluster:
    """A cluster at an address, reached with the user's own client properties."""

    def __init__(
        self,
        bootstrap: str,
        connection: Mapping[str, str] | None = None,
        *,
        timeout_s: float = _CONTACT_TIMEOUT_S,
    ) -> None:
        """Describe it; nothing is contacted.

        Args:
            bootstrap: `host:port[,host:port]`.
            connection: Further client properties, librdkafka's names: security and the like.
            timeout_s: Seconds to wait for an answer.
        """
        self._connection = {**absolute_paths(connection or {}), "bootstrap.servers": bootstrap}
        self._timeout_s = timeout_s

    def start(self, progress: Say = silent) -> RunningCluster:
        """Contact it, and see that every broker it names can be reached from here.

        Args:
            progress: Told what is being done.

        Raises:
            TargetUnreachable: No broker answers, or one that the cluster names can't be reached.
            TargetRefused: It answers, but not to us; or a client property is wrong, or a file it names is missing.
        """
        bootstrap = self._connection["bootstrap.servers"]
        require_files(self._connection)
        progress(f"contacting {bootstrap}")
        try:
            contact = Contact(self._connection)
        except (KafkaException, ValueError, TypeError) as error:
            reason = error.args[0].str() if isinstance(error, KafkaException) else str(error)
            raise TargetRefused(
                f"The connection's properties must be librdkafka's, but it says: {reason}. Correct them."
            ) from None
        brokers = self._ask(contact, bootstrap)
        _require_reachable(brokers, bootstrap)
        return RunningCluster(
            kind="existing", connection=self._connection, local_brokers=tuple(_local_brokers(brokers))
        )

    def stop(self) -> None:
        """Nothing to do: it is not ours."""

    def _ask(self, contact: Contact, bootstrap: str) -> list[tuple[str, int]]:
        begun, slice_s = time.monotonic(), _FIRST_SLICE_S
        while True:
            try:
                found = contact.metadata(min(slice_s, self._timeout_s))
                return [(broker.host, broker.port) for broker in found.brokers.values()]
            except KafkaException as error:
                slice_s *= 2  # a distant cluster must have time to answer
                waited_s = time.monotonic() - begun
                patience_s = waited_s if waited_s < self._timeout_s else math.inf
                complaints = [_PREFIX.sub("", complaint) for complaint in contact.complaints()]
                if failure := _explain(self._connection, complaints, patience_s):
                    raise failure from None
                if patience_s == math.inf:
                    reason = "; ".join(complaints[-3:]) or error.args[0].str()
                    raise TargetUnreachable(
                        f"A broker must answer at {bootstrap}, but: {reason}. Check address and network."
                    ) from None


def _explain(connection: Mapping[str, str], complaints: list[str], patience_s: float) -> TargetError | None:
    bootstrap = connection["bootstrap.servers"]
    for cause in _CAUSES:
        for complaint in complaints:
            if cause.patience_s <= patience_s and re.search(cause.pattern, complaint, re.IGNORECASE):
                fault = _certificate_fault(complaint, connection) if cause.pattern == _UNTRUSTED else None
                told = f"its certificate does not pass: {fault}" if fault else f"{complaint}. {cause.advice}"
                return cause.error(f"A broker must answer at {bootstrap}, but: {told}")
    return None


def _certificate_fault(complaint: str, connection: Mapping[str, str]) -> str | None:
    broker = _WHICH_BROKER.search(complaint)
    return certificate_fault(broker["host"].strip("[]"), int(broker["port"]), connection) if broker else None


def _require_reachable(brokers: list[tuple[str, int]], bootstrap: str) -> None:
    """The bootstrap address may work while the addresses that clients are sent to don't."""
    with ThreadPoolExecutor(max_workers=max(1, min(16, len(brokers)))) as workers:
        failures = [failure for failure in workers.map(_connect, brokers) if failure]
    if failures:
        raise TargetUnreachable(
            f"Every broker must be reachable at the address it advertises, but {bootstrap} names "
            f"{'; '.join(failures)}. Correct advertised.listeners, or this host's resolver or network."
        )


def _connect(address: tuple[str, int]) -> str | None:
    try:
        socket.create_connection(address, timeout=_TCP_TIMEOUT_S).close()
    except OSError as error:
        return f"{address[0]}:{address[1]} ({error.strerror or error})"
    return None


def _local_brokers(brokers: Iterable[tuple[str, int]]) -> Iterable[LocalBroker]:
    for host, port in brokers:
        # A Docker proxy or an SSH tunnel listens for a broker that is somewhere else.
        if _is_loopback(host) and (process := listener(port)) and "java" in process_name(process):
            yield LocalBroker(pid=process.pid, port=port, log_dir=log_dir_of(process.pid))


def _is_loopback(host: str) -> bool:
    try:
        addresses = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
        return all(ipaddress.ip_address(address).is_loopback for address in addresses)
    except (OSError, ValueError):
        return False
