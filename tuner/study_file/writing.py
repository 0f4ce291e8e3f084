"""Writes the study files that commands make from their options, and changes study files."""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from tuner.model.goals import PRESETS, Goal
from tuner.model.spec import FORMER_SETTINGS
from tuner.study_file.errors import FileProblem, Problems, StudyFileError
from tuner.study_file.strict_yaml import escaped, fill_in, read_yaml, scalar

_NAME_LINE: Final = re.compile(r"^study:.*(\n[ \t].*)*$", re.MULTILINE)
QUICK_SUFFIX: Final = "-quick"
"""The end of the name of a quick study, so that the name without the end is free for a longer study."""
_QUICK: Final[Mapping[str, Any]] = {
    "workload": {"saturate": {"warmup": "1s", "measured": "2s"}, "paced": {"warmup": "0.5s", "measured": "1.5s"}},
    "search": {"trials": 10, "startup_trials": 5, "baseline_every": 6, "burn_in_max": 3},
    "confirm": {
        "goals": ["balanced"],
        "nominees": 2,
        "nominee_repeats": 1,
        "rounds": 6,
        "max_rounds": 10,
        "width_ratio": 0.6,
        "undo_rounds": 0,
        "new_broker": "never",
        "spread_over": "0s",
    },
}
"""The settings of a study that takes minutes: few trials with short phases, and the fewest rounds that show a gain."""


class _Dumper(yaml.SafeDumper):
    """A YAML dumper that puts a text in quotes if it would otherwise be read back as a number, a boolean or null."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if scalar(value) == value else '"')


_Dumper.add_representer(str, _represent_text)


def study_text(sections: Mapping[str, Any]) -> str:
    """Return the text of a study file with the given sections, which are not checked.

    Args:
        sections: The sections by name, as in a study file. Keys whose value is None or empty are left out. Paths are
            made absolute, because the text is not in a folder. A `${` in a text is escaped, so that it is read as it is
            and not as an environment variable.
    """
    return _dumped(_given(sections))


def measuring_text(
    name: str,
    record_bytes: str,
    *,
    target: Any = None,
    client: str | None = None,
    baseline: Any = None,
    measured_s: float | None = None,
    warmup_s: float | None = None,
    executor: str | None = None,
) -> str:
    """Return the text of a study file that measures without a search, for example to verify a config.

    Args:
        name: Name of the study.
        record_bytes: Record sizes and mixes, separated by commas.
        target: The section `target`; None for a broker on this machine.
        client: The client that is measured; None for librdkafka.
        baseline: The section `baseline`; None for the client's defaults.
        measured_s: Seconds of load that are measured, in each phase; None for 10.
        warmup_s: Seconds of load before that; None for 2.
        executor: Where the benchmarks run; None for the default of a study file.
    """
    phase = {"warmup": 2.0 if warmup_s is None else warmup_s, "measured": 10.0 if measured_s is None else measured_s}
    return study_text(
        {
            "study": {"name": name},
            "target": target,
            "workload": {"record_bytes": sizes_in(record_bytes), "saturate": phase, "paced": phase},
            "client": client,
            "baseline": baseline,
            "durability": "any",
            "search": {"trials": 1},
            "executor": {"kind": executor},
        }
    )


def same_measurement(text: str, name: str, record_bytes: Sequence[str]) -> str:
    """Return a study file's text, changed so that it measures in the same way under a new name and without a search.

    Args:
        text: The text of the existing study file, which must be valid.
        name: Name of the new study.
        record_bytes: Record sizes and mixes of the new study.
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


def searching_text(
    written: Mapping[str, Any],
    name: str,
    record_bytes: Sequence[str],
    search: Mapping[str, Any],
    *,
    load: Mapping[str, Any],
    executor: Mapping[str, Any],
    max_bytes_per_trial: int,
) -> str:
    """Return the text of the study file for a search of an experiment.

    The study has the experiment's cluster and client, and the experiment's config as its baseline. It confirms nothing,
    because the experiment measures what it finds.

    Args:
        written: The sections of the experiment file, in which environment variables are not replaced.
        name: Name of the study.
        record_bytes: The record sizes and mixes that are searched.
        search: The sections of the search in the experiment file, which are those of a study file.
        load: Those settings of the experiment's load that a study's workload has, too.
        executor: The section executor of the study; empty for none.
        max_bytes_per_trial: The most bytes that a trial may send.
    """
    sections = {
        "study": {"name": name},
        **{key: written[key] for key in ("target", "client", "tracking") if key in written},
        "safety": {**(written.get("safety") or {}), "max_bytes_per_trial": max_bytes_per_trial},
        "baseline": written.get("config") or {},
        **search,
        "workload": {**load, "record_bytes": [*map(_size, record_bytes)], **(search.get("workload") or {})},
        **({"executor": dict(executor)} if executor else {}),
        "confirm": {"rounds": 0},
    }
    return _dumped(sections)


