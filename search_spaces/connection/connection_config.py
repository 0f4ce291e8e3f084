"""Connection properties: how to reach a cluster and how to log in. They are neither measured nor recorded.

A file written for Kafka's Java clients works too: its logins and PEM files are translated to librdkafka's properties.
This module can't read Java key stores: `runners.java_client.key_stores` converts them first. For a key store that was
not converted, the error names the commands that convert it.

Source: "TLS" and "SASL" in the documentation of Apache Kafka 4.3; `DefaultSslEngineFactory` of kafka-clients 4.3.1 for
the contents of a store of type PEM; its `OAuthBearerLoginCallbackHandler` for the options of that login.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from search_spaces.client import librdkafka
from search_spaces.connection.jaas import Login, parse_jaas
from search_spaces.errors import ConflictingSpellings, InvalidValue, UnknownProperty
from search_spaces.properties.catalogue import Role, Value, is_secret
from search_spaces.properties.values import canonical_values

_JAAS: Final = "sasl.jaas.config"
_KERBEROS: Final = "Krb5LoginModule"
_OAUTH: Final = "OAuthBearerLoginModule"
_LOGINS: Final = {
    "PlainLoginModule": ("PLAIN",),
    "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512"),
    _KERBEROS: ("GSSAPI",),
    _OAUTH: ("OAUTHBEARER",),
}
_PASSWORD_OPTIONS: Final = {"username": "sasl.username", "password": "sasl.password"}
_OPTIONS: Final = {
    _KERBEROS: {"keyTab": "sasl.kerberos.keytab", "principal": "sasl.kerberos.principal"},
    _OAUTH: {
        "clientId": "sasl.oauthbearer.client.id",
        "clientSecret": "sasl.oauthbearer.client.secret",
        "scope": "sasl.oauthbearer.scope",
    },
}
"""The options of a login that name or prove the user, each with librdkafka's property."""
_NEEDED: Final = {_KERBEROS: ("keyTab", "principal"), _OAUTH: ("clientId", "clientSecret")}
_HANDLER: Final = "sasl.login.callback.handler.class"
_OIDC_HANDLER: Final = ".OAuthBearerLoginCallbackHandler"
_EXTENSION: Final = "extension_"
_PEM_BLOCK: Final = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]+)-----(?P<body>[^-]*)-----END (?P=kind)-----")
_PEM_LINE_CHARACTERS: Final = 64

_IDENTIFICATION: Final = "ssl.endpoint.identification.algorithm"
_JAVA_STORES: Final = (".jks", ".keystore")

_Translated = tuple[str, str, str]
"""A property's name in the Java client, its name in librdkafka, and its value in librdkafka."""


def _librdkafka_names(mapping: Mapping[str, Value]) -> dict[str, Value]:
    """Return connection properties for librdkafka; properties of the Java client are translated.

    Args:
        mapping: Properties of librdkafka, of the Java client, or of both. Only properties of logins, key stores and
            trust stores are translated.

    Raises:
        InvalidValue: A login or a key store cannot be translated. The message says what to do and shows no secret.
        UnknownProperty: A trust store cannot be translated. The message says what to do.
        ConflictingSpellings: Properties of librdkafka and of the Java client set the same thing to different values.
    """
    properties = dict(mapping)
    for java, name, value in (*_login(properties), *_trust(properties), *_identity(properties)):
        if str(properties.get(name, value)) != value:
            raise ConflictingSpellings(name, (java, name), ("", ""), secret=True)
        properties[name] = value
    if properties.get(_IDENTIFICATION) == "":  # Java switches the check off with an empty value
        properties[_IDENTIFICATION] = "none"
    return properties


