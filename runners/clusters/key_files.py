"""Files that the properties of a connection name: certificates, keys, keytabs."""

import os
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
