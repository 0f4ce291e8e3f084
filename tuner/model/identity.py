"""The settings that stored trials depend on: a study or an experiment is only resumed if they are the same."""

import re
from collections.abc import Mapping, Set
from dataclasses import asdict
from typing import Any, Final

from runners.workload import LATER_SETTINGS
from search_spaces.client import ClientKind
from search_spaces.configs.guarantee import DURABILITY
from tuner.model.errors import StudyChanged
from tuner.model.experiment import ExperimentSpec
from tuner.model.facts import EXPERIMENT, IDENTITY
from tuner.model.row import Row
from tuner.model.spec import StudySpec
from tuner.model.target import Target

KEPT_BY_FORK: Final = frozenset({"target", "workload", "client", "baseline", "executor"})
"""The sections of a study file that must be the same if a study takes over trials of another study."""
_USUAL_CLIENT: Final = str(ClientKind.LIBRDKAFKA)
_PACED: Final = "workload.paced"
_PHASE: Final = ("warmup", "measured")
_KEYS: Final = {
    "rate_records_per_s": "workload.paced.rate_records_per_s",
    "rate_ratio": "workload.paced.rate_ratio",
    "peak_ratio": "workload.paced.peak_ratio",
    "placement": "executor.placement",
    "consumer_zone": "executor.consumer_zone",
}
"""The key of the study file for each setting that has another name in `study_identity`."""
_LATER: Final = {name: usual for name, usual in LATER_SETTINGS.items() if name != "consumers"}
"""The settings of a load that stored experiments of older releases lack, each with the value that it then has.

The first release with experiments already stored the number of consumers.
"""


def study_identity(spec: StudySpec) -> dict[str, Any]:
    """Return every setting that trials depend on, by section of the study file.

    Budgets and tracking are left out, because they may change between two runs of the study. Secrets are left out too.
    Constraints may change as well, but are kept here, so that a change is noticed and the trials are judged again.
    """
    load, zones, consumer_zone = spec.workload, spec.placement.zones, spec.placement.consumer_zone
    return {
        "target": [_target(target) for target in spec.targets],
        "workload": {
            **{
                name: getattr(load, name)
                for name in (
                    "key_bytes",
                    "compressibility_ratio",
                    "partitions",
                    "replication",
                    "producers",
                    "rate_records_per_s",
                    "rate_ratio",
                    "seed",
                )
            },
            **{name: value for name, usual in LATER_SETTINGS.items() if (value := getattr(load, name, usual)) != usual},
            "saturate": [load.saturate.warmup_s, load.saturate.measured_s],
            "paced": [load.paced.warmup_s, load.paced.measured_s] if spec.paced else None,
        },
        "baseline": spec.baseline.values,
        # Left out for librdkafka, so that studies that older releases stored without it can still be resumed.
        **({"client": spec.client.identity} if spec.client.kind is not ClientKind.LIBRDKAFKA else {}),
        "space": {name: str(change) for name, change in sorted(spec.space.items())},
        "durability": str(spec.floor),
        "objectives": [objective.metric for objective in spec.objectives],
        "constraints": [str(constraint) for constraint in spec.constraints],
        "search": {
            "method": spec.search.sampler or str(spec.search.method),
            "seed": spec.search.seed,
            "startup_trials": spec.search.startup_trials,
            "baseline_every": spec.search.baseline_every,
            "grid_steps": spec.search.grid_steps,
        },
        "executor": "simulated" if spec.executor == "simulated" else "real",
        # Left out if empty, so that studies that older releases stored without them can still be resumed.
        **({"placement": list(zones)} if zones else {}),
        **({"consumer_zone": consumer_zone} if consumer_zone is not None else {}),
        **({"verified": [config.values for config in spec.confirm.configs]} if spec.confirm.configs else {}),
    }


