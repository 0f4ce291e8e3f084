"""What a study asks, so that its trials are never taken as answers to another question."""

from typing import Any

from tuner.model.errors import StudyChanged
from tuner.model.spec import StudySpec
from tuner.model.target import Target


def study_identity(spec: StudySpec) -> dict[str, Any]:
    """All that trials depend on, by the section of the study file; budgets and tracking may change. No secrets."""
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
        # Only where it was asked for, so that records from before there were zones go on.
        **({"placement": list(spec.placement)} if spec.placement else {}),
    }


def check_unchanged(name: str, asked: dict[str, Any], on_record: dict[str, Any]) -> None:
    """Compare what is asked now with what the record answers.

    Raises:
        StudyChanged: They differ; the message names the sections and both sides.
    """
    changed = [
        f"{section} is {asked.get(section)} but was {on_record.get(section)}"
        for section in sorted(asked.keys() | on_record.keys())
        if asked.get(section) != on_record.get(section)
    ]
    if changed:
        raise StudyChanged(
            f"the study {name} can only go on with the question it began with, but {'; '.join(changed)}; "
            "give the study another name to ask anew, or put it back as it was to go on"
        )


def target_label(target: Target) -> str:
    """Names a target in tables and in MLflow; no secrets."""
    if target.bootstrap is not None:
        return target.bootstrap
    if target.container is not None:
        return f"container {target.container}"
    return "embedded" if target.brokers == 1 else f"embedded, {target.brokers} brokers"


def lock_key(target: Target) -> str:
    """What two studies must not use at once: a cluster, or for brokers of our own this host."""
    return ",".join(sorted(target.bootstrap.split(","))) if target.bootstrap is not None else "brokers on this host"


def _target(target: Target) -> dict[str, Any]:
    return {
        "bootstrap": target.bootstrap,
        "container": target.container,
        "brokers": target.brokers,
        "topic": target.topic,
        "like": target.like,
    }
