"""Java's key stores and trust stores are read as PEM text. A wrong password or a missing key gives a clear error."""

import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from runners.errors import TargetRefused
from runners.java_client.key_stores import read_connection, with_java_stores_read
from runners.java_runtime.java import find_java
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import ConfigError

PASSWORD = "changeit"


def keytool(*words: str) -> None:
    program = find_java().path.parent / "keytool"
    subprocess.run([program, *words], check=True, capture_output=True, timeout=60)


@pytest.fixture(scope="module", params=[pytest.param("JKS", marks=pytest.mark.long), "PKCS12"])
def store(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """A store with a key and its certificate, and its type."""
    path = tmp_path_factory.mktemp("stores") / "made.store"
    keytool(
        *("-genkeypair", "-alias", "me", "-keyalg", "EC", "-dname", "CN=tuner", "-storetype", request.param),
        *("-keystore", str(path), "-storepass", PASSWORD, "-keypass", PASSWORD),
    )
    return request.param, path


def test_a_trust_store_becomes_the_text_of_its_certificates(store: tuple[str, Path]) -> None:
    kind, path = store
    given = {
        "security.protocol": "SSL",
        "ssl.truststore.type": kind,
        "ssl.truststore.location": str(path),
        "ssl.truststore.password": PASSWORD,
    }
    values = ConnectionConfig.parse(with_java_stores_read(given)).values
    assert set(values) == {"security.protocol", "ssl.ca.pem"}
    assert x509.load_pem_x509_certificate(values["ssl.ca.pem"].encode()).subject.rfc4514_string() == "CN=tuner"


def test_a_key_store_becomes_the_text_of_its_key_and_chain(store: tuple[str, Path]) -> None:
    kind, path = store
    given = {
        "security.protocol": "SSL",
        "ssl.keystore.type": kind,
        "ssl.keystore.location": str(path),
        "ssl.keystore.password": PASSWORD,
        "ssl.key.password": PASSWORD,
    }
    read = with_java_stores_read(given)
    if kind == "PKCS12":
        assert read == given, "librdkafka reads it itself"
        return
    values = ConnectionConfig.parse(read).values
    key = load_pem_private_key(values["ssl.key.pem"].encode(), None)
    certificate = x509.load_pem_x509_certificate(values["ssl.certificate.pem"].encode())
    assert key.public_key() == certificate.public_key()
    assert PASSWORD not in str(values)


def test_a_wrong_password_is_refused_without_showing_it(store: tuple[str, Path]) -> None:
    kind, path = store
    given = {"ssl.truststore.type": kind, "ssl.truststore.location": str(path), "ssl.truststore.password": "hunter2"}
    with pytest.raises(TargetRefused, match=r"ssl\.truststore\.location must name a store that opens") as caught:
        with_java_stores_read(given)
    assert str(path) in str(caught.value)
    assert "hunter2" not in str(caught.value)


def test_a_store_without_a_key_is_no_identity(tmp_path: Path, store: tuple[str, Path]) -> None:
    certificate, trust = tmp_path / "me.pem", tmp_path / "trust.jks"
    keytool(
        *("-exportcert", "-rfc", "-alias", "me", "-file", str(certificate)),
        *("-keystore", str(store[1]), "-storepass", PASSWORD),
    )
    keytool(
        *("-importcert", "-noprompt", "-alias", "ca", "-file", str(certificate)),
        *("-keystore", str(trust), "-storetype", "JKS", "-storepass", PASSWORD),
    )
    with pytest.raises(TargetRefused, match="holds none"):
        with_java_stores_read({"ssl.keystore.location": str(trust), "ssl.keystore.password": PASSWORD})


def test_without_a_java_store_nothing_is_read() -> None:
    given = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "ca.pem", "ssl.keystore.location": "client.p12"}
    assert with_java_stores_read(given) == given


def test_a_connection_file_takes_variables_and_shows_none(tmp_path: Path) -> None:
    path = tmp_path / "client.properties"
    path.write_text('security.protocol=${PROTOCOL}\nsasl.jaas.config=org.apache.kafka.common.security.plain.Plain\\\n'
                    'LoginModule required username="u" password="${PW}";\nsasl.mechanism=PLAIN\n')  # fmt: skip
    found = read_connection(path, {"PROTOCOL": "SASL_SSL", "PW": "hunter2"})
    assert found["security.protocol"] == "sasl_ssl"
    assert (found["sasl.username"], found["sasl.password"]) == ("u", "hunter2")
    with pytest.raises(ConfigError) as caught:
        read_connection(path, {"PROTOCOL": "hunter2", "PW": "hunter2"})
    assert "not '${PROTOCOL}'" in str(caught.value)
    assert "hunter2" not in str(caught.value)
    with pytest.raises(ConfigError, match=r"line 2: sasl.jaas.config: an environment variable that the value names is"):
        read_connection(path, {"PROTOCOL": "SASL_SSL"})
