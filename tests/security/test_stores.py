"""An error about a Java key store names a command, and the file that the command makes works."""

import re
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, load_pem_private_key, pkcs12

from runners.clusters.brokers.existing import ExistingCluster
from runners.java_runtime.java import find_java
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import ConfigError
from tests.security.secured import Secured

pytestmark = [pytest.mark.broker, pytest.mark.campaign]

STORE_PASSWORD = "changeit"


def shell(command: str, folder: Path) -> None:
    """Run a command as a user does, and type in the password of the stores."""
    keytool = find_java().path.parent / "keytool"
    asked = re.sub("^keytool", str(keytool), command).replace("pkcs12 ", "pkcs12 -passin stdin ")
    answers = f"{STORE_PASSWORD}\n" * 3
    subprocess.run(asked, shell=True, cwd=folder, input=answers, text=True, check=True, capture_output=True, timeout=60)


def advised(properties: dict[str, str]) -> str:
    """Return the command that the error advises."""
    with pytest.raises(ConfigError) as caught:
        ConnectionConfig.parse(properties)
    (command,) = re.findall(r"`(.*?)`", str(caught.value))
    return str(command)


def connects(secured: Secured, listener: str, properties: dict[str, str]) -> bool:
    connection = ConnectionConfig.parse(properties).values
    return ExistingCluster(secured.address(listener), connection).start().kind == "existing"


@pytest.mark.parametrize("kind", ["JKS", "PKCS12"])
def test_a_trust_store_becomes_a_pem_file(secured: Secured, tmp_path: Path, kind: str) -> None:
    ca = secured.keys / "ca.pem"
    shell(f"keytool -importcert -noprompt -storetype {kind} -alias ca -file {ca} -keystore trust.store", tmp_path)
    properties = {name: value for name, value in secured.scram.items() if name != "ssl.ca.location"}
    store = {"ssl.truststore.type": kind, "ssl.truststore.location": "trust.store"}
    shell(advised({**properties, **store}), tmp_path)
    assert connects(secured, "SCRAM", {**properties, "ssl.ca.location": str(tmp_path / "ca.pem")})


def test_a_key_store_becomes_a_pkcs12_file(secured: Secured, tmp_path: Path) -> None:
    key = load_pem_private_key((secured.keys / "client.key").read_bytes(), None)
    certificate = x509.load_pem_x509_certificate((secured.keys / "client.pem").read_bytes())
    encryption = BestAvailableEncryption(STORE_PASSWORD.encode())
    (tmp_path / "made.p12").write_bytes(
        pkcs12.serialize_key_and_certificates(b"me", key, certificate, None, encryption)  # type: ignore[arg-type]
    )
    shell(
        "keytool -importkeystore -noprompt -srckeystore made.p12 -srcstoretype PKCS12 -destkeystore keys.jks "
        "-deststoretype JKS",
        tmp_path,
    )
    store = {"ssl.keystore.location": "keys.jks", "ssl.keystore.password": STORE_PASSWORD}
    shell(advised({**secured.tls(), **store}), tmp_path)
    pkcs = {"ssl.keystore.location": str(tmp_path / "client.p12"), "ssl.keystore.type": "PKCS12"}
    assert connects(secured, "MUTUAL", {**secured.tls(), **store, **pkcs})


def test_pem_stores_are_read_from_files_and_from_property_values(secured: Secured, tmp_path: Path) -> None:
    key, chain = ((secured.keys / f"client.{kind}").read_text() for kind in ("key", "pem"))
    ca = (secured.keys / "ca.pem").read_text()
    both = tmp_path / "both.pem"
    both.write_text(key + chain)
    (tmp_path / "ca.pem").write_text(ca)
    files = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(both),
    }
    assert connects(secured, "MUTUAL", files)
    texts = {
        "security.protocol": "SSL",
        "ssl.truststore.type": "PEM",
        "ssl.truststore.certificates": ca.replace("\n", " "),
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": key.replace("\n", ""),
        "ssl.keystore.certificate.chain": chain.replace("\n", " "),
    }
    assert connects(secured, "MUTUAL", texts)


def test_relative_paths_start_at_the_working_folder(
    secured: Secured, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(secured.keys)
    running = ExistingCluster(secured.address("SCRAM"), {**secured.scram, "ssl.ca.location": "ca.pem"}).start()
    monkeypatch.chdir(tmp_path)
    assert ExistingCluster(running.bootstrap, running.connection).start().kind == "existing"