def _login(properties: dict[str, Value]) -> Iterator[_Translated]:
    if _JAAS not in properties:
        return
    login = parse_jaas(str(properties.pop(_JAAS)))
    if login is None:
        raise _refused(_JAAS, 'exactly one login, such as ScramLoginModule required username="..." password="...";')
    _check_login(login, str(properties.get("sasl.mechanism", properties.get("sasl.mechanisms", ""))))
    for option, name in _OPTIONS.get(login.module, _PASSWORD_OPTIONS).items():
        if option in login.options:
            yield _JAAS, name, login.options[option]
    if login.module == _OAUTH:
        yield _JAAS, "sasl.oauthbearer.method", "oidc"
        if str(properties.get(_HANDLER, "")).endswith(_OIDC_HANDLER):
            properties.pop(_HANDLER)
        extensions = [(name, value) for name, value in login.options.items() if name.startswith(_EXTENSION)]
        if extensions:
            pairs = ",".join(f"{name.removeprefix(_EXTENSION)}={value}" for name, value in extensions)
            yield _JAAS, "sasl.oauthbearer.extensions", pairs


def _check_login(login: Login, mechanism: str) -> None:
    if login.module not in _LOGINS:
        # The word may be a password in the wrong place, so it is not shown.
        raise _refused(_JAAS, f"only one of {', '.join(_LOGINS)} as the login; otherwise, use the sasl.* properties")
    mechanisms = _LOGINS[login.module]
    if (mechanism.upper() or "GSSAPI") not in mechanisms:
        given = f"sasl.mechanism={mechanism}" if mechanism else "no sasl.mechanism (Java's default is GSSAPI)"
        raise _refused(
            _JAAS, f"{login.module} only with sasl.mechanism={' or '.join(mechanisms)}, but there is {given}"
        )
    if login.options.get("tokenauth", "").lower() == "true":
        raise _refused(_JAAS, "a user and a password; librdkafka does not support delegation tokens (tokenauth=true)")
    needed = _NEEDED.get(login.module, tuple(_PASSWORD_OPTIONS))
    for option in needed:
        if option not in login.options:
            raise _refused(_JAAS, f"a login with the options {' and '.join(needed)}, but {option} is missing")


def _trust(properties: dict[str, Value]) -> Iterator[_Translated]:
    kind, location = _pop_text(properties, "ssl.truststore.type"), _pop_text(properties, "ssl.truststore.location")
    certificates = _pop_text(properties, "ssl.truststore.certificates")
    if kind is None and location is None and certificates is None:
        return
    _pop_text(properties, "ssl.truststore.password")  # a PEM file needs no password
    kind = (kind or "JKS").upper()
    if kind == "PEM" and certificates is not None:
        yield "ssl.truststore.certificates", "ssl.ca.pem", _pem(certificates)
    elif kind == "PEM" and location is not None:
        yield "ssl.truststore.location", "ssl.ca.location", location
    elif location is None:
        raise _unknown("ssl.truststore.type", "use ssl.ca.location, or set ssl.truststore.location to a PEM file")
    else:
        pkcs12 = f"openssl pkcs12 -in {location} -nokeys -out ca.pem"
        command = pkcs12 if kind == "PKCS12" else f"keytool -list -rfc -keystore {location} > ca.pem"
        raise _unknown(
            "ssl.truststore.location",
            f"librdkafka reads PEM files, not trust stores of type {kind}. Run `{command}`, then set "
            "ssl.ca.location=ca.pem in place of ssl.truststore.*",
        )


