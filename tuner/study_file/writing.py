"""The study file that a set of command-line options stands for."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tuner.study_file.environment import escaped
from tuner.study_file.errors import Problems
from tuner.study_file.strict_yaml import read_yaml, scalar


class _Dumper(yaml.SafeDumper):
    """Quotes every text that `reading` would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if scalar(value) == value else '"')


_Dumper.add_representer(str, _represent_text)


def study_text(
    record_bytes: Sequence[str],
    name: str,
    *,
    bootstrap: str | None = None,
    command_config: Path | None = None,
    container: str | None = None,
    brokers: int | None = None,
    topic: str | None = None,
    like: str | None = None,
    current: Path | None = None,
    properties: Mapping[str, str] | None = None,
    space: Mapping[str, Any] | None = None,
    durability: str | None = None,
    objectives: str | Sequence[str] | None = None,
    constraints: Sequence[str] = (),
    method: str | None = None,
    trials: int | None = None,
    hours: float | None = None,
    until: str | None = None,
    max_bytes: str | int | None = None,
    seed: int | None = None,
    rounds: int | None = None,
    warmup: str | float | None = None,
    measured: str | float | None = None,
    executor: str | None = None,
) -> str:
    """The text of a study file with the given values and nothing else; `parse_study` reads it, and checks it.

    Nothing in the values is a reference: `${` is written so that it reads back as `${`.

    Args:
        record_bytes: Sizes and mixes, as `--record-bytes` takes them.
        name: Of the study.
        bootstrap: Of `target`, as are the next five.
        command_config: Written as an absolute path, as the text has no folder.
        container: Image of a broker.
        brokers: Of our own.
        topic: To write to.
        like: To copy.
        current: Properties file of the baseline, written as an absolute path.
        properties: The baseline's properties in place of a file.
        space: Knobs as the section `space` has them.
        durability: Name of a floor.
        objectives: A preset or metrics.
        constraints: Such as `latency_p99_ms <= 10`.
        method: Of `search`, as are the next five.
        trials: Per record size.
        hours: Of the whole study.
        until: `HH:MM`.
        max_bytes: Bytes, or a text such as `50GB`.
        seed: Of the search.
        rounds: Of the confirmation.
        warmup: Of both phases: seconds, or a text such as `3s`.
        measured: Of both phases: seconds, or a text such as `10s`.
        executor: Its kind.
    """
    phase = {"warmup": warmup, "measured": measured}
    sections = {
        "study": {"name": name},
        "target": {
            "bootstrap": bootstrap,
            "command_config": None if command_config is None else str(command_config.absolute()),
            "container": container,
            "brokers": brokers,
            "topic": topic,
            "like": like,
        },
        "workload": {"record_bytes": [_size(text) for text in record_bytes], "saturate": phase, "paced": phase},
        "baseline": dict(properties or {}) if current is None else str(current.absolute()),
        "space": dict(space or {}),
        "durability": durability,
        "objectives": objectives if objectives is None or isinstance(objectives, str) else list(objectives),
        "constraints": list(constraints),
        "search": {
            "method": method,
            "trials": trials,
            "hours": hours,
            "until": until,
            "max_bytes": max_bytes,
            "seed": seed,
        },
        "confirm": {"rounds": rounds},
        "executor": {"kind": executor},
    }
    return yaml.dump(_given(sections), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def same_measurement(text: str, name: str, record_bytes: Sequence[str]) -> str:
    """The text of a study that measures as the one given does, under another name, and has nothing to search.

    Args:
        text: Of a study file that reads without errors.
        name: Of the new study.
        record_bytes: Its sizes and mixes.
    """
    value = read_yaml(text, Problems(name))
    assert isinstance(value, dict)
    workload = value["workload"]
    assert isinstance(workload, dict)
    sections = {**value, "study": {"name": name}, "workload": {**workload, "record_bytes": [*map(_size, record_bytes)]}}
    search = value.get("search")
    burn_in = {k: v for k, v in search.items() if k == "burn_in_max"} if isinstance(search, dict) else {}
    sections["search"] = {"trials": 1, **burn_in}
    sections.pop("confirm", None)
    return yaml.dump(sections, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def _size(text: str) -> int | str:
    value = scalar(text)
    return value if isinstance(value, int) else text


def _given(value: Any) -> Any:
    """Without keys that hold nothing; texts escaped."""
    match value:
        case str():
            return escaped(value)
        case Mapping():
            inner = {key: _given(each) for key, each in value.items()}
            return {key: each for key, each in inner.items() if each not in (None, {}, [])}
        case list():
            return [_given(each) for each in value]
        case _:
            return value
