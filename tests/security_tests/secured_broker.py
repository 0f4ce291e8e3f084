"""A broker of our own with listeners that want TLS, logins or certificates; nobody may do what is not granted there.

It stands for the clusters that users have; the tests measure against it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from runners.clusters.cluster import RunningCluster
from runners.clusters.contact import Contact
from runners.clusters.embedded import EmbeddedCluster
from runners.clusters.processes import free_ports
from runners.errors import BrokerDidNotStart
from runners.reporting import Say, silent

_HOST = "127.0.0.1"
_TRIES = 3
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
        key: The private key, PKCS#8, not encrypted.
        chain: The certificate, then those that signed it, the root left out.
    """

    key: str
    chain: str

    def __repr__(self) -> str:
        return "Identity(...)"


@dataclass(frozen=True, slots=True)
class SecuredListener:
    """A door of the broker.

    Attributes:
        name: Letters only; the broker's name for it.
        protocol: `SSL`, `SASL_SSL` or `SASL_PLAINTEXT`.
        identity: What the broker shows, for the protocols with TLS.
        client_ca: CA that signed the certificates that clients must show, as PEM text; empty if they need none.
        mechanisms: `PLAIN`, `SCRAM-SHA-256`, `SCRAM-SHA-512`, for the protocols with SASL.
    """

    name: str
    protocol: str
    identity: Identity | None = None
    client_ca: str = ""
    mechanisms: tuple[str, ...] = ()


class SecuredCluster:
    """One embedded broker with secured listeners, beside the plain one that `start` gives, which may do everything.

    Nobody else may do anything until ACLs are made through that one. It is open to every process of this host, as
    everything of an embedded broker: this is for tests, not a way to keep data safe.
    """

    def __init__(self, listeners: Sequence[SecuredListener], users: Mapping[str, str]) -> None:
        """Describe it; nothing is started.

        Args:
            listeners: At least one.
            users: Names and passwords, the same for every mechanism; printable ASCII without `"` and `\\`.
        """
        self._listeners, self._users = tuple(listeners), dict(users)
        self._ports: dict[str, int] = {}
        self._embedded: EmbeddedCluster | None = None

    def start(self, progress: Say = silent) -> RunningCluster:
        """See `EmbeddedCluster.start`; the connection given is that of its plain listener, a super user's."""
        for left in reversed(range(_TRIES)):
            plain, controller, *others = free_ports(_HOST, 2 + len(self._listeners))
            self._ports = {door.name: port for door, port in zip(self._listeners, others, strict=True)}
            properties = self._properties(plain, controller)
            self._embedded = EmbeddedCluster(host=_HOST, port=plain, properties=properties)
            try:
                running = self._embedded.start(progress)
            except BrokerDidNotStart:  # another process may have taken a port that was free when we looked
                if not left:
                    raise
            else:
                self._add_scram_users(running)
                return running
        raise AssertionError("the last try returns or raises")

    def stop(self) -> None:
        """See `EmbeddedCluster.stop`."""
        if self._embedded is not None:
            self._embedded.stop()

    def address(self, listener: str) -> str:
        """`host:port` of a listener of the running broker."""
        return f"{_HOST}:{self._ports[listener]}"

    def _properties(self, plain: int, controller: int) -> dict[str, str]:
        doors = ",".join(f"{door.name}://{_HOST}:{self._ports[door.name]}" for door in self._listeners)
        protocols = ",".join(f"{door.name}:{door.protocol}" for door in self._listeners)
        properties = {
            "controller.quorum.voters": f"1@{_HOST}:{controller}",
            "listeners": f"PLAINTEXT://{_HOST}:{plain},CONTROLLER://{_HOST}:{controller},{doors}",
            "advertised.listeners": f"PLAINTEXT://{_HOST}:{plain},{doors}",
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{protocols}",
            "inter.broker.listener.name": "PLAINTEXT",
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",  # who comes through the plain listener, or is the controller
            "allow.everyone.if.no.acl.found": "false",
        }
        for door in self._listeners:
            properties |= self._door(door)
        return properties

    def _door(self, door: SecuredListener) -> dict[str, str]:
        wanted: dict[str, str] = {}
        if door.identity is not None:
            wanted |= {
                "ssl.keystore.type": "PEM",
                "ssl.keystore.key": door.identity.key,
                "ssl.keystore.certificate.chain": door.identity.chain,
            }
        if door.client_ca:
            wanted |= {
                "ssl.client.auth": "required",
                "ssl.truststore.type": "PEM",
                "ssl.truststore.certificates": door.client_ca,
            }
        if door.mechanisms:
            wanted["sasl.enabled.mechanisms"] = ",".join(door.mechanisms)
        for mechanism in door.mechanisms:
            known = "".join(f' user_{name}="{password}"' for name, password in self._users.items())
            login = _MODULES[mechanism] + (known if mechanism == "PLAIN" else "")
            wanted[f"{mechanism.lower()}.sasl.jaas.config"] = f"{login};"
        return {f"listener.name.{door.name.lower()}.{name}": value for name, value in wanted.items()}

    def _add_scram_users(self, running: RunningCluster) -> None:
        admin = Contact(running.connection).admin
        used = {mechanism for door in self._listeners for mechanism in door.mechanisms}
        for mechanism in used & _SCRAM.keys():  # the broker alters a user once in a request
            info = ScramCredentialInfo(getattr(ScramMechanism, _SCRAM[mechanism]), _SCRAM_ITERATIONS)
            wanted: list[UserScramCredentialAlteration] = [
                UserScramCredentialUpsertion(name, info, password.encode()) for name, password in self._users.items()
            ]
            futures = admin.alter_user_scram_credentials(wanted, request_timeout=_REQUEST_TIMEOUT_S)
            for future in futures.values():
                future.result(timeout=_REQUEST_TIMEOUT_S)
