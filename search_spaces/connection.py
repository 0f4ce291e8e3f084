"""Connection properties: how to reach a cluster and how to log in. They are neither measured nor recorded.

A file written for Kafka's Java clients works too: its logins and PEM files are translated to librdkafka's properties.
Java key stores cannot be read here. The error for a Java key store names the commands that convert it.

Source: "TLS" and "SASL" in the documentation of Apache Kafka 4.3; `DefaultSslEngineFactory` of kafka-clients 4.3.1 for
the contents of a store of type PEM; `JaasConfig` of kafka-clients 4.3.1, which reads `Module flag name=value ...;` with
Java's `StreamTokenizer`: single and double quotes, C's escapes within them, `//` and `/* */` comments.
"""

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Self

from search_spaces.catalogue import Value, canonical_values
from search_spaces.client import librdkafka
from search_spaces.errors import ConflictingSpellings, InvalidValue, UnknownProperty
from search_spaces.roles import Role, is_secret

_TOKEN: Final = re.compile(
    r"""\s+ | //[^\n]* | /\*.*?\*/
    | "(?P<double>(?:[^"\\\n]|\\.)*)" | '(?P<single>(?:[^'\\\n]|\\.)*)'
    | (?P<sign>[=;]) | (?P<word>[^\s=;"'/]+)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE: Final = re.compile(r"\\([0-3][0-7]{0,2}|[0-7]{1,2}|.)", re.DOTALL)
_LETTERS: Final = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_FLAGS: Final = frozenset({"required", "requisite", "sufficient", "optional"})
_JAAS: Final = "sasl.jaas.config"
_LOGINS: Final = {"PlainLoginModule": ("PLAIN",), "ScramLoginModule": ("SCRAM-SHA-256", "SCRAM-SHA-512")}
_OTHER_LOGINS: Final = {
    "OAuthBearerLoginModule": "use sasl.oauthbearer.method=oidc with sasl.oauthbearer.client.id, .client.secret and "
    ".token.endpoint.url",
    "Krb5LoginModule": "use sasl.kerberos.principal and sasl.kerberos.keytab",
}
_PEM_BLOCK: Final = re.compile(r"-----BEGIN (?P<kind>[A-Z0-9 ]+)-----(?P<body>[^-]*)-----END (?P=kind)-----")
_PEM_LINE: Final = 64

_IDENTIFICATION: Final = "ssl.endpoint.identification.algorithm"
_JAVA_STORES: Final = (".jks", ".keystore")

_Translated = tuple[str, str, str]
"""A property's name in the Java client, its name in librdkafka, and its value in librdkafka."""


@dataclass(frozen=True, slots=True, repr=False)
class Login:
    """One entry of a JAAS configuration; its options hold secrets.

    Attributes:
        module: Class name of the login module, without its package.
        options: The entry's options by name, as the user wrote them.
    """

    module: str
    options: dict[str, str]

    def __repr__(self) -> str:
        return f"Login({self.module})"


def parse_jaas(text: str) -> Login | None:
    """Return the login in a value of `sasl.jaas.config`; None if the value is not one entry in Java's syntax."""
    tokens = _tokens(text)
    if tokens is None or len(tokens) < 3 or tokens[-1] != (";", True):
        return None
    (module, _), (flag, _), *rest = tokens[:-1]
    if flag.lower() not in _FLAGS or len(rest) % 3:
        return None
    options: dict[str, str] = {}
    for (name, name_is_sign), equals, (value, value_is_sign) in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        if name_is_sign or equals != ("=", True) or value_is_sign:
            return None
        options[name] = value
    return Login(module.rpartition(".")[2], options)


def _tokens(text: str) -> list[tuple[str, bool]] | None:
    """Return pairs of a token and whether it is a sign (`=` or `;`); None if the text is not valid JAAS syntax."""
    tokens: list[tuple[str, bool]] = []
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return None
        position = match.end()
        if match["sign"]:
            tokens.append((match["sign"], True))
        elif match["word"]:
            tokens.append((match["word"], False))
        elif (quoted := match["double"] if match["double"] is not None else match["single"]) is not None:
            tokens.append((_ESCAPE.sub(_unescaped, quoted), False))
    return tokens


def _unescaped(escape: re.Match[str]) -> str:
    inside = escape[1]
    return chr(int(inside, 8)) if inside.isdecimal() and inside[0] in "01234567" else _LETTERS.get(inside, inside)


def from_java(mapping: Mapping[str, Value]) -> dict[str, Value]:
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
    yield _JAAS, "sasl.username", login.options["username"]
    yield _JAAS, "sasl.password", login.options["password"]


def _check_login(login: Login, mechanism: str) -> None:
    if login.module not in _LOGINS:
        advice = _OTHER_LOGINS.get(login.module, "use the sasl.* properties of librdkafka")
        # Any other word may be a password in the wrong place.
        given = f"instead of {login.module}, {advice}" if login.module in _OTHER_LOGINS else f"otherwise, {advice}"
        raise _refused(_JAAS, f"only PlainLoginModule or ScramLoginModule as the login; {given}")
    mechanisms = _LOGINS[login.module]
    if mechanism.upper() not in mechanisms:
        given = f"sasl.mechanism={mechanism}" if mechanism else "no sasl.mechanism (Java's default is GSSAPI)"
        raise _refused(
            _JAAS, f"{login.module} only with sasl.mechanism={' or '.join(mechanisms)}, but there is {given}"
        )
    if login.options.get("tokenauth", "").lower() == "true":
        raise _refused(_JAAS, "a user and a password; librdkafka does not support delegation tokens (tokenauth=true)")
    for option in ("username", "password"):
        if option not in login.options:
            raise _refused(_JAAS, f"a login with the options username and password, but {option} is missing")


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


def _pem(text: str) -> str:
    """Return the PEM text with the line breaks that OpenSSL needs; Java also accepts PEM on a single line."""
    blocks = []
    for block in _PEM_BLOCK.finditer(text):
        body = textwrap.wrap("".join(block["body"].split()), _PEM_LINE)
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
        values = canonical_values(librdkafka().catalogue, from_java(mapping), Role.CONNECTION)
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
