"""Connection properties are translated to the Java client's names, with the same secrets and nothing lost."""

from pathlib import Path

import pytest

from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.connection.jaas import jaas, parse_jaas
from search_spaces.connection.java_connection import connection_for_java
from search_spaces.errors import InvalidValue, UnknownProperty

BOOTSTRAP = {"bootstrap.servers": "a:1,b:2"}
PASSWORD = 'p"a\\ss;w=o rd\t'
PKCS8 = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"  # allowed: secret
CHAIN = "-----BEGIN CERTIFICATE-----\nBBBB\n-----END CERTIFICATE-----\n"


def java(given: dict[str, str], version: str = "4.3.1") -> dict[str, str]:
    return connection_for_java(ConnectionConfig.parse({**BOOTSTRAP, **given}).values, version)


def test_a_plain_connection_is_its_address() -> None:
    assert java({}) == BOOTSTRAP


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [
        ("PLAIN", "org.apache.kafka.common.security.plain.PlainLoginModule"),
        ("SCRAM-SHA-256", "org.apache.kafka.common.security.scram.ScramLoginModule"),
        ("SCRAM-SHA-512", "org.apache.kafka.common.security.scram.ScramLoginModule"),
    ],
)
def test_a_password_becomes_a_jaas_login_that_reads_back(mechanism: str, module: str) -> None:
    given = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": mechanism,
        "sasl.username": "tuner",
        "sasl.password": PASSWORD,
    }
    seen = java(given)
    assert seen["security.protocol"] == "SASL_PLAINTEXT"
    assert seen["sasl.mechanism"] == mechanism
    assert seen["sasl.jaas.config"].startswith(f"{module} required ")
    login = parse_jaas(seen["sasl.jaas.config"])
    assert login is not None
    assert login.options == {"username": "tuner", "password": PASSWORD}
    assert set(seen) == {"bootstrap.servers", "security.protocol", "sasl.mechanism", "sasl.jaas.config"}


def test_a_line_break_in_an_option_stays_on_one_line() -> None:
    text = jaas("M", {"password": "a\nb"})
    assert "\n" not in text
    login = parse_jaas(text)
    assert login is not None
    assert login.options == {"password": "a\nb"}


