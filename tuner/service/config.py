"""Reads the service's config file as strictly as a study file, and with the same error messages."""

import ipaddress
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Final

from pydantic import Field

from search_spaces.files.variables import names_in
from tuner.model.secrets_in_urls import secrets_in
from tuner.model.study_files import TOKENS_FILE
from tuner.model.target import Target
from tuner.service.operator_limits import LimitsSection
from tuner.storage.locations import studies_root
from tuner.study_file import fields
from tuner.study_file.checking import FileKind
from tuner.study_file.errors import Problems
from tuner.study_file.loading import text_of
from tuner.study_file.properties import Files
from tuner.study_file.sections import NAME, Section, TargetSection, Text
from tuner.study_file.strict_yaml import MAX_BYTES, fill_in, read_yaml, secret_variables
from tuner.study_file.targets import target_of

SIMULATED: Final = "simulated"
"""The name of the target of simulated studies, which need no cluster. Every service has this target."""
_ENVIRONMENT_NAME: Final = "an environment variable's name has letters, digits and _, and does not begin with a digit"
_URL_RULE: Final = "the address of a web page begins with http:// or https://"
_HOST_RULE: Final = "must be a host name or an address without a port, such as tuner.example or ::1"
Variable = Annotated[str, fields.text(_ENVIRONMENT_NAME, r"[A-Za-z_][A-Za-z0-9_]*")]

Host = Annotated[str, fields.text(_HOST_RULE, r"[^\s:/?#@\[\]]+|\[?(?:[0-9A-Fa-f.]*:){2,}[0-9A-Fa-f.]*\]?")]


@dataclass(frozen=True, slots=True)
class ServiceConfig:
    """The configuration of the service.

    Attributes:
        host: The address to listen at.
        port: The port to listen at; with 0, the system chooses a free port.
        allowed_hosts: Host names that requests may use, in lower case, and IPv6 addresses without brackets. Any name is
            allowed when this is empty.
        root: The folder that holds the studies, the queue and the service's lock.
        tokens: The token file.
        environment: Names of the environment variables that submitted studies may use.
        max_body_bytes: The largest body that a request may have.
        at_once_per_target: How many studies may measure on one target at the same time.
        targets: The clusters on which studies may measure, by the name that study files use. `SIMULATED` is always one
            of the names. The settings of a cluster may hold secrets.
        default_target: The target of a study whose file names no target. None means that every study file must name
            one.
        ray_address: The address of a Ray cluster. None starts Ray on this host for each study.
        mlflow_uri: The MLflow tracking URI of all studies, which may hold a password. None uses MLflow's default.
        mlflow_url: The address at which people open MLflow in a browser.
        mirrored: Whether studies are copied to MLflow.
        tls: The paths of the certificate and of its private key. None serves HTTP without TLS.
        limits: The largest values that submitted studies may have.
        secret_variables: The environment variables from which the config file took secrets.
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
    limits: LimitsSection
    secret_variables: tuple[str, ...] = ()


class TlsSection(Section):
    """The certificate with which the service speaks TLS."""

    certificate: Text
    """Path of a PEM file with the certificate and the intermediate certificates."""
    key: Text
    """Path of a PEM file with the certificate's private key."""


class MlflowSection(Section):
    """The MLflow server that shows the trials of all studies."""

    uri: Text | None = Field(default=None, repr=False)
    """Tracking URI for all studies. Default: MLFLOW_TRACKING_URI if it is set, otherwise a file beside the studies."""
    url: Annotated[str, fields.text(_URL_RULE, r"https?://[^\s\"'<>]+")] | None = None
    """Address at which people open MLflow in a browser. The service's pages link to it."""
    enabled: Annotated[bool, fields.flag()] = True
    """Whether studies are copied to MLflow."""


class ServiceExecutorSection(Section):
    """Where the measurements of all studies run."""

    ray_address: Text | None = None
    """Address of a Ray cluster. Without it, each study starts Ray on this machine."""


class ServiceFile(Section):
    """The keys of the service's config file."""

    host: Text = "127.0.0.1"
    """Address to listen on. Any address other than loopback needs tokens."""
    port: Annotated[int, fields.whole(0, 65_535)] = 8080
    """Port to listen on; 0 takes a free port."""
    allowed_hosts: Annotated[list[Host], Field(max_length=100)] = Field(default_factory=list)
    """Host names that clients may use, without a port. If this is set, a request with any other name in its Host header
    is refused. A name that is not loopback needs tokens."""
    studies: Text | None = None
    """Folder of the studies and of the queue. Default: the folder that the other commands use."""
    tokens: Text | None = None
    """Path of the token file, which `tuner serve token` writes. Default: tokens.json in the folder of the studies."""
    environment: Annotated[list[Variable], Field(max_length=100)] = Field(default_factory=list)
    """Environment variables of the service that submitted studies may use as ${NAME}. Default: none."""
    max_body: Annotated[int, fields.size(1_000, MAX_BYTES)] = MAX_BYTES
    """Largest body of a request, in bytes, for example 100000 or 64KiB."""
    at_once_per_target: Annotated[int, fields.whole(1, 100)] = 1
    """How many studies may measure on one target at the same time. Studies that share a target disturb each other."""
    targets: Mapping[str, TargetSection] | None = None
    """Clusters by name, each with the keys of `target` in a study file. Submitted studies give only the name."""
    default_target: Text | None = None
    """Target of the studies whose file names no target."""
    limits: LimitsSection = LimitsSection()
    executor: ServiceExecutorSection = ServiceExecutorSection()
    mlflow: MlflowSection = MlflowSection()
    tls: TlsSection | None = None


