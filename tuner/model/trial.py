"""The types for a trial with its measured values, and for a proposed config.

Their objects are immutable, and have the same fields in memory and in the results store.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, Final, Self

from typing_extensions import override

from search_spaces.client import client_of
from search_spaces.configs.producer_config import ProducerConfig
from search_spaces.errors import ConfigError
from tuner.model.json_types import check_types

PACED: Final = "paced"
SATURATED: Final = "saturated"
"""The names of a trial's phases: the load at a fixed rate, and the load at full speed."""


class TrialKind(StrEnum):
    """Why a trial is run."""

    BURN_IN = "burn-in"
    BASELINE = "baseline"
    SEARCH = "search"
    REPEAT = "repeat"
    CONFIRM = "confirm"
    UNDO = "undo"
    MEASUREMENT = "measurement"

    @classmethod
    @override
    def _missing_(cls, value: object) -> "TrialKind | None":
        """Return the kind for a name that older releases stored."""
        return {"second-look": cls.REPEAT, "ablation": cls.UNDO}.get(str(value))


SEARCHING_KINDS: Final = (TrialKind.BASELINE, TrialKind.SEARCH)
"""The kinds of trials that the planned number of trials of a study counts."""

CONFIRMING_KINDS: Final = (TrialKind.REPEAT, TrialKind.CONFIRM, TrialKind.UNDO)
"""The kinds of trials that measure the best configs again after the search."""


class State(StrEnum):
    """How a trial ended."""

    COMPLETE = "complete"
    FAILED = "failed"
    """The trial says nothing about the config: a worker or broker was lost, or our code failed."""


_STORED_NAMES: Final = {"window_values": "course"}
"""The key under which a field of a trial is stored, if that is not the field's name."""


@lru_cache(maxsize=4_096)
def _parsed(client: str, values: tuple[tuple[str, str], ...]) -> ProducerConfig:
    """Return this client's config. It is cached, because a study uses the same configs again and again."""
    return ProducerConfig.parse(dict(values), client_of(client))


