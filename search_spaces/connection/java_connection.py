"""Translates connection properties of librdkafka to those of Kafka's Java client.

The user writes one connection file, whose properties are checked under librdkafka's names
(`connection_config.py` beside this module). The Java client reads PEM files and PEM text too, so nothing has to be
converted into a key store of Java.

Source: "TLS" and "SASL" in the documentation of Apache Kafka 4.3; `DefaultSslEngineFactory`,
`OAuthBearerLoginCallbackHandler` and `ConfigurationUtils` of kafka-clients 4.3.1.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from search_spaces.connection.jaas import jaas
from search_spaces.errors import InvalidValue, UnknownProperty
from search_spaces.properties.catalogue import major_and_minor

_SAME: Final = frozenset(
    {
        "bootstrap.servers",
        "client.id",
        "client.rack",
        "client.dns.lookup",
        "ssl.key.password",
        "sasl.kerberos.service.name",
        "sasl.kerberos.min.time.before.relogin",
    }
)
"""Properties with the same name and meaning in both clients."""
_HANDLED: Final = frozenset(
    {
        "security.protocol",
        *("ssl.ca.location", "ssl.ca.pem", "ssl.certificate.location", "ssl.certificate.pem"),
        *("ssl.key.location", "ssl.key.pem", "ssl.keystore.location", "ssl.keystore.password"),
        *("enable.ssl.certificate.verification", "ssl.endpoint.identification.algorithm", "ssl.cipher.suites"),
        *("sasl.mechanism", "sasl.username", "sasl.password", "sasl.kerberos.principal", "sasl.kerberos.keytab"),
        *("sasl.oauthbearer.method", "sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret"),
        *("sasl.oauthbearer.client.credentials.client.id", "sasl.oauthbearer.client.credentials.client.secret"),
        *("sasl.oauthbearer.scope", "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.extensions"),
        *("sasl.oauthbearer.grant.type", "sasl.oauthbearer.sub.claim.name"),
        # Java has one trust store for all connections, and finds out by itself which family an address has.
        *("https.ca.location", "https.ca.pem", "broker.address.ttl", "broker.address.family"),
        *("sasl.kerberos.kinit.cmd", "enable.sasl.oauthbearer.unsecure.jwt"),
    }
)
"""Properties that are translated, and those that Java does without."""
_SYSTEM_CAS: Final = "probe"
_MODULES: Final = "org.apache.kafka.common.security"


def connection_for_java(connection: Mapping[str, str], version: str) -> dict[str, str]:
    """Return connection properties for the Java client. The result holds the same secrets.

    Args:
        connection: Checked properties under librdkafka's names, with absolute paths.
        version: The release of kafka-clients that will read them.

    Raises:
        UnknownProperty: The Java client has nothing that does what a property says.
        InvalidValue: A property has a value that the Java client can't have. No secret is shown.
    """
    for name in connection:
        if name not in _SAME | _HANDLED:
            raise UnknownProperty(name, "the Java client", hint="leave it out to measure with the Java client")
    properties = {name: value for name, value in connection.items() if name in _SAME}
    protocol = connection.get("security.protocol", "PLAINTEXT").upper()
    if "security.protocol" in connection:
        properties["security.protocol"] = protocol
    if protocol.endswith("SSL"):
        properties |= {**_trust(connection), **_identity(connection), **_checks(connection)}
    if protocol.startswith("SASL"):
        properties |= _login(connection, version)
    return properties


def _trust(connection: Mapping[str, str]) -> dict[str, str]:
    if text := connection.get("ssl.ca.pem"):
        return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": text}
    location = connection.get("ssl.ca.location", "")
    if location in ("", _SYSTEM_CAS):
        return {}  # Java then trusts the CAs that its runtime knows
    if not Path(location).is_dir():
        return {"ssl.truststore.type": "PEM", "ssl.truststore.location": location}
    # librdkafka also takes a folder of PEM files, Java does not.
    texts = [path.read_text(encoding="ascii", errors="ignore") for path in sorted(Path(location).iterdir())]
    return {"ssl.truststore.type": "PEM", "ssl.truststore.certificates": "\n".join(texts)}


def _identity(connection: Mapping[str, str]) -> dict[str, str]:
    if location := connection.get("ssl.keystore.location"):
        store = {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": location}
        return store | _renamed(connection, {"ssl.keystore.password": "ssl.keystore.password"})
    key = connection.get("ssl.key.pem") or _text(connection.get("ssl.key.location"))
    chain = connection.get("ssl.certificate.pem") or _text(connection.get("ssl.certificate.location"))
    if not key or not chain:
        return {}
    _require_pkcs8(key)
    return {"ssl.keystore.type": "PEM", "ssl.keystore.key": key, "ssl.keystore.certificate.chain": chain}


def _text(path: str | None) -> str:
    return Path(path).read_text(encoding="ascii", errors="ignore") if path else ""


def _require_pkcs8(key: str) -> None:
    """Check that Java can read a private key: it has the form that begins with `BEGIN PRIVATE KEY`."""
    if not any(f"-----BEGIN {kind}-----" in key for kind in ("PRIVATE KEY", "ENCRYPTED PRIVATE KEY")):
        raise InvalidValue(
            "ssl.key.location",
            "a key in PKCS#8 (`openssl pkcs8 -topk8 -nocrypt -in client.key -out client.pk8` converts it), because the "
            "Java client reads no other",
            "",
            secret=True,
        )


def _checks(connection: Mapping[str, str]) -> dict[str, str]:
    if connection.get("enable.ssl.certificate.verification", "true") != "true":
        raise InvalidValue(
            "enable.ssl.certificate.verification", "true, because the Java client always verifies", "false"
        )
    checks = _renamed(connection, {"ssl.cipher.suites": "ssl.cipher.suites"})
    if connection.get("ssl.endpoint.identification.algorithm") == "none":
        checks["ssl.endpoint.identification.algorithm"] = ""  # Java switches the check off with an empty value
    return checks


def _login(connection: Mapping[str, str], version: str) -> dict[str, str]:
    mechanism = connection.get("sasl.mechanism", "GSSAPI").upper()
    if mechanism == "PLAIN" or mechanism.startswith("SCRAM-"):
        module = "plain.PlainLoginModule" if mechanism == "PLAIN" else "scram.ScramLoginModule"
        options = _renamed(connection, {"sasl.username": "username", "sasl.password": "password"})
        return {"sasl.mechanism": mechanism, "sasl.jaas.config": jaas(f"{_MODULES}.{module}", options)}
    if mechanism == "OAUTHBEARER":
        return {"sasl.mechanism": mechanism, **_oauth(connection, version)}
    if mechanism == "GSSAPI":
        return {"sasl.mechanism": mechanism, "sasl.jaas.config": _kerberos(connection)}
    raise InvalidValue("sasl.mechanism", "PLAIN, SCRAM-*, OAUTHBEARER or GSSAPI for the Java client", mechanism)


def _oauth(connection: Mapping[str, str], version: str) -> dict[str, str]:
    if connection.get("sasl.oauthbearer.method", "default") != "oidc":
        raise InvalidValue(
            "sasl.oauthbearer.method", "oidc for the Java client", connection.get("sasl.oauthbearer.method", "default")
        )
    if connection.get("sasl.oauthbearer.grant.type", "client_credentials") != "client_credentials":
        raise InvalidValue(
            "sasl.oauthbearer.grant.type",
            "client_credentials for the Java client",
            connection["sasl.oauthbearer.grant.type"],
        )
    options = _renamed(
        connection,
        {
            "sasl.oauthbearer.client.credentials.client.id": "clientId",
            "sasl.oauthbearer.client.id": "clientId",
            "sasl.oauthbearer.client.credentials.client.secret": "clientSecret",
            "sasl.oauthbearer.client.secret": "clientSecret",
            "sasl.oauthbearer.scope": "scope",
        },
    )
    for pair in connection.get("sasl.oauthbearer.extensions", "").split(","):
        name, _, value = pair.strip().partition("=")
        if name:
            options[f"extension_{name}"] = value
    package = f"{_MODULES}.oauthbearer"
    # Kafka 3.4 moved this class out of the package `secured`.
    handlers = package if major_and_minor(version) >= (3, 4) else f"{package}.secured"
    return {
        "sasl.jaas.config": jaas(f"{package}.OAuthBearerLoginModule", options),
        "sasl.login.callback.handler.class": f"{handlers}.OAuthBearerLoginCallbackHandler",
        **_renamed(
            connection,
            {
                "sasl.oauthbearer.token.endpoint.url": "sasl.oauthbearer.token.endpoint.url",
                "sasl.oauthbearer.sub.claim.name": "sasl.oauthbearer.sub.claim.name",
            },
        ),
    }


def _kerberos(connection: Mapping[str, str]) -> str:
    options = {"storeKey": "true", "useTicketCache": "false", "useKeyTab": "true"}
    options |= _renamed(connection, {"sasl.kerberos.keytab": "keyTab", "sasl.kerberos.principal": "principal"})
    if "keyTab" not in options:
        options = {"useTicketCache": "true", **_renamed(connection, {"sasl.kerberos.principal": "principal"})}
    return jaas("com.sun.security.auth.module.Krb5LoginModule", options)


def _renamed(connection: Mapping[str, str], names: Mapping[str, str]) -> dict[str, str]:
    """Return properties under other names, by their names in the connection; of two for one name, the later counts."""
    return {java: connection[name] for name, java in names.items() if name in connection}
