"""Reads connection files, also the key stores and trust stores of files that were written for Java.

librdkafka can't read such stores. Both clients then get the certificates and the key as PEM text, which stays in
memory.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runners.errors import TargetRefused
from runners.java_client.compiled import CompiledProgram
from runners.java_client.jvm import Jvm, Message
from search_spaces.client import java
from search_spaces.connection.connection_config import ConnectionConfig
from search_spaces.errors import InvalidValue
from search_spaces.files.properties_file import read_properties
from search_spaces.files.variables import names_in
from search_spaces.properties.catalogue import Value, is_secret

_HEAP_BYTES: Final = 64 << 20
_PATIENCE_S: Final = 60.0
_TRUST: Final = "ssl.truststore"
_KEY: Final = "ssl.keystore"
_JAVA_ENDINGS: Final = (".jks", ".jceks", ".keystore")
_PEM: Final = "PEM"


def read_connection(path: Path, environ: Mapping[str, str]) -> dict[str, str]:
    """Read the connection properties of a file. They get librdkafka's names, and `bootstrap.servers` is left out.

    Args:
        path: The properties file, for either client.
        environ: Environment variables for `${NAME}` in the values.

    Raises:
        ConfigError: The file can't be read, a variable is not set, or a property is wrong. No message shows the value
            of a secret or of a variable.
        RunnerError: A store of Java can't be read; see `with_java_stores_read`.
    """
    entries, written = read_properties(path, environ), read_properties(path)
    try:
        values = ConnectionConfig.parse(with_java_stores_read(entries)).values
    except InvalidValue as error:
        if entries == written or is_secret(error.name):
            raise
        shown = written.get(error.name)
        raise InvalidValue(error.name, error.rule, shown, secret=shown is None) from None
    values.pop("bootstrap.servers", None)
    return values


def secret_variables(path: Path) -> tuple[str, ...]:
    """Return the names of the environment variables from which a connection file takes secrets, such as passwords.

    Raises:
        PropertiesFileError: The file can't be read.
    """
    return tuple(name for key, text in read_properties(path).items() if is_secret(key) for name in names_in(text))


def with_java_stores_read(properties: Mapping[str, Value]) -> dict[str, Value]:
    """Return the properties of a connection file, with Java's stores replaced by their content as PEM text.

    A store of type PEM is left as it is, and so is a key store of type PKCS12, which librdkafka reads itself. A Java
    process is started only if there is a store to read.

    Args:
        properties: The properties of the file, for either client. Relative paths start at this process's working
            folder.

    Raises:
        TargetRefused: A store can't be read. The message says why and shows no password.
        JavaNotFound: There is no usable Java runtime.
        JarsUnavailable: The jars of the Java client could not be fetched.
        GeneratorError: The Java process that reads the stores did not start or answer.
    """
    converted = dict(properties)
    wanted = [prefix for prefix in (_TRUST, _KEY) if _is_java_store(converted, prefix)]
    if not wanted:
        return converted
    with Jvm(CompiledProgram.prepare(java().version), _HEAP_BYTES) as jvm:
        for prefix in wanted:
            content = _read(jvm, converted, prefix)
            for name in ("location", "password"):
                converted.pop(f"{prefix}.{name}", None)
            converted[f"{prefix}.type"] = _PEM
            if prefix == _TRUST:
                converted[f"{_TRUST}.certificates"] = content["trusted"]
            else:
                converted.pop("ssl.key.password", None)  # the key as PEM text is not encrypted
                converted[f"{_KEY}.key"], converted[f"{_KEY}.certificate.chain"] = content["key"], content["chain"]
    return converted


def _is_java_store(properties: Mapping[str, Value], prefix: str) -> bool:
    location, kind = properties.get(f"{prefix}.location"), str(properties.get(f"{prefix}.type", "")).upper()
    if location is None or kind == _PEM:
        return False
    if prefix == _TRUST:
        return True  # librdkafka has no such property, so the file was written for Java
    return kind not in ("", "PKCS12") or (not kind and str(location).lower().endswith(_JAVA_ENDINGS))


def _read(jvm: Jvm, properties: Mapping[str, Value], prefix: str) -> Message:
    path = Path(str(properties[f"{prefix}.location"])).absolute()
    password, key_password = properties.get(f"{prefix}.password"), properties.get("ssl.key.password")
    jvm.send(
        {
            "do": "read store",
            "path": str(path),
            "type": str(properties.get(f"{prefix}.type", "JKS")).upper(),
            "password": None if password is None else str(password),
            "key_password": None if key_password is None else str(key_password),
        }
    )
    message = jvm.answer(_PATIENCE_S)
    if message["is"] == "refused":
        raise TargetRefused(
            f"{prefix}.location must name a store that opens with its type and password, but for {path} Java reports: "
            f"{message['because']}"
        )
    if prefix == _KEY and "key" not in message:
        raise TargetRefused(f"{prefix}.location must name a store with a private key, but {path} holds none")
    return message