def _identity(properties: dict[str, Value]) -> Iterator[_Translated]:
    stated, location = _pop_text(properties, "ssl.keystore.type"), _pop_text(properties, "ssl.keystore.location")
    key, chain = _pop_text(properties, "ssl.keystore.key"), _pop_text(properties, "ssl.keystore.certificate.chain")
    kind = (stated or "").upper()
    if key is not None or chain is not None:
        if kind != "PEM" or key is None or chain is None:
            rule = "ssl.keystore.certificate.chain must be given together; one of them is missing"
            raise _unknown("ssl.keystore.key", f"ssl.keystore.type=PEM, ssl.keystore.key and {rule}")
        yield "ssl.keystore.key", "ssl.key.pem", _pem(key)
        yield "ssl.keystore.certificate.chain", "ssl.certificate.pem", _pem(chain)
    elif location is None:
        if stated is not None:
            raise _unknown(
                "ssl.keystore.type",
                "ssl.keystore.type needs Java's ssl.keystore.location, which is missing; set both",
            )
    elif kind == "PEM":
        yield "ssl.keystore.location", "ssl.key.location", location
        yield "ssl.keystore.location", "ssl.certificate.location", location
    elif kind == "PKCS12" or (not kind and not location.lower().endswith(_JAVA_STORES)):
        # Both clients have this property and read PKCS#12 files. Without a type, it may be written for librdkafka.
        yield "ssl.keystore.location", "ssl.keystore.location", location
    else:
        command = f"keytool -importkeystore -srckeystore {location} -destkeystore client.p12 -deststoretype PKCS12"
        rule = f"a PKCS#12 file (with ssl.keystore.type=PKCS12; `{command}` makes one)"
        raise InvalidValue("ssl.keystore.location", rule, location)


def _pop_text(properties: dict[str, Value], name: str) -> str | None:
    """Remove a property and return its value; None if it is not given."""
    value = properties.pop(name, None)
    return None if value is None else str(value).strip()


def _trimmed(name: str, value: str) -> str:
    """Return a value without the blanks around it. Java removes them too, and the file may be one for Java.

    To librdkafka, a blank at the end of a password is a part of it. A line break there is left over from how an
    environment variable was set.
    """
    if name.endswith(".pem"):
        return value
    return value.strip("\r\n") if is_secret(name) else value.strip()


def _pem(text: str) -> str:
    """Return the PEM text with the line breaks that OpenSSL needs; Java also accepts PEM on a single line."""
    blocks = []
    for block in _PEM_BLOCK.finditer(text):
        body = textwrap.wrap("".join(block["body"].split()), _PEM_LINE_CHARACTERS)
        blocks += [f"-----BEGIN {block['kind']}-----", *body, f"-----END {block['kind']}-----"]
    return "\n".join([*blocks, ""]) if blocks else text


def _refused(name: str, rule: str) -> InvalidValue:
    return InvalidValue(name, rule, "", secret=True)


def _unknown(name: str, hint: str) -> UnknownProperty:
    return UnknownProperty(name, "librdkafka", hint=hint)


@dataclass(frozen=True, slots=True, repr=False)
class ConnectionConfig:
    """The connection properties of a client, checked by name and value; its repr shows no secret.

    Whether the properties work together, such as a mechanism with its credentials, shows only when the client
    connects.

    Attributes:
        pairs: Canonical name and value of each given property, sorted by name. Holds secrets: pass it to a
            client, never to a log or the results store.
    """

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def parse(cls, mapping: Mapping[str, Value]) -> Self:
        """Check the properties of `mapping`, such as those of a `--command-config` file.

        Logins and stores written for Kafka's Java clients are translated to librdkafka's properties.

        Raises:
            UnknownProperty: The client has no property of this name. For a Java name, the message says what to use.
            InvalidValue: A property does not accept its value. The value of a secret is not shown.
            ConflictingSpellings: A property is given under two names with different values.
            MisplacedProperty: A property is a knob of the producer, or the load generator sets it.
        """
        trimmed = {name: _trimmed(name, value) if isinstance(value, str) else value for name, value in mapping.items()}
        values = canonical_values(librdkafka().catalogue, _librdkafka_names(trimmed), Role.CONNECTION)
        return cls(tuple(sorted(values.items())))

    @property
    def values(self) -> dict[str, str]:
        """The given properties by canonical name, secrets included; a new dict on every access."""
        return dict(self.pairs)

    @property
    def shown(self) -> dict[str, str]:
        """The given properties with secrets replaced by a placeholder, so that they can be logged."""
        return {name: "(not shown)" if is_secret(name) else value for name, value in self.pairs}

    def __repr__(self) -> str:
        return f"ConnectionConfig({self.shown})"
