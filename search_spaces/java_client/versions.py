"""Releases of kafka-clients: which are known, and how they compare."""

import re
from typing import Final

from search_spaces.errors import UnknownClient

Minor = tuple[int, int]

OLDEST: Final[Minor] = (2, 8)
_RELEASE: Final = re.compile(r"(\d+)\.(\d+)\.(\d+)", re.ASCII)


def minor_of(version: str, newest: Minor) -> Minor:
    """Return the minor version of a release, such as (3, 9) for "3.9.1".

    Raises:
        UnknownClient: The text is not a release, or the release is older or newer than those that are known.
    """
    match = _RELEASE.fullmatch(version)
    if match is None:
        rule = "a version of the Java client must be a release of kafka-clients, such as 3.9.1"
        raise UnknownClient(f"{rule}, not {version!r}")
    minor = int(match[1]), int(match[2])
    if not OLDEST <= minor <= newest:
        known = f"from {'.'.join(map(str, OLDEST))} to {'.'.join(map(str, newest))}"
        raise UnknownClient(f"a version of the Java client must be {known}, not {version}")
    return minor
