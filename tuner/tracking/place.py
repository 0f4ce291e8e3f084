"""Where MLflow keeps the mirror: which URI, and how it is shown without its password."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

from tuner.model.spec import TrackingSpec
from tuner.storage.url import MASK, secrets_in

URI_VARIABLE: Final = "MLFLOW_TRACKING_URI"
_STORE_FILE: Final = "mlflow.db"
_ARTIFACTS: Final = "mlartifacts"
_DATABASES: Final = ("sqlite", "postgresql", "mysql", "mssql")
_SQLITE: Final = "sqlite:///"


@dataclass(frozen=True, slots=True)
class Place:
    """A tracking URI, and what goes with it.

    Attributes:
        uri: As MLflow takes it; may hold a password.
        artifacts: Folder of the artifacts, where no server takes them.
    """

    uri: str
    artifacts: Path

    @classmethod
    def of(cls, tracking: TrackingSpec, root: Path) -> "Place":
        """The place that the study file names, else the environment, else a SQLite file beside the studies.

        Args:
            tracking: Of the study.
            root: The folder that the study's folder lies in.
        """
        uri = tracking.uri or os.environ.get(URI_VARIABLE) or _SQLITE + quote(str((root / _STORE_FILE).absolute()))
        return cls(uri, (root / _ARTIFACTS).absolute())

    @property
    def has_server(self) -> bool:
        """Whether a server is spoken to, which keeps artifacts itself; else a database is."""
        return urlsplit(self.uri).scheme.partition("+")[0] not in _DATABASES

    @property
    def is_web(self) -> bool:
        """Whether the server has pages to look at, under the same address."""
        return urlsplit(self.uri).scheme in ("http", "https")

    @property
    def sqlite_file(self) -> Path | None:
        """The file, where the store is one."""
        return Path(unquote(self.uri.removeprefix(_SQLITE))) if self.uri.startswith(_SQLITE) else None

    @property
    def shown(self) -> str:
        """The URI for people."""
        return self.masked(self.uri)

    def masked(self, text: str) -> str:
        """A text in which the URI's password can't be read."""
        for secret in secrets_in(self.uri):
            text = text.replace(secret, MASK)
        return text


def tracking_of(facts: Mapping[str, Any], uri: str | None = None) -> TrackingSpec:
    """What a study on record says of its mirror.

    Args:
        facts: Of the study.
        uri: Takes the place of the URI on record.
    """
    kept = facts.get("tracking") or {}
    return TrackingSpec(
        uri=uri or kept.get("uri"), experiment=kept.get("experiment"), enabled=kept.get("enabled", True)
    )
