"""Who may use the service: tokens by name, kept as hashes.

A token is 256 random bits, so one round of SHA-256 keeps it as well as any slow hash would: slow hashes make it dear to
guess what people choose, and nobody guesses 256 bits. A slow one would only let strangers make the service work.
Source: OWASP, Password Storage Cheat Sheet, is about what users choose; RFC 6819, section 5.1.4.1.3, hashes handles.
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

from runners.places import write_atomically
from tuner.service.errors import ServiceConfigError, TokensBusy

SCHEMA_VERSION: Final = 1
PREFIX: Final = "kt_"
"""What every token begins with, so that scanners for secrets know one when they see it."""
_BYTES: Final = 32
_LONGEST: Final = 200
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}", re.ASCII)


class Role(StrEnum):
    """What a token is good for."""

    READ = "read"
    SUBMIT = "submit"
    """Reading, and submitting, pausing, resuming and cancelling studies."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token as it is kept.

    Attributes:
        name: Whose it is; written with each study that was submitted with it, and in the access log.
        role: What it is good for.
        sha256: Of the token, in hexadecimal digits.
        created_at: UTC, ISO 8601.
    """

    name: str
    role: Role
    sha256: str
    created_at: str

    def allows(self, role: Role) -> bool:
        """Whether it is good for what that role may do."""
        return role is Role.READ or self.role is Role.SUBMIT


class TokenFile:
    """The tokens in a file that its owner alone may read. Read anew when it has changed. For one thread.

    Args:
        path: The file.
        lock_s: Seconds to wait for another process that changes it.
    """

    def __init__(self, path: Path, lock_s: float = 10.0) -> None:
        self.path = path
        self._lock_s = lock_s
        self._seen: tuple[int, int, int] | None = None
        self._tokens: tuple[Token, ...] = ()

    @property
    def exists(self) -> bool:
        """Whether there is a file; where there is, every request needs a token."""
        return self.path.is_file()

    def tokens(self) -> tuple[Token, ...]:
        """All of them, as the file is now.

        Raises:
            ServiceConfigError: The file can't be read; who asks must let nobody in.
        """
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return ()
        except OSError as error:
            raise self._unreadable(error) from None
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._seen:
            self._tokens = self._read()
            self._seen = stamp
        return self._tokens

    def who(self, presented: str) -> Token | None:
        """The token that somebody presents; None if it is none of ours.

        Takes as long whichever it is, and whether it is one: its hash is compared with each, to the end.
        """
        if len(presented) > _LONGEST:
            return None
        digest = _digest(presented)
        found = [token for token in self.tokens() if hmac.compare_digest(token.sha256, digest)]
        return found[0] if found else None

    def add(self, name: str, role: Role) -> str:
        """Make a token.

        Returns:
            The token itself: it can't be told again.

        Raises:
            ServiceConfigError: The name is taken or no name, or the file can't be read.
            TokensBusy: Another process changes the tokens.
        """
        if not _NAME.fullmatch(name):
            raise ServiceConfigError(
                f"a token's name has letters, digits and - _ . @, begins with a letter or digit, and has at most 100 "
                f"characters, but got {name[:100]!r}"
            )
        secret = PREFIX + secrets.token_urlsafe(_BYTES)
        now = datetime.now(UTC).isoformat(timespec="seconds")
        with self._changed() as tokens:
            if any(token.name == name for token in tokens):
                raise ServiceConfigError(
                    f"a name stands for one token, but there is one of {name}; to replace it, remove it first"
                )
            tokens.append(Token(name, role, _digest(secret), now))
        return secret

    def remove(self, name: str) -> None:
        """Make a token good for nothing; a running service heeds it with the next request.

        Raises:
            ServiceConfigError: There is none of that name.
            TokensBusy: Another process changes the tokens.
        """
        there = [token.name for token in self.tokens()]
        if name not in there:  # said before the file is locked: nothing is made for the sake of saying so
            raise ServiceConfigError(
                f"there must be a token of that name, but got {name!r}; there are: {', '.join(there) or 'none'}"
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
                # Written beside it with mode 0600 and put in its place: nobody else ever could read it.
                write_atomically(self.path, json.dumps(body, indent=2) + "\n")
        except Timeout:
            raise TokensBusy(
                f"one command at a time changes the tokens, and waits for another at most {self._lock_s:g} s, but one "
                f"still holds {lock}; wait for it to end, or end it"
            ) from None

    def _read(self) -> tuple[Token, ...]:
        try:
            found: Any = json.loads(self.path.read_text(encoding="utf-8"))
            if found["schema_version"] != SCHEMA_VERSION:
                raise ValueError(f"schema_version {found['schema_version']!r} is a newer release's")
            return tuple(
                Token(str(each["name"]), Role(each["role"]), str(each["sha256"]), str(each["created_at"]))
                for each in found["tokens"]
            )
        except OSError as error:
            raise self._unreadable(error) from None
        except (ValueError, KeyError, TypeError) as error:
            raise ServiceConfigError(
                f"{self.path} must hold tokens as `tuner serve token add` writes them, but: {error!r}"
            ) from None

    def _unreadable(self, error: OSError) -> ServiceConfigError:
        return ServiceConfigError(f"the tokens in {self.path} must be readable, but: {error.strerror}")


def is_private(path: Path) -> bool:
    """Whether nobody but its owner may read a file."""
    return not path.stat().st_mode & 0o077 or os.name == "nt"


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).hexdigest()
