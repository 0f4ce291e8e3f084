"""The limits that the service's operator sets for submitted studies."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Final, TypeVar

from runners.reporting import one_line
from runners.workload import MOST_PARTITIONS, MOST_PRODUCERS
from tuner.model.spec import Executor, PhaseSpec, SafetySpec, StudySpec
from tuner.study_file import fields
from tuner.study_file.errors import KeyPath
from tuner.study_file.sections import Bytes, Duration, Measured, Section

_SAFETY: Final = SafetySpec()
_MOST: Final = "the most that this service allows"
_LEAST: Final = "the least that this service allows"
Number = TypeVar("Number", int, float, int | None, float | None)


class LimitsSection(Section):
    """What a submitted study may ask for at most. The service lowers larger values, and says so when you submit."""

    max_bytes_per_trial: Bytes = _SAFETY.max_bytes_per_trial
    """Largest safety.max_bytes_per_trial: bytes, or a text such as 50GB."""
    min_free_disk: Bytes = _SAFETY.min_free_disk_bytes
    """Smallest safety.min_free_disk: bytes, or a text such as 5GB. The service raises smaller values."""
    max_bytes: Bytes | None = None
    """Largest search.max_bytes, also for studies that do not set it. Default: no limit."""
    hours: Annotated[float, fields.number(0, 100_000, above=True)] | None = None
    """Largest search.hours, also for studies that do not set it. Default: no limit."""
    producers: Annotated[int, fields.whole(1, MOST_PRODUCERS)] = 10
    """Largest number of producers in one trial."""
    partitions: Annotated[int, fields.whole(1, MOST_PARTITIONS)] = 1_000
    """Largest number of partitions of the topics that a study creates."""
    phase: Measured = 600.0
    """Longest warmup and longest measurement in a phase of a trial: seconds, or a text such as 10m."""
    wait: Duration = 3600.0
    """Longest wait for a lost broker and for nodes of the Ray cluster: seconds, or a text such as 1h."""
    local: Annotated[bool, fields.flag()] = False
    """Whether studies may measure without Ray (executor.kind: local), in processes of this host."""


@dataclass(frozen=True, slots=True)
class LimitedValue:
    """A value of a submitted study that the service has changed.

    Attributes:
        key: The key in the study file, such as `safety.max_bytes_per_trial`.
        detail: How the value was changed, for example `was lowered from 900 s to 600 s, the most ...`.
    """

    key: str
    detail: str

    def __str__(self) -> str:
        """Return the key and how its value was changed, as a sentence without a full stop."""
        return f"{self.key} {self.detail}"


def limited(
    spec: StudySpec, limits: LimitsSection, written: Mapping[KeyPath, str]
) -> tuple[StudySpec, tuple[LimitedValue, ...]]:
    """Return a submitted study with all values within the operator's limits, and the values that were changed.

    Args:
        spec: The study as it was submitted.
        limits: The operator's limits.
        written: The text in the study file, such as `${NAME}`, of each value that came from an environment variable.
            It is shown instead of the value.
    """
    changes: list[LimitedValue] = []

    def note(key: str, how: str, asked: str, used: str, why: str) -> None:
        shown = one_line(written.get(tuple(key.split(".")), asked))
        changes.append(LimitedValue(key, f"was {how} from {shown} to {used}, {why}"))

    def most(key: str, asked: Number, limit: Number, unit: str = "") -> Number:
        if _bound(asked) <= _bound(limit):
            return asked
        note(key, "lowered", _shown(asked, unit), _shown(limit, unit), _MOST)
        return limit

    def phase(key: str, phase: PhaseSpec) -> PhaseSpec:
        warmup_s = most(f"{key}.warmup", phase.warmup_s, limits.phase, " s")
        return PhaseSpec(warmup_s, most(f"{key}.measured", phase.measured_s, limits.phase, " s"))

    load, search, safety = spec.workload, spec.search, spec.safety
    free, least_free = safety.min_free_disk_bytes, limits.min_free_disk
    if free < least_free:
        note("safety.min_free_disk", "raised", _shown(free, " bytes"), _shown(least_free, " bytes"), _LEAST)
    refused = spec.executor is Executor.LOCAL and not limits.local
    if refused:
        note("executor.kind", "changed", "local", "ray", "because this service does not allow local")
    inside = replace(
        spec,
        workload=replace(
            load,
            producers=most("workload.producers", load.producers, limits.producers),
            partitions=most("workload.partitions", load.partitions, limits.partitions),
            saturate=phase("workload.saturate", load.saturate),
            paced=phase("workload.paced", load.paced),
        ),
        search=replace(
            search,
            max_bytes=most("search.max_bytes", search.max_bytes, limits.max_bytes, " bytes"),
            hours=most("search.hours", search.hours, limits.hours, " hours"),
        ),
        safety=replace(
            safety,
            max_bytes_per_trial=most(
                "safety.max_bytes_per_trial", safety.max_bytes_per_trial, limits.max_bytes_per_trial, " bytes"
            ),
            min_free_disk_bytes=max(free, least_free),
            broker_wait_s=most("safety.broker_wait", safety.broker_wait_s, limits.wait, " s"),
        ),
        executor=Executor.RAY if refused else spec.executor,
        ray=replace(spec.ray, wait_s=most("executor.ray_wait", spec.ray.wait_s, limits.wait, " s")),
    )
    return inside, tuple(changes)


def limited_json(changes: Iterable[LimitedValue]) -> list[dict[str, str]]:
    """Return the changed values as JSON values, for the response to the client that submitted the study."""
    return [{"key": each.key, "detail": each.detail} for each in changes]


def _bound(value: float | None) -> float:
    return math.inf if value is None else value


def _shown(value: float | None, unit: str) -> str:
    return "no limit" if value is None else f"{value:,}".removesuffix(".0") + unit
