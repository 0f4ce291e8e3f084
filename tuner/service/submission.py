"""Reads submitted study files, which may come from anybody with a token and must not give access to the service's host.

A submitted study file names targets that the operator has configured; it can't give an address or name a local file.
It can use only those environment variables that the operator allows. The operator also decides where the studies
run, to which MLflow server their results are copied, and how much load they may cause. All other keys are checked as
strictly as in any study file.
"""

import hashlib
import json
import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from runners.reporting import one_line
from tuner.model.identity import check_unchanged, study_identity
from tuner.model.spec import Executor, StudySpec
from tuner.model.study_files import RESULTS_FILE, STUDY_FILE, SUBMITTED_FILE
from tuner.model.target import Target
from tuner.service.config import SIMULATED, ServiceConfig
from tuner.service.operator_limits import LimitedValue, limited
from tuner.service.queue.job import QueuedJob, Submission
from tuner.storage.locations import shared_url
from tuner.study_file.building import StudyBuilder
from tuner.study_file.errors import FileProblem, KeyPath, Problems, StudyFileError, did_you_mean
from tuner.study_file.loading import STUDY_FILE_KIND
from tuner.study_file.properties import Files
from tuner.study_file.strict_yaml import Plain, fill_in, read_yaml

ORIGIN: Final = "the study file"
_TOKENS: Final = re.compile(r'"(?:[^"\\]|\\.)*+"?|(?P<number>NaN|Infinity|[0-9]++)', re.DOTALL)
_MOST_DIGITS: Final = 4_300
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)")


