"""The head that all JSON documents of commands and of the service have: what the document is, and its version."""

from collections.abc import Mapping
from typing import Any, Final

_VERSIONS: Final[Mapping[str, int]] = {"explanations": 2, "front": 3, "fronts": 2, "trials": 2}
"""The version of each kind of document whose form has changed. All other kinds have version 1."""


def document(kind: str, /, **values: object) -> dict[str, Any]:
    """Return a JSON document that begins with its version and its kind."""
    return {"schema_version": _VERSIONS.get(kind, 1), "kind": kind, **values}