_FILE_KIND: Final = FileKind(ServiceFile, "the service's config file", "docs/how-to/service.md has examples")


def load_config(
    path: Path | None, environ: Mapping[str, str] = os.environ, *, checks_certificate: bool = False
) -> ServiceConfig:
    """Read the service's config file.

    Without a file, the service listens on loopback, and its only cluster is a broker that it starts itself.

    Args:
        path: The file, or None. Paths in the file are relative to the folder of the file.
        environ: The variables that replace `${NAME}` in the file.
        checks_certificate: Whether to check that the service can speak TLS with its certificate, if it has one.

    Raises:
        StudyFileError: The file can't be read or has mistakes. The error names every mistake.
    """
    if path is None:
        return _config(ServiceFile(), Path.cwd(), Problems("the defaults"), environ)
    problems = Problems(str(path))
    raw = read_yaml(text_of(path, _FILE_KIND.what), problems)
    value = fill_in(raw, environ, problems)
    problems.stop_if_any()
    file = _FILE_KIND.check({} if value is None else value, problems)
    config = _config(file, path.absolute().parent, problems, environ)
    if checks_certificate and config.tls is not None:
        _check_certificate(*config.tls, problems)
    problems.stop_if_any()
    named = secret_variables(raw)
    if config.mlflow_uri is not None and secrets_in(config.mlflow_uri):
        # MLflow itself reads the variables whose names begin with MLFLOW_ again and again.
        written = problems.written.get(("mlflow", "uri"), "")
        named += [name for name in names_in(written) if not name.startswith("MLFLOW_")]
    return replace(config, secret_variables=tuple(named))


def _config(file: ServiceFile, folder: Path, problems: Problems, environ: Mapping[str, str]) -> ServiceConfig:
    def at(path: str) -> Path:
        return (folder / Path(path).expanduser()).absolute()

    root = studies_root() if file.studies is None else at(file.studies)
    targets = _targets(file, Files(folder, problems, environ))
    if file.default_target is not None and file.default_target not in targets:
        problems.add(("default_target",), f"this must be one of the targets: {', '.join(targets)}")
    if (file.executor.ray_address or "").startswith("ray://"):
        problems.add(
            ("executor", "ray_address"),
            "Ray's client protocol (ray://) is not supported; run the service on a node of the cluster and use auto",
        )
    return ServiceConfig(
        host=file.host,
        port=file.port,
        allowed_hosts=tuple(name.strip("[]").lower() for name in file.allowed_hosts),
        root=root,
        tokens=root / TOKENS_FILE if file.tokens is None else at(file.tokens),
        environment=tuple(file.environment),
        max_body_bytes=file.max_body,
        at_once_per_target=file.at_once_per_target,
        targets=targets,
        default_target=file.default_target or (next(iter(targets)) if len(targets) == 2 else None),
        ray_address=file.executor.ray_address,
        mlflow_uri=file.mlflow.uri,
        mlflow_url=file.mlflow.url,
        mirrored=file.mlflow.enabled,
        tls=None if file.tls is None else (at(file.tls.certificate), at(file.tls.key)),
        limits=file.limits,
    )


def _check_certificate(certificate: Path, private: Path, problems: Problems) -> None:
    unreadable = False
    for key, path in (("certificate", certificate), ("key", private)):
        try:
            path.open("rb").close()
        except OSError as error:  # OpenSSL's own message would not name the file
            unreadable = True
            problems.add(
                ("tls", key),
                f"must name a PEM file that can be read, but {path} can't be: {error.strerror}; correct the path",
            )
    if unreadable:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(certificate, private)
    except OSError as error:  # SSLError is a subclass
        problems.add(
            ("tls",),
            "must name a certificate and its private key, both in PEM form, but OpenSSL does not accept "
            f"{certificate} with {private}: {error}",
        )


def _targets(file: ServiceFile, files: Files) -> dict[str, Target]:
    """Return the targets by name. `SIMULATED`, which needs no cluster, is always one of them."""
    if file.targets is None:
        return {"embedded": Target(), SIMULATED: Target()}
    targets: dict[str, Target] = {}
    for name, section in file.targets.items():
        try:
            NAME.read(name)
        except ValueError as error:
            files.problems.add(("targets", name), str(error))
        if name == SIMULATED:
            files.problems.add(
                ("targets", name),
                "this name is reserved for simulated studies, which measure nothing; choose another name",
            )
        targets[name] = target_of(section, ("targets", name), files)
    return {**targets, SIMULATED: Target()}


def is_loopback(host: str) -> bool:
    """Return whether a server that listens at this address can be reached from this host only."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