def submission_of(
    text: str,
    config: ServiceConfig,
    environ: Mapping[str, str] = os.environ,
    submitted_by: str = "",
    *,
    searched: bool = True,
) -> tuple[Submission, tuple[LimitedValue, ...]]:
    """Check a submitted study file.

    Returns:
        The `Submission` to put into the queue, and the values of the study that the operator's limits change.

    Args:
        text: The study file in YAML, or the return value of `text_of_json`.
        config: The configuration of the service.
        environ: The environment variables of the service.
        submitted_by: The name of the token that the client sent.
        searched: Whether the study is to search. If not, the settings that only a search needs may be missing.

    Raises:
        StudyFileError: The study file has mistakes, or uses what a submitted study may not use.
    """
    spec, targets, value, changes = _read(text, config, environ, searched=searched)
    written = json.dumps(value, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(written.encode("utf-8", "backslashreplace")).hexdigest()
    return Submission(spec.name, digest, text, targets, submitted_by), changes


def spec_of(
    text: str, config: ServiceConfig, environ: Mapping[str, str] = os.environ, *, searched: bool = True
) -> tuple[StudySpec, tuple[LimitedValue, ...]]:
    """Read a submitted file. The arguments are those of `submission_of`.

    Returns:
        The study, within the operator's limits and with the operator's clusters and their credentials filled in, and
        the values that the limits have changed.

    Raises:
        StudyFileError: The study file has mistakes, or uses what a submitted study may not use. This can happen to a
            file that was accepted when it was submitted, because the service's config may have changed since.
    """
    spec, names, _, changes = _read(text, config, environ, searched=searched)
    tracking = replace(spec.tracking, uri=config.mlflow_uri, enabled=spec.tracking.enabled and config.mirrored)
    study = replace(
        spec,
        targets=tuple(config.targets[name] for name in names),
        ray=replace(spec.ray, address=config.ray_address if spec.executor is Executor.RAY else None),
        tracking=tracking,
    )
    return study, changes


def check_settings(
    submission: Submission,
    before: QueuedJob | None,
    identity: Mapping[str, Any],
    config: ServiceConfig,
) -> None:
    """Check that the trials of a study fit its new study file.

    Args:
        submission: The new study file.
        before: The study in the queue; None if it was not submitted before.
        identity: What `study_identity` returned when the study began, from its results store.
        config: The configuration of the service.

    Raises:
        StudyChanged: The study file changes settings that the trials depend on. Targets are shown by their names,
            because their addresses belong to the operator.
    """
    identity_now, on_record = study_identity(spec_of(submission.text, config)[0]), dict(identity)
    if identity_now["target"] != on_record.get("target"):
        identity_now["target"] = [{"name": name} for name in submission.targets]
        on_record["target"] = [{"name": name} for name in (before.targets if before else ("another",))]
    check_unchanged(submission.name, identity_now, on_record, forks=False)


def text_of_body(body: bytes) -> str:
    """Return the text of a request's body.

    Raises:
        StudyFileError: The body is not UTF-8 text.
    """
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise _refused("a study file must be UTF-8 text, but the body is not UTF-8", line) from None


def text_of_json(text: str) -> str:
    """Return a study file that is written in JSON as text that the YAML reader understands.

    If YAML reads the text as the same values, the text is returned unchanged, so that line numbers in error messages
    are right. Otherwise the values are written again as JSON that YAML reads correctly.

    Raises:
        StudyFileError: The text is not JSON, or a key occurs twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        return text if _reads_as(text, value) else json.dumps(value, indent=0, ensure_ascii=False)
    except json.JSONDecodeError as error:
        raise _refused(f"the body is not valid JSON: {error.msg}", error.lineno) from None
    except DuplicateKey as error:
        raise _refused("a key of a JSON object must occur once, but this one occurs twice", key=str(error)) from None
    except ValueError as error:
        raise _refused(f"the body can't be read as JSON: {error}", _line_of_number(text)) from None
    except RecursionError:
        raise _refused("the values are nested too deeply; use fewer levels") from None


def _reads_as(text: str, value: object) -> bool:
    """Return whether YAML reads the text as the same value as JSON does."""
    try:
        return read_yaml(text, Problems(ORIGIN)) == value
    except StudyFileError:
        return False


def _read(
    text: str, config: ServiceConfig, environ: Mapping[str, str], *, searched: bool
) -> tuple[StudySpec, tuple[str, ...], Plain, tuple[LimitedValue, ...]]:
    problems = Problems(ORIGIN)
    value = read_yaml(text, problems)
    _check_variables(value, config.environment, problems)
    problems.stop_if_any()
    replaced, names = _with_targets(value, config, problems)
    _check_owned(value, problems)
    filled = fill_in(replaced, {name: environ[name] for name in config.environment if name in environ}, problems)
    file = STUDY_FILE_KIND.check(filled, problems)
    name = file.study.name or ""
    if not name:
        problems.add(("study",), "a submitted study needs a name: write `study: orders`, for example", line=1)
    elif _is_taken(config.root / name, config):
        problems.add(
            ("study",), f"a file or folder that is not a study has the name {name} already; choose another name"
        )
    if not names:  # what is left to check depends on the cluster
        problems.stop_if_any()
    spec = StudyBuilder(file, name, Files(None, problems, {}), problems, searched).study()
    problems.stop_if_any()
    if names == (SIMULATED,):
        spec = replace(spec, executor=Executor.SIMULATED)
    inside, changes = limited(spec, config.limits, problems.written)
    return inside, names, value, changes


def _is_taken(folder: Path, config: ServiceConfig) -> bool:
    """Return whether the place of a study's folder is a file, or a folder with files that no study has put there."""
    own = (config.tokens, *(config.tls or ()))
    if any(folder in (path, *path.parents) for path in own):
        return True
    return _holds_other_files(folder) if folder.is_dir() else folder.exists()


def _holds_other_files(folder: Path) -> bool:
    """Return whether a folder has files, but no sign of a study. Studies in a shared storage need no such sign."""
    if shared_url() is not None:
        return False
    try:
        names = {path.name for path in folder.iterdir()}
    except OSError:  # it was removed in the meantime, or the process that runs the study will report the error
        return False
    # A process that has just begun has made only its lock, or files that are not complete yet.
    others = {name for name in names if name != "lock" and not name.startswith(".")}
    return bool(others) and names.isdisjoint({RESULTS_FILE, STUDY_FILE, SUBMITTED_FILE})


def _with_targets(value: Plain, config: ServiceConfig, problems: Problems) -> tuple[Plain, tuple[str, ...]]:
    """Replace the names of clusters in a study file by the operator's settings of these clusters.

    Credentials are left out.

    Returns:
        The changed study file, and the names of the clusters that the file named.
    """
    if not isinstance(value, dict):
        return value, ()
    names = _names(value, config, problems)
    rest = {key: inner for key, inner in value.items() if key not in ("target", "targets")}
    if names in ((), (SIMULATED,)):
        return rest, names
    sections: list[Plain] = [_section(config.targets[name]) for name in names]
    return {**rest, "target": sections[0]} if len(sections) == 1 else {**rest, "targets": sections}, names


def _section(target: Target) -> dict[str, Plain]:
    if target.bootstrap is None:
        return {"container": target.container} if target.container else {"brokers": target.brokers}
    given = {"bootstrap": target.bootstrap, "topic": target.topic, "like": target.like}
    return {key: text for key, text in given.items() if text is not None}


def _names(value: Mapping[str, Plain], config: ServiceConfig, problems: Problems) -> tuple[str, ...]:
    offered = ", ".join(config.targets)
    if "target" in value and "targets" in value:
        problems.add(("targets",), "give either `target` for one cluster or `targets` for several, not both")
        return ()
    several = value.get("targets")
    if isinstance(several, list) and several:
        names = tuple(filter(None, (_name(each, ("targets", at), config, problems) for at, each in enumerate(several))))
        if len(set(names)) < len(names):
            problems.add(
                ("targets",), "name each cluster only once, because trials on the same cluster disturb each other"
            )
        if SIMULATED in names and len(names) > 1:
            problems.add(
                ("targets",), f"{SIMULATED} is not a cluster and can't be combined with other targets; leave it out"
            )
        return names
    if "targets" in value:
        problems.add(("targets",), f"this must be a list of at least one of these names: {offered}")
        return ()
    if value.get("target") is not None:
        return tuple(filter(None, [_name(value["target"], ("target",), config, problems)]))
    executor = value.get("executor")
    if isinstance(executor, dict) and executor.get("kind") == "simulated":
        return (SIMULATED,)
    if config.default_target is None:
        problems.add(
            ("target",), f"a submitted study must name its cluster: write `target: NAME` with one of: {offered}"
        )
        return ()
    return (config.default_target,)


def _name(value: Plain, key_path: KeyPath, config: ServiceConfig, problems: Problems) -> str | None:
    """Return the name of the target that a study file gives, or note a problem and return None for an unknown name."""
    if isinstance(value, dict):
        for key in value:
            if key != "name":
                problems.add(
                    (*key_path, key),
                    "only the operator of the service sets addresses and credentials of clusters; leave this out, and "
                    f"name a cluster of the service: `target: {next(iter(config.targets))}`",
                )
        key_path, value = (*key_path, "name"), value.get("name")
    if isinstance(value, str) and value in config.targets:
        return value
    near = did_you_mean(value, config.targets)
    got = f", but got {value!r:.100}" if isinstance(value, str) else ""
    rule = f"must be a target of this service ({', '.join(config.targets)}){got}"
    problems.add(key_path, f"{rule}; {near}".rstrip("; "))
    return None


def _check_owned(value: Plain, problems: Problems) -> None:
    """Note a problem for each key that only the operator may set."""
    if not isinstance(value, dict):
        return
    for section, key, what in (
        ("tracking", "uri", "to which MLflow studies are copied"),
        ("executor", "ray_address", "where measurements run"),
    ):
        inner = value.get(section)
        if isinstance(inner, dict) and inner.get(key) is not None:
            problems.add((section, key), f"the operator of the service decides {what}; leave this out")


def _check_variables(value: Plain, allowed: tuple[str, ...], problems: Problems, key_path: KeyPath = ()) -> None:
    """Note a problem for each environment variable that is not allowed.

    The message must not tell whether the service has a variable of that name.
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_variables(inner, allowed, problems, (*key_path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_variables(inner, allowed, problems, (*key_path, number))
    elif isinstance(value, str):
        for name in _VARIABLE.findall(value):
            if name not in allowed:
                there = f"allows only: {', '.join(allowed)}" if allowed else "allows none"
                problems.add(key_path, f"this uses an environment variable of the service, which {there}")


class DuplicateKey(ValueError):
    """The error for a JSON object that has two values for one key; its message is the key."""


def _line_of_number(text: str) -> int:
    """Return the line of the first number that JSON does not allow, or that is too long for Python; 0 if unknown."""
    for token in _TOKENS.finditer(text):
        number = token["number"]
        if number and (not number.isdigit() or len(number) > _MOST_DIGITS):
            return text.count("\n", 0, token.start()) + 1
    return 0


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise DuplicateKey(one_line(twice[:60]))
    return found


def _no_constant(name: str) -> Iterator[None]:
    raise ValueError(f"{name} is not a number that JSON allows")


def _refused(what: str, line: int = 0, key: str = "") -> StudyFileError:
    return StudyFileError(ORIGIN, [FileProblem(line, key, what)])
