"""Addresses of PostgreSQL databases.

We parse the addresses ourselves, because the error messages of a library might show a part of a password.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from tuner.model.errors import StorageMisnamed
from tuner.model.secrets_in_urls import SECRET_PARAMETERS, URL, masked, masked_url

_FORM: Final = "postgresql://USER@HOST:PORT/DATABASE"
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_HOST: Final = re.compile(r"(?P<name>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")


@dataclass(frozen=True, slots=True, repr=False)
class PostgresUrl:
    """The address of a PostgreSQL database.

    Attributes:
        parameters: The connection parameters by libpq's names; they may contain a password.
        shown: The address as messages show it, without a password.
    """

    parameters: Mapping[str, str]
    shown: str

    def __repr__(self) -> str:
        return f"PostgresUrl({self.shown!r})"

    @classmethod
    def parse(cls, text: str) -> "PostgresUrl":
        """Return the address that a URL gives; libpq's defaults apply for a missing user, password, host or port.

        Raises:
            StorageMisnamed: The text is not the URL of a PostgreSQL database. If the text can't be parsed, the message
                shows only its scheme.
        """
        match = URL.fullmatch(text.strip())
        if match is None or match["scheme"].lower() not in _SCHEMES:
            scheme = re.match(r"[a-z][a-z0-9+.-]*(?=://)", text, re.IGNORECASE)
            what = f"it begins with {scheme[0]}://" if scheme else "it has no scheme"
            why = "; write @, / and : in a password as %40, %2F and %3A" if scheme and scheme[0] in _SCHEMES else ""
            raise StorageMisnamed(
                f"a storage must be {_FORM}, but the given address does not have this form: {what}{why}"
            )
        shown = masked_url(text.strip())
        if not match["database"]:
            raise StorageMisnamed(f"a storage must name its database ({_FORM}), but {shown} does not")
        query = dict(parse_qsl(match["query"] or "", keep_blank_values=True))
        hosts, ports = _hosts(match["hosts"])
        parameters = {
            "host": hosts,
            "port": ports,
            "user": unquote(match["user"] or ""),
            "password": unquote(match["password"] or ""),
            "dbname": unquote(match["database"]),
        }
        return cls({**{name: value for name, value in parameters.items() if value}, **query}, shown)

    def masked(self, text: str) -> str:
        """Return a text in which every secret of this address is replaced by `***`."""
        return masked(text, (value for name, value in self.parameters.items() if name in SECRET_PARAMETERS))


def _hosts(text: str) -> tuple[str, str]:
    """Return the hosts and the ports of an address in libpq's form, as two comma-separated lists."""
    names, ports = [], []
    for host in text.split(","):
        match = _HOST.fullmatch(host)
        if match is None:
            # The text is not shown, because it contains the password if the @ is missing.
            raise StorageMisnamed(
                f"a storage must be {_FORM}, but the text in place of HOST:PORT can't be read as hosts and ports"
            )
        names.append(unquote(match["name"].strip("[]")))
        ports.append(match["port"] or "")
    return ",".join(names).strip(","), ",".join(ports) if any(ports) else ""
