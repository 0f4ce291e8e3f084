"""What the operator decides about the service."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tuner.model.target import Target

EMBEDDED: Final = "embedded"
SIMULATED: Final = "simulated"
"""The target of studies that measure nothing; always there."""


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The service, as its operator wants it.

    Attributes:
        host: Address to listen at.
        port: Port to listen at; 0 takes a free one.
        allowed_hosts: Names under which clients reach the service, in lower case; any when empty.
        root: Folder of the studies, of the queue and of the service's lock.
        tokens: File of the tokens.
        environment: Variables that submitted studies may use.
        max_body_bytes: What a request may have at most.
        at_once_per_target: Studies that may measure on one target at a time.
        targets: By name; `SIMULATED` is among them. May hold secrets.
        default_target: Of studies that name none; None where they must name one.
        ray_address: Of a Ray cluster; None starts Ray on this host for each study.
        mlflow_uri: Tracking URI of all studies; None is MLflow's usual place. May hold a password.
        mlflow_url: Where people see it.
        mirrored: Whether studies are mirrored in MLflow.
        tls: Files of the certificate and of its key; None speaks HTTP without TLS.
    """

    host: str
    port: int
    allowed_hosts: tuple[str, ...]
    root: Path
    tokens: Path
    environment: tuple[str, ...]
    max_body_bytes: int
    at_once_per_target: int
    targets: Mapping[str, Target] = field(repr=False)
    default_target: str | None
    ray_address: str | None
    mlflow_uri: str | None = field(repr=False)
    mlflow_url: str | None
    mirrored: bool
    tls: tuple[Path, Path] | None
