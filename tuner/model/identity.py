"""The settings that a study's trials depend on.

They are compared when a study is resumed, because trials with different settings can't be mixed.
"""

from typing import Any

from tuner.model.errors import StudyChanged
from tuner.model.spec import StudySpec
from tuner.model.target import Target


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
        # Left out if empty, so that studies that older releases stored without them can still be resumed.
        **({"placement": list(spec.placement)} if spec.placement else {}),
        **({"verified": [config.values for config in spec.confirm.configs]} if spec.confirm.configs else {}),
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


def target_label(target: Target) -> str:
    """Return a target's name for tables and MLflow, without secrets."""
    if target.bootstrap is not None:
        return target.bootstrap
    if target.container is not None:
        return f"container {target.container}"
    return "embedded" if target.brokers == 1 else f"embedded, {target.brokers} brokers"


def _target(target: Target) -> dict[str, Any]:
    return {
        "bootstrap": target.bootstrap,
        "container": target.container,
        "brokers": target.brokers,
        "topic": target.topic,
        "like": target.like,
    }
