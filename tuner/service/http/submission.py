"""Study files as strangers send them: read as strictly as any, and able to touch nothing of the service's host.

A submitted study names targets of the operator's, no address; no local file is read or named; of the environment there
is only what the operator allows; where benchmarks run and what mirrors them is the operator's.
"""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from tuner.model.spec import Executor, StudySpec
from tuner.model.target import Target
from tuner.service.config import SIMULATED, ServiceConfig
from tuner.service.queue.job import Submission
from tuner.study_file.building import Builder
from tuner.study_file.errors import KeyPath, Problem, Problems, StudyFileError, did_you_mean
from tuner.study_file.loading import check
from tuner.study_file.properties import Files
from tuner.study_file.strict_yaml import Plain, fill_in, read_yaml

ORIGIN: Final = "the study file"
_RESERVED: Final = frozenset({"mlartifacts"})
_VARIABLE: Final = re.compile(r"(?<!\$)\$\{([A-Za-z_][A-Za-z0-9_]*)")


def submission_of(text: str, config: ServiceConfig, environ: Mapping[str, str], submitted_by: str = "") -> Submission:
    """Check a submitted study file.

    Args:
        text: YAML, or what `text_of_json` returned.
        config: Of the service.
        environ: The service's variables.
        submitted_by: Name of the token.

    Raises:
        StudyFileError: The text says what can't be done, or what a submitted study may not.
    """
    spec, targets, value = _read(text, config, environ)
    written = json.dumps(value, sort_keys=True, ensure_ascii=False)
    digest = hashlib.sha256(written.encode("utf-8", "backslashreplace")).hexdigest()
    return Submission(spec.name, digest, text, targets, submitted_by)


def spec_of(text: str, config: ServiceConfig, environ: Mapping[str, str]) -> StudySpec:
    """The study that a submitted file asks for, on the operator's clusters and with his credentials.

    Raises:
        StudyFileError: As `submission_of` does; the operator's file may have changed since.
    """
    spec, names, _ = _read(text, config, environ)
    simulated = names == (SIMULATED,) or spec.executor is Executor.SIMULATED
    tracking = replace(spec.tracking, uri=config.mlflow_uri, enabled=spec.tracking.enabled and config.mirrored)
    return replace(
        spec,
        targets=tuple(config.targets[name] for name in names),
        executor=Executor.SIMULATED if simulated else spec.executor,
        ray_address=config.ray_address if spec.executor is Executor.RAY and not simulated else None,
        tracking=tracking,
    )


def text_of_json(text: str) -> str:
    """A study file in JSON as the reader of study files takes it: as it is, or written anew where YAML differs.

    Raises:
        StudyFileError: It is no JSON, or a key stands twice.
    """
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_no_constant)
        return text if _reads_as(text, value) else json.dumps(value, indent=2, ensure_ascii=False)
    except json.JSONDecodeError as error:
        raise _refused(f"this is not JSON: {error.msg}", error.lineno) from None
    except ValueError as error:
        raise _refused(f"this can't be read as JSON: {error}") from None
    except RecursionError:
        raise _refused("values are nested too deep") from None


def _reads_as(text: str, value: object) -> bool:
    """Whether YAML reads the same in a text as JSON does."""
    try:
        return read_yaml(text, Problems(ORIGIN)) == value
    except StudyFileError:
        return False


def _read(text: str, config: ServiceConfig, environ: Mapping[str, str]) -> tuple[StudySpec, tuple[str, ...], Plain]:
    problems = Problems(ORIGIN)
    value = read_yaml(text, problems)
    replaced, names = _with_targets(value, config, problems)
    _check_owned(value, problems)
    _check_variables(value, config.environment, problems)
    problems.stop_if_any()
    filled = fill_in(replaced, {name: environ[name] for name in config.environment if name in environ}, problems)
    file = check(filled, problems)
    name = file.study.name or ""
    if not name:
        problems.add(("study",), "a submitted study has a name: write `study: orders`", line=1)
    elif name in _RESERVED or ((config.root / name).exists() and not (config.root / name).is_dir()):
        problems.add(("study",), f"{name} is the name of something else among the studies; choose another")
    spec = Builder(file, name, Files(None, problems), problems).study()
    problems.stop_if_any()
    return spec, names, value


