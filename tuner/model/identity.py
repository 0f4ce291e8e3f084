"""What a study's trials depend on: the settings, and the host, client and cluster that they were measured with.

Both are compared when a study is resumed, because trials that differ in them can't be mixed.
"""

from collections.abc import Mapping
from typing import Any, Final

from tuner.model.errors import StudyChanged
from tuner.model.spec import StudySpec
from tuner.model.target import Target

MIXED: Final = "mixed"
"""The key under which the results store keeps how the environment has changed between trials, as sentences."""


def study_identity(spec: StudySpec) -> dict[str, Any]:
    """Return every setting that trials depend on, by section of the study file.

    Budgets and tracking are left out, because they may change between two runs of the study. Secrets are left out too.
    """
    load = spec.workload
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
            "saturate": [load.saturate.warmup_s, load.saturate.measured_s],
            "paced": [load.paced.warmup_s, load.paced.measured_s] if spec.paced else None,
        },
        "baseline": spec.baseline.values,
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
        # Left out if empty, so that studies that older releases stored without zones can still be resumed.
        **({"placement": list(spec.placement)} if spec.placement else {}),
    }


def check_unchanged(name: str, asked: dict[str, Any], on_record: dict[str, Any]) -> None:
    """Compare the settings of the study file with those that the study's trials were measured with.

    Args:
        name: The study's name.
        asked: What `study_identity` returns for the study file.
        on_record: What `study_identity` returned when the study began, from the results store.

    Raises:
        StudyChanged: The settings differ; the message names every section that differs, with both values.
    """
    changed = [
        f"{section} is {asked.get(section)} but was {on_record.get(section)}"
        for section in sorted(asked.keys() | on_record.keys())
        if asked.get(section) != on_record.get(section)
    ]
    if changed:
        raise StudyChanged(
            f"the study {name} can only be resumed with the settings of its trials, but {'; '.join(changed)}; "
            "restore the old settings to resume, or give the study another name to start anew"
        )


def environment_changes(now: Mapping[str, Any], on_record: Mapping[str, Any], *, loads_here: bool) -> list[str]:
    """Return how the environment differs from the one in which a study was measured, as parts of a sentence.

    A value that is not known for one of the two is not compared: older releases stored less, a host may have no id, and
    a broker that we start has a new cluster id each time.

    Args:
        now: What `tuner.course.open_target.all_facts` returns now.
        on_record: The facts from the results store.
        loads_here: Whether this host runs the loads. If not, they run on a Ray cluster, which chooses its nodes.
    """

    def of(facts: Mapping[str, Any]) -> dict[str, tuple[Any, Any]]:
        machine, host = facts.get("machine") or {}, facts.get("host") or {}
        ids = facts.get("cluster_ids") or [(facts.get("cluster") or {}).get("cluster_id")]
        of_host = {
            "host": (machine.get("id"), f"{machine.get('name')} (id {machine.get('id')})"),
            "processor": (host.get("processor"),) * 2,
            "number of cores": (host.get("cores"),) * 2,
        }
        return {
            **(of_host if loads_here else {}),
            "client": (facts.get("client_version"),) * 2,
            "broker's version": (facts.get("broker_version"),) * 2,
            **{f"cluster id of target {place}": (each, each) for place, each in enumerate(ids, 1)},
        }

    ours, theirs = of(now), of(on_record)
    return [
        f"the {name} is {shown} but was {theirs[name][1]}"
        for name, (value, shown) in ours.items()
        if name in theirs and value != theirs[name][0] and not {value, theirs[name][0]} & {None, "", "unknown"}
    ]


def target_label(target: Target) -> str:
    """Return a target's name for tables and MLflow, without secrets."""
    if target.bootstrap is not None:
        return target.bootstrap
    if target.container is not None:
        return f"container {target.container}"
    return "embedded" if target.brokers == 1 else f"embedded, {target.brokers} brokers"


def lock_key(target: Target) -> str:
    """Return the name of a study's lock on its target: the cluster's address, or this host if we start the brokers.

    Two studies whose locks have the same name must not run at the same time.
    """
    return ",".join(sorted(target.bootstrap.split(","))) if target.bootstrap is not None else "brokers on this host"


def _target(target: Target) -> dict[str, Any]:
    return {
        "bootstrap": target.bootstrap,
        "container": target.container,
        "brokers": target.brokers,
        "topic": target.topic,
        "like": target.like,
    }
