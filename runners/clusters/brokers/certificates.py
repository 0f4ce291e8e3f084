"""Checks the certificate and key files that client properties name, and explains why a TLS connection fails."""

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
"""A value of `ssl.ca.location` that is not a path. It makes librdkafka use the CA certificates of the system."""
_TIMEOUT_S: Final = 3.0
_TRUST: Final = (
    "set ssl.ca.location to a PEM file with the CA certificate that signed the broker's certificate (the file may hold "
    "several), or set ssl.ca.pem to the text of that file"
)
# Source: X509_V_ERR_* of OpenSSL 3, x509_vfy.h.
_ADVICE: Final = {
    9: "check the clock of this host, or have the broker's certificate replaced",
    10: "have the broker's certificate renewed",
    62: "connect to a name that the certificate contains, or have this name added to its subject alternative names",
    64: "connect to an address in the certificate, or have this address added to its subject alternative names",
    18: _TRUST,
    19: f"the certificate's CA is not trusted on this host; {_TRUST}",
    20: f"the certificate's CA is not known on this host; {_TRUST}",
    21: f"the certificate's CA is not known on this host; {_TRUST}",
}


def absolute_paths(connection: Mapping[str, str]) -> dict[str, str]:
    """Return the client properties with every path of a certificate or key file made absolute.

    The processes that send the records may run in another working folder, where a relative path would name another
    file.

    Args:
        connection: Client properties under librdkafka's names. Relative paths start at this process's working folder,
            as in Kafka's own tools.
    """
    return {
        name: str(Path(value).absolute()) if name in _NAMING_FILES and value not in ("", _NO_FILE) else value
        for name, value in connection.items()
    }


def require_files(connection: Mapping[str, str]) -> None:
    """Check that every certificate or key file that the client properties name exists and can be read.

    librdkafka would report a missing file with an OpenSSL message that is hard to understand.

    Raises:
        TargetRefused: A file is missing, or this user may not read it.
    """
    for name in _NAMING_FILES:
        path = connection.get(name, "")
        if path in ("", _NO_FILE):
            continue
        if not Path(path).exists():
            raise TargetRefused(f"{name} must name a file, but {path} does not exist; correct the path")
        if not os.access(path, os.R_OK):
            raise TargetRefused(
                f"{name} must name a readable file, but this user may not read {path}; change its permissions"
            )


def certificate_fault(host: str, port: int, connection: Mapping[str, str]) -> str | None:
    """Return why the client rejects a broker's certificate, and what the user can do about it.

    The check makes only a TLS handshake, with the CAs that the client trusts, and sends nothing else.

    Args:
        host: Host of the broker.
        port: Port of its listener.
        connection: Client properties under librdkafka's names.

    Returns:
        The reason and the advice. None if the certificate is accepted, or if the check could not be made.
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
            reason = error.verify_message.rstrip(".")
            return f"{reason}; {_ADVICE.get(error.verify_code, _TRUST)}"
    return None


def _context(connection: Mapping[str, str]) -> ssl.SSLContext:
    context = ssl.create_default_context()
    ca_path, text = connection.get("ssl.ca.location", ""), connection.get("ssl.ca.pem")
    if text or ca_path not in ("", _NO_FILE):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # has no trusted CA yet
    if text:
        context.load_verify_locations(cadata=text)
    elif ca_path not in ("", _NO_FILE):
        folder = Path(ca_path).is_dir()
        context.load_verify_locations(None if folder else ca_path, ca_path if folder else None)
    context.check_hostname = connection.get("ssl.endpoint.identification.algorithm", "https") != "none"
    # Python 3.13 would also reject certificates without certain extensions. librdkafka accepts them, and so do we.
    context.verify_flags &= ~getattr(ssl, "VERIFY_X509_STRICT", 0)
    return context
