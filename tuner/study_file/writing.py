"""Texts of study files that nobody wrote: of what command-line options ask for, and of a measurement done again."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from tuner.study_file.environment import escaped
from tuner.study_file.errors import Problems
from tuner.study_file.strict_yaml import read_yaml, scalar


class _Dumper(yaml.SafeDumper):
    """Quotes every text that `strict_yaml` would take for something else."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if scalar(value) == value else '"')


_Dumper.add_representer(str, _represent_text)


def study_text(sections: Mapping[str, Any]) -> str:
    """The text of a study file with these sections; `parse_study` reads it, and checks it.

    Args:
        sections: As the file has them; what is None or empty is left out. Paths are written as absolute ones,
            as the text has no folder. Nothing in a text is a reference: `${` is written so that it reads back so.
    """
    return _dumped(_given(sections))


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
    return _dumped(sections)


def sizes_in(text: str) -> list[int | str]:
    """Record sizes with commas between, or one mix, as a study file has them."""
    return [_size(text)] if ":" in text else [_size(size.strip()) for size in text.split(",")]


def _size(text: str) -> int | str:
    value = scalar(text)
    return value if isinstance(value, int) else text


def _dumped(sections: Any) -> str:
    return yaml.dump(sections, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def _given(value: Any) -> Any:
    """Without keys that hold nothing; texts escaped."""
    match value:
        case str():
            return escaped(value)
        case Path():
            return escaped(str(value.absolute()))
        case Mapping():
            inner = {key: _given(each) for key, each in value.items()}
            return {key: each for key, each in inner.items() if each not in (None, {}, [])}
        case list():
            return [_given(each) for each in value]
        case _:
            return value
