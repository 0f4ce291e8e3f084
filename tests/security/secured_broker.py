"""A broker with listeners that require TLS, logins or certificates, and on which every permission must be granted.

It stands in for the clusters of users; the tests measure on it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from runners.clusters.admin_connection import AdminConnection
from runners.clusters.brokers.embedded import EmbeddedCluster
from runners.clusters.cluster import RunningCluster
from runners.reporting import Say, silent
from tests.helpers.ports import free_port

_HOST = "127.0.0.1"
_REQUEST_TIMEOUT_S = 20.0
_SCRAM_ITERATIONS = 4096
_SCRAM = {"SCRAM-SHA-256": "SCRAM_SHA_256", "SCRAM-SHA-512": "SCRAM_SHA_512"}
_MODULES = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule required",
    **dict.fromkeys(_SCRAM, "org.apache.kafka.common.security.scram.ScramLoginModule required"),
}


@dataclass(frozen=True, slots=True)
class Identity:
    """A certificate with its key, as PEM text.

    Attributes:
        key: The private key in PKCS#8, not encrypted.
        chain: The certificate, followed by those that signed it, without the root.
    """

    key: str
    chain: str

    def __repr__(self) -> str:
        return "Identity(...)"


@dataclass(frozen=True, slots=True)
class SecuredListener:
    """A listener of the broker.

    Attributes:
        name: The broker's name for it; letters only.
        protocol: `SSL`, `SASL_SSL` or `SASL_PLAINTEXT`.
        identity: The broker's certificate, for the protocols with TLS.
        client_ca: The CA of the certificates that clients must present, as PEM text. Empty if they need no certificate.
        mechanisms: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, for the protocols with SASL.
    """

    name: str
    protocol: str
    identity: Identity | None = None
    client_ca: str = ""
    mechanisms: tuple[str, ...] = ()


class SecuredCluster:
    """One embedded broker with secured listeners, and a plain listener for the super user.

    Clients of the secured listeners have no permissions before ACLs are created through the plain listener. Every
    process of this host can use the plain listener: this class is for tests, and does not protect data.
    """

    def __init__(self, listeners: Sequence[SecuredListener], users: Mapping[str, str]) -> None:
        """Describe the cluster, without starting anything.

        Args:
            listeners: At least one listener.
            users: Passwords by user name, the same for every mechanism. Printable ASCII without `"` and `\\`.
        """
        self._listeners, self._users = tuple(listeners), dict(users)
        self._ports: dict[str, int] = {}
        self._embedded: EmbeddedCluster | None = None

    def start(self, progress: Say = silent) -> RunningCluster:
        """Start the broker, and return the super user's connection to its plain listener."""
        plain, controller = free_port(), free_port()
        self._ports = {listener.name: free_port() for listener in self._listeners}
        self._embedded = EmbeddedCluster(host=_HOST, port=plain, properties=self._properties(plain, controller))
        running = self._embedded.start(progress)
        self._add_scram_users(running)
        return running

    def stop(self) -> None:
        """Stop the broker and remove its data."""
        if self._embedded is not None:
            self._embedded.stop()

    def address(self, listener: str) -> str:
        """Return `host:port` of a listener of the running broker."""
        return f"{_HOST}:{self._ports[listener]}"

    def _properties(self, plain: int, controller: int) -> dict[str, str]:
        secured = ",".join(f"{listener.name}://{_HOST}:{self._ports[listener.name]}" for listener in self._listeners)
        protocols = ",".join(f"{listener.name}:{listener.protocol}" for listener in self._listeners)
        properties = {
            "controller.quorum.voters": f"1@{_HOST}:{controller}",
            "listeners": f"PLAINTEXT://{_HOST}:{plain},CONTROLLER://{_HOST}:{controller},{secured}",
            "advertised.listeners": f"PLAINTEXT://{_HOST}:{plain},{secured}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{protocols}",
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # clients of the plain listener, and the controller
            "allow.everyone.if.no.acl.found": "false",
        }
        for listener in self._listeners:
            properties |= self._listener_properties(listener)
        return properties

    def _listener_properties(self, listener: SecuredListener) -> dict[str, str]:
        wanted: dict[str, str] = {}
        if listener.identity is not None:
            wanted |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": listener.identity.key,
                "ssl.keystore.certificate.chain": listener.identity.chain,
            }
        if listener.client_ca:
            wanted |= {
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": listener.client_ca,
            }
        if listener.mechanisms:
            wanted["sasl.enabled.mechanisms"] = ",".join(listener.mechanisms)
        for mechanism in listener.mechanisms:
            known = "".join(f' user_{name}="{password}"' for name, password in self._users.items())
            login = _MODULES[mechanism] + (known if mechanism == "PLAIN" else "")
            wanted[f"{mechanism.lower()}.sasl.jaas.config"] = f"{login};"
        return {f"listener.name.{listener.name.lower()}.{name}": value for name, value in wanted.items()}

    def _add_scram_users(self, running: RunningCluster) -> None:
        admin = AdminConnection(running.connection).admin
        used = {mechanism for listener in self._listeners for mechanism in listener.mechanisms}
        for mechanism in used & _SCRAM.keys():  # the broker accepts only one change of a user in a request
            info = ScramCredentialInfo(getattr(ScramMechanism, _SCRAM[mechanism]), _SCRAM_ITERATIONS)
            wanted: list[UserScramCredentialAlteration] = [
                UserScramCredentialUpsertion(name, info, password.encode()) for name, password in self._users.items()
            ]
            futures = admin.alter_user_scram_credentials(wanted, request_timeout=_REQUEST_TIMEOUT_S)
            for future in futures.values():
                future.result(timeout=_REQUEST_TIMEOUT_S)