def check_unchanged(name: str, wanted: Mapping[str, Any], stored: Mapping[str, Any], *, forks: bool = True) -> None:
    """Compare the settings of the study file with those that the study's trials were measured with.

    Constraints may differ, because all trials can be judged again by the new constraints.

    Args:
        name: The study's name.
        wanted: What `study_identity` returns for the study file.
        stored: What `study_identity` returned when the study began, from the results store.
        forks: Whether the user can call `tuner fork`.

    Raises:
        StudyChanged: The settings differ. The message has one line for each key of the study file that differs, with
            both values.
    """
    changed = setting_changes(wanted, stored)
    if not changed:
        return
    lines = [f"{key}: {change}" for key, change in changed.items()]
    where = " (`study:` in the study file, or --name)" if forks else ""
    advice = f"restore the old settings to resume, or give the study another name{where} to start over"
    if forks and not KEPT_BY_FORK & set(map(section_of, changed)):
        advice += f"; `tuner fork {name} NEW-NAME STUDY.YAML` begins a study that takes over the trials that still fit"
    rule = f"the study {name} can only be resumed with the settings of its trials, but these differ:"
    raise StudyChanged("\n  ".join([rule, *lines]) + f"\n{advice}")


def setting_changes(asked: Mapping[str, Any], stored: Mapping[str, Any]) -> dict[str, str]:
    """Return which settings differ, by key of the study file, such as `2s in the study, 3s now`.

    Args:
        asked: What `study_identity` returns for the study file.
        stored: What `study_identity` returned when the study began, from the results store.
    """
    return {key: f"{then} in the study, {now} now" for key, (then, now) in setting_differences(stored, asked).items()}


