"""Addresses of databases: taken apart by us, so that no library's message shows a piece of a password."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote

from tuner.model.errors import StorageMisnamed

MASK: Final = "***"
_FORM: Final = "postgresql://USER@HOST:PORT/DATABASE"
_URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@]*))?@)?(?P<hosts>[^@/?#]*)"
    r"(?:/(?P<database>[^/?#@]*))?(?:\?(?P<query>[^#]*))?",
    re.IGNORECASE,
)
_SCHEMES: Final = ("postgresql", "postgres", "postgresql+psycopg")
_SECRET: Final = ("password", "sslpassword", "pwd", "secret", "token")
_SECRET_PAIR: Final = re.compile(rf"([?&](?:{'|'.join(_SECRET)})=)([^&#]+)", re.IGNORECASE)
_HOST: Final = re.compile(r"(?P<name>\[[^\]]*\]|[^:\[\]]*)(?::(?P<port>[0-9]*))?")


@dataclass(frozen=True, slots=True, repr=False)
class StorageUrl:
    """A PostgreSQL database.

    Attributes:
        parameters: By libpq's names; may hold a password.
        shown: For people, without a password.
    """

    parameters: Mapping[str, str]
    shown: str

    def __repr__(self) -> str:
        return f"StorageUrl({self.shown!r})"

    @classmethod
    def parse(cls, text: str) -> "StorageUrl":
        """Read a URL; without user, password, host or port libpq's own defaults and files hold.

        Raises:
            StorageMisnamed: It is none. The message shows no more than its scheme where it can't be taken apart.
        """
        found = _URL.fullmatch(text.strip())
        if found is None or found["scheme"].lower() not in _SCHEMES:
            scheme = re.match(r"[a-z][a-z0-9+.-]*(?=://)", text, re.IGNORECASE)
            what = f"it begins with {scheme[0]}://" if scheme else "it has no scheme"
            why = "; a password's @, / and : are written %40, %2F and %3A" if scheme and scheme[0] in _SCHEMES else ""
            raise StorageMisnamed(f"a storage must be {_FORM}, but {what} and can't be read as that{why}")
        shown = masked_url(text.strip())
        if not found["database"]:
            raise StorageMisnamed(f"a storage must name its database ({_FORM}), but {shown} does not")
        query = dict(parse_qsl(found["query"] or "", keep_blank_values=True))
        hosts, ports = _hosts(found["hosts"])
        given = {
            "host": hosts,
            "port": ports,
            "user": unquote(found["user"] or ""),
            "password": unquote(found["password"] or ""),
            "dbname": unquote(found["database"]),
        }
        return cls({**{name: value for name, value in given.items() if value}, **query}, shown)

    def masked(self, text: str) -> str:
        """A text in which no secret of this address can be read."""
        for name, value in self.parameters.items():
            if name in _SECRET and value:
                text = text.replace(value, MASK)
        return text


def _hosts(text: str) -> tuple[str, str]:
    """Hosts and ports as libpq takes them, each a list with commas."""
    names, ports = [], []
    for each in text.split(","):
        found = _HOST.fullmatch(each)
        if found is None:
            # Not shown: where the @ is missing, what stands there is a password.
            raise StorageMisnamed(f"a storage must be {_FORM}, but what stands for HOST:PORT can't be read as that")
        names.append(unquote(found["name"].strip("[]")))
        ports.append(found["port"] or "")
    return ",".join(names).strip(","), ",".join(ports) if any(ports) else ""


def secrets_in(url: str) -> tuple[str, ...]:
    """The secrets of any URL, as they stand in it and as they are meant: its password, and such values in its query."""
    found = _URL.match(url)
    if found is None:
        return ()
    secrets = [found["password"] or "", *(value for _, value in _SECRET_PAIR.findall(url))]
    return tuple(dict.fromkeys(each for secret in secrets if secret for each in (secret, unquote(secret))))


def masked_url(url: str) -> str:
    """The URL for people: the same, and no secret in it."""
    found = _URL.match(url)
    if found is None:
        return url
    start, end = found.span("password")
    shown = url if start < 0 else url[:start] + MASK + url[end:]
    return _SECRET_PAIR.sub(rf"\1{MASK}", shown)
