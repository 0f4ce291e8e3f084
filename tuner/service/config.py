"""What the operator decides about the service: his file, read as strictly as a study file and in the same words."""

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import Field, ValidationError

from tuner.model.target import Target
from tuner.storage.home import studies_root
from tuner.study_file import fields
from tuner.study_file.building import target_of
from tuner.study_file.errors import KeyPath, Problem, Problems, Refused, StudyFileError, did_you_mean
from tuner.study_file.properties import Files
from tuner.study_file.sections import NAME, Section, TargetSection, Text
from tuner.study_file.strict_yaml import MAX_BYTES, fill_in, read_yaml

SIMULATED: Final = "simulated"
"""The target of studies that measure nothing; always there."""
_ENVIRONMENT_NAME: Final = "the name of an environment variable has letters, digits and _, and begins with no digit"
_URL_RULE: Final = "an address of a page begins with http:// or https://"
Variable = Annotated[str, fields.text(_ENVIRONMENT_NAME, r"[A-Za-z_][A-Za-z0-9_]*")]


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


class TlsSection(Section):
    """The service's own certificate."""

    certificate: Text
    """Path of a PEM file: the certificate, and those between it and the authority."""
    key: Text
    """Path of a PEM file with its private key."""


class MlflowSection(Section):
    """Where the studies are mirrored."""

    uri: Text | None = Field(default=None, repr=False)
    """Tracking URI for all studies; MLFLOW_TRACKING_URI, or else a file beside the studies, when left out."""
    url: Annotated[str, fields.text(_URL_RULE, r"https?://[^\s\"'<>]+")] | None = None
    """Address at which people see it, for links on the service's pages."""
    enabled: Annotated[bool, fields.flag()] = True
    """Whether there is a mirror."""


class ExecutorSection(Section):
    """Where the benchmarks of all studies run."""

    ray_address: Text | None = None
    """Address of a Ray cluster; without it, each study starts Ray on this machine."""


class ServiceFile(Section):
    """The service, as its operator wants it."""

    host: Text = "127.0.0.1"
    """Address to listen at; anything but loopback needs tokens."""
    port: Annotated[int, fields.whole(0, 65_535)] = 8080
    """Port to listen at; 0 takes a free one."""
    allowed_hosts: Annotated[list[Text], Field(max_length=100)] = Field(default_factory=list)
    """Names under which clients reach the service; when given, requests that name another are refused."""
    studies: Text | None = None
    """Folder of the studies and of the queue; as for the other verbs when left out."""
    tokens: Text | None = None
    """File of the tokens, which `tuner serve token` writes; tokens.json among the studies when left out."""
    environment: Annotated[list[Variable], Field(max_length=100)] = Field(default_factory=list)
    """Variables of the service that submitted studies may use as ${NAME}; none when left out."""
    max_body: Annotated[int, fields.size(1_000, MAX_BYTES)] = MAX_BYTES
    """Bytes that a request may have: 1000000, or 64KiB."""
    at_once_per_target: Annotated[int, fields.whole(1, 100)] = 1
    """Studies that may measure on one target at a time; more than one disturb each other."""
    targets: Mapping[str, TargetSection] | None = None
    """Clusters by name, which is all that submitted studies say of them; as in a study file's target."""
    default_target: Text | None = None
    """The target of studies that name none."""
    executor: ExecutorSection = ExecutorSection()
    mlflow: MlflowSection = MlflowSection()
    tls: TlsSection | None = None


