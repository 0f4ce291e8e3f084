"""A broker with listeners that accept or reject clients in different ways, and the client properties for each."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from runners.clusters.cluster import RunningCluster
from search_spaces.files.properties_file import format_properties
from tests.security.certificates import Authority
from tests.security.secured_broker import Identity, SecuredCluster, SecuredListener

USER: Final = "tuner"
PASSWORD: Final = "Gr4nted-t0-tests=only;"
SUBJECT: Final = "CN=tuner"
TOPIC: Final = "scratch"


@dataclass(frozen=True, slots=True)
class Secured:
    """A running broker with secured listeners.

    Attributes:
        cluster: The cluster, which knows the addresses of its listeners.
        admin: The connection of a super user, who may do everything.
        keys: Folder with `ca.pem`, `other-ca.pem`, and `NAME.pem` and `NAME.key` for `client`, `expired`, `stranger`.
    """

    cluster: SecuredCluster
    admin: RunningCluster
    keys: Path

    def address(self, listener: str) -> str:
        """Return `host:port` of a listener."""
        return self.cluster.address(listener)

    @property
    def scram(self) -> dict[str, str]:
        """Client properties for the listener SCRAM."""
        return {
            "security.protocol": "SASL_SSL",
            "ssl.ca.location": str(self.keys / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }

    @property
    def java_scram(self) -> dict[str, str]:
        """Client properties for the listener SCRAM, under the names of the Java client."""
        module = "org.apache.kafka.common.security.scram.ScramLoginModule"
        return {
            "security.protocol": "SASL_SSL",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": str(self.keys / "ca.pem"),
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.jaas.config": f'{module} required username="{USER}" password="{PASSWORD}";',
        }

    @property
    def plain(self) -> dict[str, str]:
        """Client properties for the listener PLAIN."""
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
        }

    def tls(self, ca: str = "ca.pem") -> dict[str, str]:
        """Return client properties for a listener that requires only TLS."""
        return {"security.protocol": "SSL", "ssl.ca.location": str(self.keys / ca)}

    def mutual(self, name: str = "client") -> dict[str, str]:
        """Return client properties for the listener MUTUAL."""
        return {
            **self.tls(),
            "ssl.certificate.location": str(self.keys / f"{name}.pem"),
            "ssl.key.location": str(self.keys / f"{name}.key"),
        }

    def ways_in(self) -> dict[str, dict[str, str]]:
        """Return the client properties by listener."""
        return {"SCRAM": self.scram, "PLAIN": self.plain, "MUTUAL": self.mutual()}


def principal(listener: str) -> str:
    """Return the principal as which the broker knows a client of this listener."""
    return f"User:{SUBJECT}" if listener == "MUTUAL" else f"User:{USER}"


def write_client(path: Path, properties: dict[str, str]) -> str:
    """Write a file for `--command-config`, and return its path."""
    path.write_text(format_properties(properties), encoding="utf-8")
    return str(path)


@contextmanager
def secured_broker(keys: Path) -> Iterator[Secured]:
    """Create certificates, start the broker, yield it, and stop it at the end.

    Args:
        keys: Folder for the certificates and keys of clients.
    """
    ours, others = Authority.make(), Authority.make("others")
    write_keys(
        keys,
        {"ca": ours, "other-ca": others},
        {
            "client": ours.identity(USER),
            "expired": ours.identity(USER, expired=True),
            "stranger": others.identity(USER),
        },
    )
    broker = ours.identity("broker")
    listeners = (
        SecuredListener("SCRAM", "SASL_SSL", broker, mechanisms=("SCRAM-SHA-512", "SCRAM-SHA-256")),
        SecuredListener("PLAIN", "SASL_PLAINTEXT", mechanisms=("PLAIN",)),
        SecuredListener("MUTUAL", "SSL", broker, client_ca=ours.pem),
        SecuredListener("EXPIRED", "SSL", ours.identity("broker", expired=True)),
        SecuredListener("ELSEWHERE", "SSL", ours.identity("broker", ("broker.example.org",))),
    )
    cluster = SecuredCluster(listeners, {USER: PASSWORD})
    try:
        yield Secured(cluster, cluster.start(), keys)
    finally:
        cluster.stop()


def write_keys(folder: Path, authorities: dict[str, Authority], identities: dict[str, Identity]) -> None:
    """Write certificates and keys as PEM files."""
    for name, authority in authorities.items():
        (folder / f"{name}.pem").write_text(authority.pem)
    for name, identity in identities.items():
        (folder / f"{name}.pem").write_text(identity.chain)
        key = folder / f"{name}.key"
        key.touch(mode=0o600)
        key.write_text(identity.key)