def quick_sections(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections of a study file with the settings of a quick study, except where the sections set others.

    Args:
        sections: The sections, as for `study_text`. The objectives are the name of a goal, or None.
    """
    return _by_p95(_with_fitting_rounds(_merged(_QUICK, sections), sections))


def quick_text(text: str, name: str) -> str:
    """Return a study file's text, changed so that the study takes minutes.

    Args:
        text: The text of the existing study file, which must be valid.
        name: Name of the quick study.
    """
    value = read_yaml(text, Problems(name))
    assert isinstance(value, dict)
    return _dumped(_by_p95({**_merged(value, _QUICK), "study": {"name": name}}))


def changed_text(text: str, changes: Mapping[str, Any]) -> str:
    """Return a study file's text with other settings.

    Args:
        text: The text of the existing study file, which must be valid YAML.
        changes: The new settings, by section and key. A key whose value is None is left out of the new text. Texts are
            escaped, and paths are made absolute, as by `study_text`.
    """
    value = read_yaml(text, Problems("the study file"))
    # A file without sections is left to the checks of the study file.
    return _dumped(_with_fitting_rounds(_changed(value, changes), changes)) if isinstance(value, dict) else text


def _with_fitting_rounds(sections: dict[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return sections in which a new `rounds` or `max_rounds` also changes the other one if they contradict."""
    confirm, new = sections.get("confirm"), changes.get("confirm") or {}
    if not isinstance(confirm, Mapping):
        return sections
    rounds, most = confirm.get("rounds"), confirm.get("max_rounds")
    changed = [key for key in ("rounds", "max_rounds") if new.get(key) is not None]
    if not (isinstance(rounds, int) and isinstance(most, int) and most < rounds and len(changed) == 1):
        return sections
    new_rounds = new[changed[0]]
    return {**sections, "confirm": {**confirm, "rounds": new_rounds, "max_rounds": new_rounds}}


def _changed(value: Any, changes: Mapping[str, Any]) -> Any:
    changed = dict(value) if isinstance(value, Mapping) else {}
    for key, new in changes.items():
        if isinstance(new, Mapping):
            changed[key] = _changed(changed.get(key), new)
        elif new is None:
            changed.pop(key, None)
        else:
            changed[key] = _given(new)
    return _without_former(changed)


def renamed(text: str, name: str) -> str:
    """Return a study file's text with another name of the study. Comments are kept where that is possible.

    Args:
        text: The text of the existing study file, which must be valid.
        name: The new name.
    """
    line, value = f"study: {json.dumps(name)}", read_yaml(text, Problems(name))
    text_of_lines = _NAME_LINE.sub(lambda _: line, text, count=1) if _NAME_LINE.search(text) else f"{line}\n{text}"
    with suppress(StudyFileError):  # a file in JSON, for example, has no such line
        if isinstance(value, dict) and read_yaml(text_of_lines, Problems(name)) == {**value, "study": name}:
            return text_of_lines
    return changed_text(text, {"study": {"name": name}})


def with_name(text: str, name: str) -> str:
    """Return a study file's text with the name that is given if the study has none.

    The lines keep their numbers where that is possible, because errors name them.

    Args:
        text: The text of the existing study file, which must be valid YAML.
        name: The name.
    """
    problems = Problems("the study file")
    value = read_yaml(text, problems)
    if not isinstance(value, dict) or _name_of(value.get("study")):  # it is left to the checks of the study file
        return text
    longer = f"{text}\nstudy: {json.dumps(name)}\n"
    with suppress(StudyFileError):  # a file in JSON, for example, takes no such line
        if read_yaml(longer, problems) == {**value, "study": name}:
            return longer
    return changed_text(text, {"study": {"name": name}})


def name_in(text: str, default: str, origin: str, environ: Mapping[str, str] | None = None) -> str | None:
    """Return the name that a study file's text gives the study.

    Args:
        text: The text, which may have mistakes elsewhere.
        default: What is returned if the text gives no name.
        origin: Name of the text in messages.
        environ: Environment variables for `${NAME}`; None leaves them in the name.

    Returns:
        The name; None if the text has no sections, or if the name is no text.

    Raises:
        StudyFileError: The text is not YAML, or a variable in the name is not set.
    """
    problems = Problems(origin)
    value = read_yaml(text, problems)
    if not isinstance(value, dict):
        return None
    study = value.get("study")
    if environ is not None:
        study = fill_in(study, environ, problems, ("study",))
        problems.stop_if_any()
    name = _name_of(study) or default
    return name if isinstance(name, str) else None


def _name_of(study: Any) -> Any:
    """Return the name in the section `study`, which may be the name itself."""
    return study.get("name") if isinstance(study, Mapping) else study


def knob_setting(text: str) -> Any:
    """Return what the section `space` of a study file says about a knob, from its short form on a command line.

    Args:
        text: A range such as `0..20`, also with `,log` or `,steps=5` after it; several values such as `lz4,zstd`; one
            value; `on` or `off`.
    """
    first, *rest = (part.strip() for part in text.split(","))
    low, dots, high = first.partition("..")
    if dots:
        setting: dict[str, Any] = {"low": scalar(low), "high": scalar(high)}
        for part in rest:
            key, _, value = part.partition("=")
            setting[key] = scalar(value) if value else True
        return setting
    return {"choices": [scalar(part) for part in (first, *rest)]} if rest else scalar(first)


def _by_p95(sections: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sections with the p95 in place of the p99 of a goal; a list of metrics stays as it is.

    In phases as short as those of a quick study, a single stall of the machine decides the p99.
    """
    goal = sections.get("objectives") or Goal.BALANCED
    if goal not in [*Goal]:
        return dict(sections)
    objectives, constraints = PRESETS[Goal(goal)]
    return {
        **sections,
        "objectives": [each.metric.replace("_p99_", "_p95_") for each in objectives],
        "constraints": [*map(str, constraints), *(sections.get("constraints") or ())],
    }


def sizes_in(text: str) -> list[int | str]:
    """Return the record sizes in a text such as `100,1000`, or the one mix in a text such as `100:70,1000:30`."""
    return [_size(text)] if ":" in text else [_size(size.strip()) for size in text.split(",")]


def _size(text: str) -> int | str:
    value = scalar(text)
    return value if isinstance(value, int) else text


def _merged(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of both mappings. The values of `above` win, except those that are None or empty."""
    merged = dict(below)
    for key, value in above.items():
        under = merged.get(key)
        if isinstance(value, Mapping) and isinstance(under, Mapping):
            merged[key] = _merged(under, value)
        elif value not in (None, {}, []):
            merged[key] = value
    return _without_former(merged)


def _without_former(settings: dict[str, Any]) -> dict[str, Any]:
    """Return settings without those under a former name whose present name is given, too."""
    return {key: value for key, value in settings.items() if FORMER_SETTINGS.get(key) not in settings}


def text_of_sections(sections: Mapping[str, Any], origin: str) -> str:
    """Return the text of a study file with these sections.

    Args:
        sections: The sections by name.
        origin: Name of the sections in messages.

    Raises:
        StudyFileError: A value is of a type that YAML can't write, such as a number of numpy.
    """
    try:
        return yaml.safe_dump(dict(sections), sort_keys=False)
    except yaml.representer.RepresenterError as error:
        value = error.args[-1]
        got = f"{type(value).__module__}.{type(value).__qualname__}"
        rule = f"must be a str, int, float, bool, list or dict, but got a {got}"
        raise StudyFileError(origin, [FileProblem(0, ".".join(_key_path(sections, value)), rule)]) from None


def _key_path(within: Any, wanted: object) -> tuple[str, ...]:
    """Return the keys and indexes that lead to an object; empty if it is not there."""
    entries = within.items() if isinstance(within, Mapping) else enumerate(within) if isinstance(within, list) else ()
    for key, value in entries:
        if value is wanted:
            return (str(key),)
        if below := _key_path(value, wanted):
            return (str(key), *below)
    return ()


def _dumped(sections: Any) -> str:
    return yaml.dump(sections, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000)


def _given(value: Any) -> Any:
    """Return a value with absolute paths and with every `${` in its texts escaped.

    Keys of mappings are left out if their value is None or empty.
    """
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
