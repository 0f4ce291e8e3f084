"""Certificates and keys of a connection: the files that its properties name, and why a broker's does not pass."""

import contextlib
import os
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from runners.errors import TargetRefused

_NAMING_FILES: Final = (
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.crl.location",
    "ssl.keystore.location",
    "sasl.kerberos.keytab",
)
_NO_FILE: Final = "probe"
"""As `ssl.ca.location`, it stands for whatever the system trusts."""
_TIMEOUT_S: Final = 3.0
_TRUST: Final = (
    "Set ssl.ca.location to a PEM file with the CA that signed it (several may stand in one file), or ssl.ca.pem to "
    "its text."
)
# Source: X509_V_ERR_* of OpenSSL 3, x509_vfy.h.
_ADVICE: Final = {
    9: "It is not valid yet: check the clock of this host, or have the broker's certificate mended.",
    10: "It has expired: have the broker's certificate renewed.",
    62: "It names other hosts: use an address that it names, or have this one added to its subject alternative names.",
    64: "It names other addresses: use one that it names, or have this one added to its subject alternative names.",
    18: f"It is signed by itself. {_TRUST}",
    19: f"Its CA is not trusted here. {_TRUST}",
    20: f"Its CA is not known here. {_TRUST}",
    21: f"Its CA is not known here. {_TRUST}",
}


def absolute_paths(connection: Mapping[str, str]) -> dict[str, str]:
    """The same properties with paths that hold in every folder: load processes may run in another one.

    Args:
        connection: Client properties, librdkafka's names; relative paths begin in the working folder, as Kafka's own
            tools have it.
    """
    return {
        name: str(Path(value).absolute()) if name in _NAMING_FILES and value not in ("", _NO_FILE) else value
        for name, value in connection.items()
    }


def require_files(connection: Mapping[str, str]) -> None:
    """See that the files are there and may be read: the client library's own words for it are OpenSSL's.

    Raises:
        TargetRefused: One is missing, or may not be read.
    """
    for name in _NAMING_FILES:
        place = connection.get(name, "")
        if place in ("", _NO_FILE):
            continue
        if not Path(place).exists():
            raise TargetRefused(f"{name} must name a file, but {place} is not there. Correct the path.")
        if not os.access(place, os.R_OK):
            raise TargetRefused(f"{name} must name a file that we may read, but {place} is not. Change its rights.")


def certificate_fault(host: str, port: int, connection: Mapping[str, str]) -> str | None:
    """Look at a broker's certificate as the client does, with the same trust; nothing is sent but the handshake.

    Args:
        host: Of the broker.
        port: Of its listener.
        connection: Client properties, librdkafka's names.

    Returns:
        What is wrong with it and what to do, as two sentences; None if nothing is found.
    """
    with contextlib.suppress(OSError, ValueError):
        context = _context(connection)
        try:
            with (
                socket.create_connection((host, port), timeout=_TIMEOUT_S) as plain,
                context.wrap_socket(plain, server_hostname=host),
            ):
                return None
        except ssl.SSLCertVerificationError as error:
            said = error.verify_message.rstrip(".")
            return f"{said}. {_ADVICE.get(error.verify_code, _TRUST)}"
    return None


def _context(connection: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    place, text = connection.get("ssl.ca.location", ""), connection.get("ssl.ca.pem")
    if text or place not in ("", "probe"):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # trusts nobody yet
    if text:
        context.load_verify_locations(cadata=text)
    elif place not in ("", "probe"):
        folder = Path(place).is_dir()
        context.load_verify_locations(None if folder else place, place if folder else None)
    context.check_hostname = connection.get("ssl.endpoint.identification.algorithm", "https") != "none"
    # OpenSSL's own rules, as the client library has them: Python 3.13 would also refuse what lacks some extensions.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context