def setting_differences(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return which settings of two studies differ, by key of the study file, with both values as text.

    Args:
        ours: What `study_identity` returned for the first study.
        theirs: What `study_identity` returns for the second study.
    """
    one, other = _settings({"client": _USUAL_CLIENT, **ours}), _settings({"client": _USUAL_CLIENT, **theirs})
    if one.get(_PACED) != other.get(_PACED):
        # If only one of the studies has a paced phase, differences in the settings of this phase do not matter.
        one, other = (
            {key: each for key, each in settings.items() if not key.startswith(f"{_PACED}.")}
            for settings in (one, other)
        )
    return {
        key: (_text(one.get(key)), _text(other.get(key)))
        for key in sorted(one.keys() | other.keys())
        if one.get(key) != other.get(key)
    }


def section_of(key: str) -> str:
    """Return the section of a study file that a key belongs to: `target` for `target.topic`."""
    section = re.split(r"[.\[]", key, maxsplit=1)[0]
    return "target" if section == "targets" else section


def settings_shown(identity: Mapping[str, Any]) -> dict[str, str]:
    """Return the load, the durability, the baseline and the search space in an identity, by keys of a study file.

    Settings without a value are left out. So is the value `measured` of a phase, because the settings of the phase show
    that it was measured.

    Args:
        identity: What `study_identity` returned.
    """
    shown = ("workload", "durability", "baseline", "space")
    found = {key: each for key, each in _settings(identity).items() if section_of(key) in shown}
    return {key: _text(each) for key, each in found.items() if each not in (None, "measured")}


def _settings(identity: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings in an identity by their keys in a study file; constraints are left out."""
    settings: dict[str, Any] = {}
    for section, value in identity.items():
        if section == "target":
            for index, target in enumerate(value):
                settings |= {
                    f"target{f's[{index}]' if index else ''}.{key}": setting for key, setting in target.items()
                }
        elif section == "workload":
            for key, setting in value.items():
                if key in ("saturate", "paced"):
                    settings[f"workload.{key}"] = "measured" if setting else "not measured"
                    settings |= {
                        f"workload.{key}.{part}": f"{s:g}s" for part, s in zip(_PHASE, setting or (), strict=False)
                    }
                else:
                    settings[_KEYS.get(key, f"workload.{key}")] = setting
        elif section == "space":
            settings |= {f"space.{knob}": _knob_change(change) for knob, change in value.items()}
        elif section in ("baseline", "search"):
            settings |= {f"{section}.{key}": setting for key, setting in value.items()}
        elif section == "durability":
            settings[section] = next((word for word, setting in DURABILITY.items() if str(setting) == value), value)
        elif section == "executor":
            settings["executor.kind"] = "ray or local" if value == "real" else value
        elif section != "constraints":
            settings[_KEYS.get(section, section)] = value
    if settings.get(_PACED) == "not measured":
        settings = {key: value for key, value in settings.items() if not key.startswith(f"{_PACED}.")}
    return settings


def _knob_change(stored: str) -> str:
    """Return what a study file says about a knob, such as `low: 1, high: 20`, from the text of a `KnobChange`."""
    found: list[tuple[str, str]] = re.findall(r"(\w+)=(\(.*?\)|'.*?'|[^,)]*)", stored)
    asked = {name: text for name, text in found if text != "None" and (name, text) != ("off", "False")}
    if "off" in asked:
        return "off"
    if "value" in asked:
        return asked["value"].strip("'")
    if "choices" in asked:
        choices = ", ".join(re.findall(r"'(.*?)'", asked["choices"]))
        return f"choices: [{choices}]"
    return ", ".join(f"{name}: {text.lower()}" for name, text in asked.items()) or "on"


def _text(value: object) -> str:
    match value:
        case None:
            return "not set"
        case [*several]:
            return ", ".join(map(_text, several))
        case Mapping():
            return " ".join(f"{name}={inner}" for name, inner in value.items())
        case float() if value.is_integer():
            return str(int(value))
        case _:
            return str(value).replace("<lambda>", "a function")  # a sampler without a name, from the Python API


def _target(target: Target) -> dict[str, Any]:
    return {
        "bootstrap": target.bootstrap,
        "container": target.container,
        "brokers": target.brokers,
        "topic": target.topic,
        "like": target.like,
        # Left out without a link, so that studies that older releases stored can still be resumed.
        **({"link": str(target.link)} if target.link else {}),
    }


def check_same_rows(spec: ExperimentSpec, facts: Mapping[str, Any], searched: Set[str] = frozenset()) -> None:
    """Check that an experiment has the same rows as the stored one. The configs of rows in `searched` may differ.

    Raises:
        StudyChanged: The experiment has other rows, or a study is stored.
    """
    if EXPERIMENT not in facts:
        raise StudyChanged(
            f"{spec.name} is the name of a study, so an experiment can't have it; give the experiment file another "
            "name (`experiment:`)"
        )

    def comparable(identity: Mapping[str, Any]) -> dict[str, Any]:
        return {name: {**each, "config": None} if name in searched else each for name, each in identity.items()}

    now, before = comparable(experiment_identity(spec)), comparable(facts[IDENTITY])
    if changed := sorted(name for name in now.keys() | before.keys() if now.get(name) != before.get(name)):
        raise StudyChanged(
            f"the experiment {spec.name} can only be resumed with the rows that it began with, but these differ: "
            f"{', '.join(changed)}; restore them, or give the experiment another name (`experiment:` in its file)"
        )


def experiment_identity(spec: ExperimentSpec) -> dict[str, Any]:
    """Return everything that the measurements depend on: the target, and each row by its name. Secrets are left out."""
    target = spec.target
    link = target.link and target.link.as_settings()
    return {
        "target": [target.bootstrap, target.container, target.brokers, target.topic, target.like, link],
        **{f"row {row.name}": _row_identity(row) for row in spec.rows},
    }


def _row_identity(row: Row) -> dict[str, Any]:
    load = {**asdict(row.workload), "record_sizes": str(row.workload.record_sizes)}
    load = {name: value for name, value in load.items() if name not in _LATER or value != _LATER[name]}
    setup = asdict(row.setup)
    setup |= setup.pop("placement")
    setup = {name: value for name, value in setup.items() if value not in (None, ())}
    if row.setup.placement.zones:
        setup["zones"] = list(row.setup.placement.zones)  # as it is stored
    return {"client": row.config.client.identity, "config": row.config.values, "load": load, **setup}