def test_pem_files_and_texts_become_java_s_stores_of_type_pem(tmp_path: Path) -> None:
    (tmp_path / "client.pem").write_text(CHAIN)
    (tmp_path / "client.key").write_text(PKCS8)
    files = {
        "security.protocol": "SSL",
        "ssl.ca.location": "/keys/ca.pem",
        "ssl.certificate.location": str(tmp_path / "client.pem"),
        "ssl.key.location": str(tmp_path / "client.key"),
        "ssl.key.password": "secret",
    }
    identity = {
        "ssl.keystore.type": "PEM",
        "ssl.keystore.key": PKCS8,
        "ssl.keystore.certificate.chain": CHAIN,
        "ssl.key.password": "secret",
    }
    trust = {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/keys/ca.pem"}
    assert java(files) == {**BOOTSTRAP, "security.protocol": "SSL", **trust, **identity}
    texts = {"security.protocol": "SSL", "ssl.ca.pem": CHAIN, "ssl.certificate.pem": CHAIN, "ssl.key.pem": PKCS8}
    assert java(texts)["ssl.truststore.certificates"] == CHAIN
    assert java(texts)["ssl.keystore.key"] == PKCS8


def test_a_folder_of_certificates_becomes_their_text(tmp_path: Path) -> None:
    for name in ("a.pem", "b.pem"):
        (tmp_path / name).write_text(CHAIN)
    seen = java({"security.protocol": "SSL", "ssl.ca.location": str(tmp_path)})
    assert seen["ssl.truststore.certificates"].count("BEGIN CERTIFICATE") == 2


def test_a_pkcs12_store_is_handed_through() -> None:
    given = {"security.protocol": "SSL", "ssl.keystore.location": "/keys/client.p12", "ssl.keystore.password": "x"}
    seen = java(given)
    assert seen["ssl.keystore.type"] == "PKCS12"
    assert (seen["ssl.keystore.location"], seen["ssl.keystore.password"]) == ("/keys/client.p12", "x")


def test_an_unchecked_host_name_is_java_s_empty_value() -> None:
    given = {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"}
    assert java(given)["ssl.endpoint.identification.algorithm"] == ""
    assert "ssl.endpoint.identification.algorithm" not in java({"security.protocol": "SSL"})


@pytest.mark.parametrize(("version", "package"), [("4.3.1", "oauthbearer"), ("3.3.2", "oauthbearer.secured")])
def test_oidc_becomes_java_s_login_with_a_client_secret(version: str, package: str) -> None:
    given = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "tuner",
        "sasl.oauthbearer.client.secret": "x",
        "sasl.oauthbearer.scope": "kafka",
        "sasl.oauthbearer.extensions": "logicalCluster=lkc-1,identityPoolId=pool",
        "sasl.oauthbearer.token.endpoint.url": "https://example.org/token",
    }
    seen = java(given, version)
    login = parse_jaas(seen["sasl.jaas.config"])
    assert login is not None
    assert login.module == "OAuthBearerLoginModule"
    assert login.options == {
        "clientId": "tuner",
        "clientSecret": "x",
        "scope": "kafka",
        "extension_logicalCluster": "lkc-1",
        "extension_identityPoolId": "pool",
    }
    assert seen["sasl.oauthbearer.token.endpoint.url"] == "https://example.org/token"
    handler = f"org.apache.kafka.common.security.{package}.OAuthBearerLoginCallbackHandler"
    assert seen["sasl.login.callback.handler.class"] == handler


def test_kerberos_becomes_the_login_of_the_runtime() -> None:
    given = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "GSSAPI",
        "sasl.kerberos.keytab": "/keys/tuner.keytab",
        "sasl.kerberos.principal": "tuner@EXAMPLE.ORG",
        "sasl.kerberos.service.name": "kafka",
    }
    seen = java(given)
    login = parse_jaas(seen["sasl.jaas.config"])
    assert login is not None
    assert login.module == "Krb5LoginModule"
    assert login.options["keyTab"] == "/keys/tuner.keytab"
    assert login.options["principal"] == "tuner@EXAMPLE.ORG"
    assert seen["sasl.kerberos.service.name"] == "kafka"


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"ssl.crl.location": "/keys/list.crl"}, UnknownProperty, r"ssl\.crl\.location"),
        (
            {"security.protocol": "SSL", "enable.ssl.certificate.verification": "false"},
            InvalidValue,
            "always verifies",
        ),
        (
            {
                "security.protocol": "SSL",
                "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----",  # allowed: secret
                "ssl.certificate.pem": CHAIN,
            },
            InvalidValue,
            "openssl pkcs8",
        ),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, InvalidValue, "oidc"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
            },
            InvalidValue,
            "not 'urn:ietf:params:oauth:grant-type:jwt-bearer'",
        ),
    ],
)
def test_what_java_can_not_do_is_refused(given: dict[str, str], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        java(given)


def test_java_s_own_logins_survive_the_way_through_librdkafka_s_names() -> None:
    """A file that was written for Java, with OAUTHBEARER and with Kerberos."""
    token = {"clientId": "tuner", "clientSecret": "x", "scope": "kafka", "extension_pool": "p"}
    oauth = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": jaas("a.OAuthBearerLoginModule", token),
        "sasl.login.callback.handler.class": "a.OAuthBearerLoginCallbackHandler",
        "sasl.oauthbearer.token.endpoint.url": "https://example.org/token",
    }
    login = parse_jaas(java(oauth)["sasl.jaas.config"])
    assert login is not None
    assert login.options == token
    user = {"keyTab": "/keys/tuner.keytab", "principal": "tuner@EXAMPLE.ORG"}
    kerberos = {"security.protocol": "SASL_SSL", "sasl.jaas.config": jaas("a.Krb5LoginModule", user)}
    login = parse_jaas(java(kerberos)["sasl.jaas.config"])
    assert login is not None
    assert user.items() <= login.options.items()
