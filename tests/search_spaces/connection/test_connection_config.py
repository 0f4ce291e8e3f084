"""Tests of connection files for Kafka's Java clients: they are translated, or refused with advice."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.connection.jaas import parse_jaas
from search_spaces.errors import ConfigError, ConflictingSpellings, InvalidValue, UnknownProperty

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule"
LOGIN = f'{SCRAM} required username="u" password="hunter2";'
LINE = "QUJD" * 20
CERTIFICATE = f"-----BEGIN CERTIFICATE-----{LINE}-----END CERTIFICATE-----"
LINES = f"-----BEGIN CERTIFICATE-----\n{LINE[:64]}\n{LINE[64:]}\n-----END CERTIFICATE-----\n"


def translated(**properties: str) -> dict[str, str]:
    return ConnectionConfig.parse({name.replace("_", "."): value for name, value in properties.items()}).values


@pytest.mark.parametrize(
    ("module", "mechanism"), [(SCRAM, "SCRAM-SHA-512"), (SCRAM, "SCRAM-SHA-256"), (PLAIN, "PLAIN")]
)
def test_a_login_becomes_user_and_password(module: str, mechanism: str) -> None:
    login = f'{module} required username="u" password="p\\"=;\'\\\\ x";'
    assert translated(sasl_mechanism=mechanism, sasl_jaas_config=login) == {
        "sasl.mechanism": mechanism,
        "sasl.username": "u",
        "sasl.password": "p\"=;'\\ x",
    }


@given(st.text(st.characters(codec="ascii", exclude_characters="\n"), max_size=30), st.sampled_from("\"'"))
def test_a_quoted_value_is_read_back(password: str, quote: str) -> None:
    escaped = password.replace("\\", "\\\\").replace(quote, f"\\{quote}")
    login = parse_jaas(f"a.B\n  required /* here */ username=u // there\n password={quote}{escaped}{quote};")
    assert login is not None
    assert login.options == {"username": "u", "password": password}
    assert password == "" or password in "Login(B)" or password not in repr(login)


@pytest.mark.parametrize(
    "login",
    [
        "hunter2",
        f"{SCRAM} username=u password=hunter2;",
        f"{SCRAM} required username=u password=hunter2",
        f'{SCRAM} required username=u password="hunter2;',
        f"{SCRAM} required username=u password=hunter2; {PLAIN} required username=u password=hunter2;",
        f"{SCRAM} required username=u;",
        f"{SCRAM} required username=u password=hunter2 tokenauth=true;",
        f"{PLAIN} required username=u password=hunter2;",
        "hunter2 required username=u;",
        "com.sun.security.auth.module.Krb5LoginModule required keyTab=hunter2;",
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required clientSecret=hunter2;",
    ],
)
def test_an_unsupported_login_is_refused_and_not_shown(login: str) -> None:
    with pytest.raises(InvalidValue, match=r"sasl\.jaas\.config takes") as caught:
        translated(sasl_mechanism="SCRAM-SHA-512", sasl_jaas_config=login)
    assert "hunter2" not in str(caught.value) + repr(caught.value)


def test_a_login_needs_its_mechanism() -> None:
    with pytest.raises(InvalidValue, match=r"there is no sasl\.mechanism \(Java's default is GSSAPI\)"):
        translated(sasl_jaas_config=LOGIN)


def test_two_different_logins_are_refused() -> None:
    with pytest.raises(ConflictingSpellings, match=r"sasl\.jaas\.config and sasl\.password both") as caught:
        translated(sasl_mechanism="SCRAM-SHA-512", sasl_jaas_config=LOGIN, sasl_password="hunter3")
    assert "hunter" not in str(caught.value)
    same = translated(sasl_mechanism="SCRAM-SHA-512", sasl_jaas_config=LOGIN, sasl_password="hunter2")
    assert same["sasl.password"] == "hunter2"


def test_pem_stores_are_translated_to_librdkafka_properties() -> None:
    assert translated(ssl_truststore_type="PEM", ssl_truststore_location="ca.pem") == {"ssl.ca.location": "ca.pem"}
    assert translated(ssl_truststore_type="pem", ssl_truststore_certificates=CERTIFICATE + CERTIFICATE) == {
        "ssl.ca.pem": LINES + LINES
    }
    both = {"ssl.key.location": "me.pem", "ssl.certificate.location": "me.pem", "ssl.key.password": "x"}
    assert translated(ssl_keystore_type="PEM", ssl_keystore_location="me.pem", ssl_key_password="x") == both
    key = CERTIFICATE.replace("CERTIFICATE", "ENCRYPTED PRIVATE KEY")
    assert translated(ssl_keystore_type="PEM", ssl_keystore_key=key, ssl_keystore_certificate_chain=CERTIFICATE) == {
        "ssl.key.pem": LINES.replace("CERTIFICATE", "ENCRYPTED PRIVATE KEY"),
        "ssl.certificate.pem": LINES,
    }


@pytest.mark.parametrize("stated", [{"ssl_keystore_type": "PKCS12"}, {}])
def test_pkcs12_key_stores_are_kept(stated: dict[str, str]) -> None:
    kept = {"ssl.keystore.location": "me.p12", "ssl.keystore.password": "x"}
    assert translated(ssl_keystore_location="me.p12", ssl_keystore_password="x", **stated) == kept


@pytest.mark.parametrize(
    ("properties", "advice"),
    [
        ({"ssl_truststore_location": "t.jks"}, r"`keytool -list -rfc -keystore t\.jks > ca\.pem`.*ssl\.ca\.location"),
        ({"ssl_truststore_location": "t.p12", "ssl_truststore_type": "PKCS12"}, r"openssl pkcs12 -in t\.p12 -nokeys"),
        ({"ssl_truststore_type": "JKS"}, r"use ssl\.ca\.location"),
        ({"ssl_keystore_location": "k.jks"}, r"takes a PKCS#12 file .*keytool -importkeystore -srckeystore k\.jks"),
        ({"ssl_keystore_location": "k.p12", "ssl_keystore_type": "JKS"}, r"takes a PKCS#12 file"),
        ({"ssl_keystore_key": "hunter2", "ssl_keystore_type": "PEM"}, r"one of them is missing"),
        ({"ssl_keystore_type": "PEM"}, r"ssl\.keystore\.location, which is missing"),
        ({"sasl_login_class": "x"}, r"librdkafka does not support JAAS"),
        ({"ssl_enabled_protocols": "TLSv1.3"}, r"leave it out"),
    ],
)
def test_java_key_stores_are_refused_with_advice(properties: dict[str, str], advice: str) -> None:
    stores = {"ssl_truststore_password": "hunter2"} if "ssl_truststore_location" in properties else {}
    with pytest.raises((InvalidValue, UnknownProperty), match=advice) as caught:
        translated(**properties, **stores)
    assert isinstance(caught.value, ConfigError)
    assert "hunter2" not in str(caught.value)


def test_an_empty_identification_algorithm_becomes_none() -> None:
    assert translated(ssl_endpoint_identification_algorithm="") == {"ssl.endpoint.identification.algorithm": "none"}
    assert translated(ssl_endpoint_identification_algorithm="https") == {
        "ssl.endpoint.identification.algorithm": "https"
    }


def test_blanks_around_a_value_are_removed_but_not_those_of_a_password() -> None:
    words = {"security.protocol": "SASL_SSL ", "sasl.mechanism": " PLAIN\t", "sasl.username": "a \n"}
    seen = ConnectionConfig.parse({**words, "sasl.password": "b \n"}).values
    assert seen == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "a",
        "sasl.password": "b ",
    }
