"""Finds passwords and other secrets in URLs, and masks them in URLs and in error messages of libraries."""

import re
from collections.abc import Iterable
from typing import Final
from urllib.parse import unquote

MASK: Final = "***"
URL: Final = re.compile(
    r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?:(?P<user>[^:@/?#]*)(?::(?P<password>[^@]*))?@)?(?P<hosts>[^@/?#]*)"
    r"(?:/(?P<database>[^/?#@]*))?(?:\?(?P<query>[^#]*))?",
    re.IGNORECASE,
)
_PASSWORD: Final = re.compile(
    r"[a-z][a-z0-9+.-]*(?:://|:/|//)(?:[^:/?#]*:(?P<password>[^/?#]*)@|[^:@/?#]*:(?P<unescaped>[^@]*)@)", re.IGNORECASE
)
"""The beginning of a URL up to the end of its password. One character of `://` may be missing, as in a mistyped URL.

Programs take the last @ before the path as the end of a password, so a password may contain an @. If there is no @
before the path, the password may have a /, ? or # that should be escaped, and ends at the next @.
"""
SECRET_PARAMETERS: Final = ("password", "sslpassword", "pwd", "secret", "token")
"""The query parameters of a URL whose values are secret."""
_SECRET_PAIR: Final = re.compile(rf"([?&](?:{'|'.join(SECRET_PARAMETERS)})=)([^&#]+)", re.IGNORECASE)


def secrets_in(url: str) -> tuple[str, ...]:
    """Return the secrets in a URL: its password and secret query values.

    A secret with % escapes is returned twice: as it is written, and decoded.
    """
    start, end = _place_of_password(url)
    secrets = [url[start:end], *(value for _, value in _SECRET_PAIR.findall(url))]
    return tuple(dict.fromkeys(each for secret in secrets if secret for each in (secret, unquote(secret))))


def masked(text: str, secrets: Iterable[str]) -> str:
    """Return a text, such as that of a library's error, with `***` in place of each secret.

    If a text is also shortened, mask it first, because a part of a secret would not be recognised.
    """
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, MASK)
    return text


def masked_url(url: str) -> str:
    """Return the URL with `***` in place of its password and of each query parameter that is a secret."""
    start, end = _place_of_password(url)
    shown = url[:start] + MASK + url[end:] if end else url
    return _SECRET_PAIR.sub(rf"\1{MASK}", shown)


def _place_of_password(url: str) -> tuple[int, int]:
    """Return where the password of a URL begins and ends; (0, 0) if it has none."""
    match = _PASSWORD.match(url)
    return (0, 0) if match is None else match.span(match.lastgroup or "password")