def _with_targets(value: Plain, config: ServiceConfig, problems: Problems) -> tuple[Plain, tuple[str, ...]]:
    """The file with the operator's clusters in place of their names, without credentials; and the names."""
    if not isinstance(value, dict):
        return value, ()
    names = _names(value, config, problems)
    problems.stop_if_any()
    rest = {key: inner for key, inner in value.items() if key not in ("target", "targets")}
    if names == (SIMULATED,):
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
        problems.add(("targets",), "give target for one cluster or targets for several, not both")
        return ()
    several = value.get("targets")
    if isinstance(several, list) and several:
        names = tuple(filter(None, (_name(each, ("targets", at), config, problems) for at, each in enumerate(several))))
        if len(set(names)) < len(names):
            problems.add(("targets",), "each cluster stands once: trials must not disturb each other")
        if SIMULATED in names and len(names) > 1:
            problems.add(("targets",), f"{SIMULATED} stands alone: it is no cluster")
        return names
    if "targets" in value:
        problems.add(("targets",), f"this is a list of names, at least one of: {offered}")
        return ()
    if value.get("target") is not None:
        return tuple(filter(None, [_name(value["target"], ("target",), config, problems)]))
    executor = value.get("executor")
    if isinstance(executor, dict) and executor.get("kind") == "simulated":
        return (SIMULATED,)
    if config.default_target is None:
        problems.add(("target",), f"a submitted study names its cluster: write `target: NAME`, one of: {offered}")
        return ()
    return (config.default_target,)


def _name(given: Plain, place: KeyPath, config: ServiceConfig, problems: Problems) -> str | None:
    """The name of a target; a problem noted, and None, where it is none of the operator's."""
    if isinstance(given, dict):
        for key in given:
            if key != "name":
                problems.add(
                    (*place, key),
                    "addresses and credentials of clusters are the service's operator's; leave this out, and name one "
                    f"of his: `target: {next(iter(config.targets))}`",
                )
        place, given = (*place, "name"), given.get("name")
    if isinstance(given, str) and given in config.targets:
        return given
    near = did_you_mean(given, config.targets)
    problems.add(
        place, f"this is the name of a target of this service: {', '.join(config.targets)}. {near}".rstrip(". ")
    )
    return None


def _check_owned(value: Plain, problems: Problems) -> None:
    """What is the operator's to decide."""
    if not isinstance(value, dict):
        return
    for section, key, what in (
        ("tracking", "uri", "where studies are mirrored"),
        ("executor", "ray_address", "where benchmarks run"),
    ):
        inner = value.get(section)
        if isinstance(inner, dict) and inner.get(key) is not None:
            problems.add((section, key), f"{what} is the service's operator's to decide; leave this out")


def _check_variables(value: Plain, allowed: tuple[str, ...], problems: Problems, place: KeyPath = ()) -> None:
    """Say of each variable that is not allowed that it is not; never whether there is one of that name."""
    if isinstance(value, dict):
        for key, inner in value.items():
            _check_variables(inner, allowed, problems, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            _check_variables(inner, allowed, problems, (*place, number))
    elif isinstance(value, str):
        for name in _VARIABLE.findall(value):
            if name not in allowed:
                there = f"those that it allows: {', '.join(allowed)}" if allowed else "none"
                problems.add(place, f"a submitted study uses variables of the service's environment, {there}")


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {twice[:60]!r} stands twice")
    return found


def _no_constant(name: str) -> Iterator[None]:
    raise ValueError(f"{name} is no number here")


def _refused(what: str, line: int = 0) -> StudyFileError:
    return StudyFileError(ORIGIN, [Problem(line, "", what)])