def load_config(path: Path | None, environ: Mapping[str, str] = os.environ) -> ServiceConfig:
    """Read the operator's file; without one, loopback and no cluster but a broker of our own.

    Args:
        path: The file; paths in it are relative to its folder.
        environ: Variables for `${NAME}`.

    Raises:
        StudyFileError: The file can't be read, or says what can't be done; every problem is named.
    """
    if path is None:
        return _config(ServiceFile(), Path.cwd(), Problems("the defaults"))
    problems = Problems(str(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise StudyFileError(str(path), [Problem(0, "", f"the service's file must be readable: {reason}")]) from None
    value = fill_in(read_yaml(text, problems), environ, problems)
    problems.stop_if_any()
    try:
        file = ServiceFile.model_validate({} if value is None else value)
    except ValidationError as error:
        for misfit in error.errors(include_url=False):
            _note(dict(misfit), problems)
        raise problems.error() from None
    config = _config(file, path.absolute().parent, problems)
    problems.stop_if_any()
    return config


def _note(misfit: Mapping[str, Any], problems: Problems) -> None:
    place: KeyPath = tuple(misfit["loc"])
    cause = misfit.get("ctx", {}).get("error")
    if isinstance(cause, Refused):
        for refusal in cause.refusals:
            inner = misfit["input"]
            for part in refusal.within:
                inner = inner[part]
            problems.refuse(place, refusal, inner)
    elif misfit["type"] == "extra_forbidden":
        known = ServiceFile.model_fields if len(place) == 1 else _keys_at(place[:-1])
        advice = did_you_mean(place[-1], known) or "leave it out."
        problems.add(place, f"there is no such key here; {advice} Keys: {', '.join(known)}")
    elif misfit["type"] == "missing":
        problems.add(place, "this key must be there")
    else:
        shown = "docs/how-to/service.md shows it"
        problems.add(place, f"keys with values, or a list where one is asked for, stand here; {shown}")


def _keys_at(place: KeyPath) -> list[str]:
    sections: dict[str, type[Section]] = {"tls": TlsSection, "mlflow": MlflowSection, "executor": ExecutorSection}
    section = TargetSection if place[0] == "targets" else sections.get(str(place[0]))
    return list(section.model_fields) if section else []


def _config(file: ServiceFile, folder: Path, problems: Problems) -> ServiceConfig:
    def place_of(path: str | None, otherwise: Path) -> Path:
        return otherwise if path is None else (folder / Path(path).expanduser()).absolute()

    root = place_of(file.studies, studies_root())
    targets = _targets(file, folder, problems)
    if file.default_target is not None and file.default_target not in targets:
        problems.add(("default_target",), f"this is one of the targets: {', '.join(targets)}")
    if (file.executor.ray_address or "").startswith("ray://"):
        problems.add(("executor", "ray_address"), "Ray's client protocol is not supported; run it on a node: auto")
    return ServiceConfig(
        host=file.host,
        port=file.port,
        allowed_hosts=tuple(name.lower() for name in file.allowed_hosts),
        root=root,
        tokens=place_of(file.tokens, root / "tokens.json"),
        environment=tuple(file.environment),
        max_body_bytes=file.max_body,
        at_once_per_target=file.at_once_per_target,
        targets=targets,
        default_target=file.default_target or (next(iter(targets)) if len(targets) == 2 else None),
        ray_address=file.executor.ray_address,
        mlflow_uri=file.mlflow.uri,
        mlflow_url=file.mlflow.url,
        mirrored=file.mlflow.enabled,
        tls=None if file.tls is None else (folder / file.tls.certificate, folder / file.tls.key),
    )


def _targets(file: ServiceFile, folder: Path, problems: Problems) -> dict[str, Target]:
    """By name; what is simulated needs no cluster and is always there."""
    if file.targets is None:
        return {"embedded": Target(), SIMULATED: Target()}
    found: dict[str, Target] = {}
    for name, section in file.targets.items():
        try:
            NAME.read(name)
        except ValueError as error:
            problems.add(("targets", name), str(error))
        if name == SIMULATED:
            problems.add(("targets", name), "this name stands for studies that measure nothing; take another")
        found[name] = target_of(section, ("targets", name), Files(folder, problems))
    return {**found, SIMULATED: Target()}


def is_loopback(host: str) -> bool:
    """Whether nobody but this host reaches a server that listens there."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