@dataclass(frozen=True, slots=True)
class Trial:
    """One trial as it is kept in the results store.

    Attributes:
        record_bytes: The record size or mix, as `RecordSizes` prints it.
        number: Number of the trial among all trials of its record size, from 0.
        kind: Why the trial was run.
        state: How it ended.
        values: The config's properties by Kafka's names, as given to the client.
        fingerprint: The config's fingerprint.
        guarantee: The config's guarantee, in words.
        params: The config as values of the sampler's parameters; empty if the sampler did not propose the config and
            the search space does not contain it.
        metrics: Values by the names of `objectives.metrics.OUTCOME_METRICS`.
        objectives: One value per objective of the study; None for an objective that the trial has no value for.
        violations: For every constraint, by how much the trial breaks it; 0 or less if the constraint is met.
        verdict: What limited the saturating phase.
        because: The evidence for the verdict.
        flagged: Whether the verdict is that the measurement says nothing about the config.
        error: Why there is no measurement; empty if there is one.
        warnings: What makes the measurement less reliable.
        worker: The worker that measured.
        attempts: Number of attempts; above 1 if a worker was lost and replaced.
        started_at: Start time in UTC, ISO 8601.
        duration_s: Seconds from the proposal to the stored result, overhead included.
        load_s: Seconds of load, including the delivery of records that were still queued.
        value_bytes: Bytes of values acknowledged, warm-up included.
        sent_bytes: Bytes of values and keys that were sent in all phases and attempts, also in those that failed. If a
            lost worker could not report its bytes, the largest number of bytes that it may have sent is counted. None
            in a record of an older release.
        round: Round of the confirmation or of the experiment; None for other trials.
        proposal: Index of the proposal in the search; None for other trials.
        sampler_state: Data that the sampler attached; the sampler gets the data again when the study is resumed.
        stopped_early: Why racing stopped the trial before its end (`objectives.racing`); empty if it did not. The
            metrics then cover the time until the stop. The sampler learns from them, but the trial is never on the
            front.
        saved_s: Seconds of load saved by stopping early; below 0 if a shortened phase was run again at full length.
        window_values: For every metric, the values in the measured windows, if the phase ran to its end.
        client: The client that the config is for, as `search_spaces.Client.identity`: "librdkafka" or "java 4.3.1".
        row: The row of the experiment that was measured; empty for the trial of a study.
    """

    record_bytes: str
    number: int
    kind: TrialKind
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
    sent_bytes: int | None = None
    round: int | None = None
    proposal: int | None = None
    sampler_state: Mapping[str, Any] = field(default_factory=dict)
    stopped_early: str = ""
    saved_s: float = 0.0
    window_values: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    client: str = "librdkafka"
    row: str = ""

    @property
    def feasible(self) -> bool:
        """Whether the trial has a value for every objective, and met every constraint until the trial ended."""
        return (
            self.state is State.COMPLETE
            and bool(self.objectives)
            and None not in self.objectives
            and all(violation <= 0 for violation in self.violations.values())
        )

    @property
    def lost_records(self) -> bool:
        """Whether records were lost: the client sent them, and they were counted as not delivered."""
        return self.metrics.get("delivered_ratio", 1.0) < 1.0

    @property
    def key(self) -> str:
        """The trial's name within its study: `1000/0007`."""
        return trial_key(self.record_bytes, self.number)

    @property
    def spent_bytes(self) -> float:
        """The bytes that count against the byte limit of the study."""
        return self.value_bytes if self.sent_bytes is None else self.sent_bytes

    def config(self) -> ProducerConfig:
        """Return the config, checked against the client's rules.

        Raises:
            ConfigError: The client does not accept the config, for example because another version wrote it. The
                message names the trial.
        """
        try:
            return _parsed(self.client, tuple(self.values.items()))
        except ConfigError as error:
            error.args = (f"the config of trial {self.key}: {error}", *error.args[1:])
            raise

    def as_json(self) -> dict[str, Any]:
        """Return the trial's fields, converted to JSON types, for `from_json` to read."""
        fields = {_STORED_NAMES.get(name, name): getattr(self, name) for name in self.__slots__}
        plain: dict[str, Any] = json.loads(json.dumps(fields))
        return plain

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Return the trial that `as_json` wrote. Unknown fields are ignored, so that older code reads newer files.

        Raises:
            KeyError: The kind or the state of the trial is missing.
            TypeError: Another required field is missing, or a field has the wrong type.
            ValueError: This release does not know the kind or the state of the trial.
        """
        stored_names = {name: _STORED_NAMES.get(name, name) for name in cls.__slots__}
        known = {name: data[stored] for name, stored in stored_names.items() if stored in data}
        check_types(cls, known)
        known["kind"], known["state"] = TrialKind(known["kind"]), State(known["state"])
        for name in ("objectives", "warnings"):
            known[name] = tuple(known.get(name, ()))
        known["window_values"] = {name: tuple(values) for name, values in known.get("window_values", {}).items()}
        return cls(**known)


def trial_key(record_bytes: str, number: int) -> str:
    """Return the name of a trial within its study: `1000/0007`."""
    return f"{record_bytes}/{number:04d}"


@dataclass(frozen=True, slots=True)
class Proposal:
    """A config that the sampler proposes to measure.

    Attributes:
        config: The config.
        index: Index of the proposal, from 0, by which the sampler gets the result. It has no meaning for a config that
            no sampler has proposed.
        params: The sampler's parameters for this config.
        sampler_state: Data that the sampler wants stored with the trial.
    """

    config: ProducerConfig
    index: int = 0
    params: Mapping[str, int | float | str] = field(default_factory=dict)
    sampler_state: Mapping[str, Any] = field(default_factory=dict)
