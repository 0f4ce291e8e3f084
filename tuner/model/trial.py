"""One trial: what was measured, what came of it, what it is worth. And which one is under way: a study's progress.

Immutable, and the same in memory and on disk.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self

from search_spaces.producer_config import ProducerConfig


class Kind(StrEnum):
    """Why a trial was run."""

    STABILISE = "burn-in"
    BASELINE = "baseline"
    SEARCH = "search"
    SECOND_LOOK = "second-look"
    CONFIRM = "confirm"
    ABLATION = "ablation"


CONFIRMING_KINDS: Final = (Kind.SECOND_LOOK, Kind.CONFIRM, Kind.ABLATION)
"""Kinds of trials after the search: what was found is measured again."""


class State(StrEnum):
    """How it ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    """Nothing was learnt of the config: a lost worker, a lost broker, a defect."""


@lru_cache(maxsize=4_096)
def _parsed(values: tuple[tuple[str, str], ...]) -> ProducerConfig:
    """The config of some properties: a study asks for the same few again and again."""
    return ProducerConfig.parse(dict(values))


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial as the results store keeps it.

    Attributes:
        record_bytes: The record size or mix it belongs to, as `RecordSizes` prints it.
        number: Counts within the record size, from 0, over all kinds.
        kind: Why it was run.
        state: How it ended.
        values: The config's properties by Kafka's names, as given to the client.
        fingerprint: Of the config.
        guarantee: What the config promises, in words.
        params: The sampler's parameters; empty where it was not the sampler's proposal and lies outside the space.
        metrics: By the names of `objectives.outcome.OUTCOME_METRICS`.
        objectives: One value per objective of the study; None where the trial had none.
        violations: By how much each constraint was missed; 0 or less is kept.
        verdict: What bound the saturating phase.
        because: Why we say so.
        flagged: Whether the verdict says that the measurement tells nothing of the config.
        error: Why there is no measurement; empty when there is.
        warnings: What weakens the measurement.
        worker: Who measured.
        attempts: Above 1 when a lost worker was replaced.
        started_at: UTC, ISO 8601.
        duration_s: From ask to tell, overhead included.
        load_s: Seconds of load in it, the delivery of what was still queued included.
        value_bytes: Bytes of values acknowledged, warm-up included.
        round: Of the confirmation; None elsewhere.
        proposal: Index of the proposal in the search; None elsewhere.
        sampler_state: What the sampler attached, to be given back when a study is resumed.
        stopped_early: Why it was stopped before its time, as it could not come to anything; empty when it ran to its
            end. Its numbers are those seen until then: fit to learn from, and never of the front.
        saved_s: Planned seconds of load that racing has spared it; below 0 where a short phase was run again in full.
        course: By metric, its value in each measured window, of phases that ran to their end.
    """

    record_bytes: str
    number: int
    kind: Kind
    state: State
    values: Mapping[str, str]
    fingerprint: str
    guarantee: str
    params: Mapping[str, int | float | str] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    objectives: tuple[float | None, ...] = ()
    violations: Mapping[str, float] = field(default_factory=dict)
    verdict: str = ""
    because: str = ""
    flagged: bool = False
    error: str = ""
    warnings: tuple[str, ...] = ()
    worker: str = ""
    attempts: int = 1
    started_at: str = ""
    duration_s: float = 0.0
    load_s: float = 0.0
    value_bytes: float = 0.0
    round: int | None = None
    proposal: int | None = None
    sampler_state: Mapping[str, Any] = field(default_factory=dict)
    stopped_early: str = ""
    saved_s: float = 0.0
    course: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def feasible(self) -> bool:
        """Whether it has every number that is asked for and keeps every constraint, as far as it went."""
        return (
            self.state is State.COMPLETE
            and bool(self.objectives)
            and None not in self.objectives
            and all(violation <= 0 for violation in self.violations.values())
        )

    @property
    def key(self) -> str:
        """Names the trial within its study: `1000/0007`."""
        return f"{self.record_bytes}/{self.number:04d}"

    def config(self) -> ProducerConfig:
        """The config, checked."""
        return _parsed(tuple(self.values.items()))

    def as_json(self) -> dict[str, Any]:
        """Of JSON types only; `from_json` reads it."""
        plain: dict[str, Any] = json.loads(json.dumps({name: getattr(self, name) for name in self.__slots__}))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The trial that `as_json` wrote; unknown fields are left out, so that older code reads newer files."""
        known = {name: data[name] for name in cls.__slots__ if name in data}
        known["kind"], known["state"] = Kind(known["kind"]), State(known["state"])
        for name in ("objectives", "warnings"):
            known[name] = tuple(known.get(name, ()))
        known["course"] = {name: tuple(values) for name, values in known.get("course", {}).items()}
        return cls(**known)


@dataclass(frozen=True, slots=True)
class Proposal:
    """A config to measure.

    Attributes:
        index: Of the proposal, from 0; given back with `told`.
        config: To be measured.
        params: The sampler's parameters behind it.
        sampler_state: What the sampler wants kept with the trial.
    """

    index: int
    config: ProducerConfig
    params: Mapping[str, int | float | str]
    sampler_state: Mapping[str, Any] = field(default_factory=dict)


class StudyState(StrEnum):
    """What a study is doing."""

    RUNNING = "running"
    CONFIRMING = "confirming"
    INTERRUPTED = "interrupted"
    FAILED = "failed"
    FINISHED = "finished"


@dataclass(frozen=True, slots=True)
class Progress:
    """What is being done for a study now, as the process that runs it tells those who look on; each replaces the last.

    Attributes:
        state: What the study is doing; one whose process was killed says what it last did.
        record_bytes: The record size or mix being measured; empty between them.
        trial: Number of the trial that is under way.
        kind: Why that trial is run.
        trials: How many trials its record size is to have; None where time or bytes end the search.
        phase: The phase that is under way; empty before its first window.
        message: All of this in words; empty when nothing is being measured.
        ends_at: When the study will probably end, ISO 8601; None where that can't be told.
        behind_mlflow: Trials on record that MLflow does not show yet.
        pid: Of the process that runs the study.
        started_at: When that process began, ISO 8601.
        updated_at: When it told this, ISO 8601.
        alive: Whether that process still runs, where the storage knows; None where only its own host can tell.
    """

    state: StudyState
    record_bytes: str = ""
    trial: int | None = None
    kind: Kind | None = None
    trials: int | None = None
    phase: str = ""
    message: str = ""
    ends_at: str | None = None
    behind_mlflow: int = 0
    pid: int | None = None
    started_at: str = ""
    updated_at: str = ""
    alive: bool | None = None

    @property
    def running(self) -> bool:
        """Whether a process works on the study, unless it was killed."""
        return self.state in (StudyState.RUNNING, StudyState.CONFIRMING)

    def as_json(self) -> dict[str, Any]:
        """What is kept, of JSON types only; `from_json` reads it."""
        return {name: value for name, value in asdict(self).items() if name != "alive"}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """The progress that `as_json` wrote; what is missing has its default, and what is unknown is left out.

        Raises:
            KeyError: There is no state.
            ValueError: The state, or the kind of trial, is none that this release knows.
        """
        known = {name: data[name] for name in cls.__slots__ if name in data}
        known["state"] = StudyState(known["state"])
        known["kind"] = Kind(known["kind"]) if known.get("kind") else None
        return cls(**known)
