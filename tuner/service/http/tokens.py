"""The tokens with which clients use the service. Only their hashes are stored.

A token is 256 random bits, so one round of SHA-256 protects it as well as a slow hash would. Slow hashes protect
passwords that people choose, because those can be guessed; nobody guesses 256 random bits. A slow hash would only let
clients without a token keep the service busy.
Source: OWASP, Password Storage Cheat Sheet (passwords that users choose); RFC 6819, section 5.1.4.1.3 (hashed handles).
"""

import hashlib
import hmac
import json
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from runners.host_processes.folders import write_atomically
from tuner.service.errors import ServiceConfigError, TokenNameRefused, TokensBusy

SCHEMA_VERSION: Final = 1
PREFIX: Final = "kt_"
"""The prefix of every token. Secret scanners recognise a leaked token by it."""
_BYTES: Final = 32
_LONGEST: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}", re.ASCII)


class TokenRole(StrEnum):
    """The role of a token: what a client may do with the token."""

    READ = "read"
    """Read everything."""
    SUBMIT = "submit"
    """Read everything; submit, confirm, verify, fork, pause, resume, cancel and remove studies; ask for plans."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is stored.

    Attributes:
        name: The name of the token's owner. The access log and the studies submitted with the token show this name.
        role: What the token's owner may do.
        sha256: The SHA-256 of the token in hexadecimal digits.
        created_at: When the token was made: UTC, ISO 8601.
    """

    name: str
    role: TokenRole
    sha256: str
    created_at: str

    def allows(self, role: TokenRole) -> bool:
        """Return whether this token may do what `role` allows."""
        return role is TokenRole.READ or self.role is TokenRole.SUBMIT


class TokenFile:
    """The token file, which only its owner may read.

    The file is read again whenever it has changed. Use an instance in one thread only.

    Args:
        path: The path of the file.
        lock_s: How long to wait for another process that is changing the file, in seconds.
    """

    def __init__(self, path: Path, lock_s: float = 10.0) -> None:
        self.path = path
        self._lock_s = lock_s
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether the file exists. If it exists, every request needs a token."""
        return self.path.is_file()

    def tokens(self) -> tuple[Token, ...]:
        """Return all tokens that are in the file now.

        Raises:
            ServiceConfigError: The file can't be read. The caller must then refuse every request.
        """
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unreadable(error) from None
        stamp = (status.st_mtime_ns, status.st_size, status.st_ino)
        if stamp != self._seen:
            self._tokens = self._read()
            self._seen = stamp
        return self._tokens

    def find(self, presented: str) -> Token | None:
        """Return the stored token that a client presented, or None if there is no such token.

        The hash is compared with all stored hashes, each in constant time, so that a client can't learn anything about
        the tokens from the response time.

        Raises:
            ServiceConfigError: The file can't be read.
        """
        if len(presented) > _LONGEST:
            return None
        digest = _digest(presented)
        matching = [token for token in self.tokens() if hmac.compare_digest(token.sha256, digest)]
        return matching[0] if matching else None

    def add(self, name: str, role: TokenRole) -> str:
        """Make a new token and store its hash.

        Returns:
            The token. It can't be retrieved later, because only its hash is stored.

        Raises:
            TokenNameRefused: The name is taken or not allowed.
            ServiceConfigError: The file can't be read.
            TokensBusy: Another process is changing the tokens.
        """
        if not _NAME.fullmatch(name):
            raise TokenNameRefused(
                f"a token's name has letters, digits and - _ . @, begins with a letter or digit, and has at most 100 "
                f"characters, but got {name[:100]!r}"
            )
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changed() as tokens:
            if any(token.name == name for token in tokens):
                raise TokenNameRefused(
                    f"a token's name must be new, but {name} has a token already; to replace it, remove it first"
                )
            tokens.append(Token(name, role, _digest(secret), now))
        return secret

    def remove(self, name: str) -> None:
        """Remove a token. A running service refuses the token from the next request on.

        Raises:
            TokenNameRefused: No token has this name.
            ServiceConfigError: The file can't be read.
            TokensBusy: Another process is changing the tokens.
        """
        there = [token.name for token in self.tokens()]
        if name not in there:  # checked before locking, which would create the lock file and its folder
            raise TokenNameRefused(
                f"only an existing token can be removed, but got {name!r}; the tokens are: {', '.join(there) or 'none'}"
            )
        with self._changed() as tokens:
            tokens[:] = [token for token in tokens if token.name != name]

    @contextmanager
    def _changed(self) -> Iterator[list[Token]]:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = self.path.with_name(f".{self.path.name}.lock")
        try:
            with FileLock(lock, timeout=self._lock_s):
                tokens = list(self._read()) if self.exists else []
                yield tokens
                body = {"schema_version": SCHEMA_VERSION, "tokens": [asdict(token) for token in tokens]}
                # The new file is written with mode 0600 and then renamed, so nobody else can read it at any moment.
                write_atomically(self.path, json.dumps(body, indent=2) + "\n")
        except Timeout:
            raise TokensBusy(
                f"only one command at a time may change the tokens, but after {self._lock_s:g} s another command still "
                f"holds the lock {lock}; wait for that command to end, or stop it"
            ) from None

    def _read(self) -> tuple[Token, ...]:
        try:
            content: Any = json.loads(self.path.read_text(encoding="utf-8"))
            if content["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"a newer release wrote the file (schema_version {content['schema_version']!r})")
            return tuple(
                Token(str(each["name"]), TokenRole(each["role"]), str(each["sha256"]), str(each["created_at"]))
                for each in content["tokens"]
            )
        except OSError as error:
            raise self._unreadable(error) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ServiceConfigError(
                f"the token file must be as `tuner serve token add` writes it, but {self.path} is not: {error!r}"
            ) from None

    def _unreadable(self, error: OSError) -> ServiceConfigError:
        return ServiceConfigError(f"the token file {self.path} can't be read: {error.strerror}")


def is_private(path: Path) -> bool:
    """Return whether only its owner may read the file."""
    return not path.stat().st_mode & 0o077 or os.name == "nt"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
