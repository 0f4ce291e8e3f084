"""Reads from a study's results the load with which its trials were measured."""

from typing import Any, Final

from runners.reporting import counted
from runners.workload import RecordSizes, Workload
from tuner.model.errors import NothingToFit
from tuner.model.facts import IDENTITY, TOPIC_SHAPE
from tuner.model.spec import WorkloadSpec
from tuner.results.study_results import StudyResults

_SETTINGS: Final = ("key_bytes", "compressibility_ratio", "partitions", "replication")


def study_workload(study: StudyResults, record_bytes: str, rate_records_per_s: float | None = None) -> Workload:
    """Return the load of a study's trials for a record size, saturating or at a rate.

    Raises:
        NothingToFit: The load of the study had bursts. The model describes a constant rate.
    """
    # Older releases stored fewer settings. Settings that are missing had their default values.
    usual = WorkloadSpec(())
    load = {**{name: getattr(usual, name) for name in _SETTINGS}, **stored_load(study)}
    if load.get("peak_ratio", 1.0) != 1.0:
        raise NothingToFit(f"the performance model describes a constant rate, but that of {study.name} has bursts")
    return Workload(
        record_sizes=RecordSizes.parse(record_bytes),
        **{name: load[name] for name in _SETTINGS},
        rate_records_per_s=rate_records_per_s,
    )


def study_producers(study: StudyResults) -> int:
    """Return how many producers each trial of a study has."""
    producers: int = stored_load(study).get("producers", 1)
    return producers


def stored_load(study: StudyResults) -> dict[str, Any]:
    """Return the settings of the study's load, with the partitions and the replication that the topics had."""
    return {**study.facts.get(IDENTITY, {}).get("workload", {}), **study.facts.get(TOPIC_SHAPE, {})}


def assumed_shape(study: StudyResults) -> str:
    """Return a warning if the study did not store the partitions and replicas of its topic; otherwise an empty text."""
    if TOPIC_SHAPE in study.facts:
        return ""
    targets = study.facts.get(IDENTITY, {}).get("target") or []
    if not any(each.get("topic") or each.get("like") for each in targets):
        return ""
    load = stored_load(study)
    return (
        f"{study.name} was measured by an older release, which did not store the partitions and replicas of the "
        f"cluster's topic; assumed: {counted(load['partitions'], 'partition')}, replication {load['replication']}"
    )
