"""The type `Recommendation`: a config for a record size and a goal, its gains, and how certain they are."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from enum import StrEnum
from math import inf
from typing import Any, Final, Self

from objectives.ratios import Ratio
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.goals import ALLOW_LOSS, Goal
from tuner.model.trial import Trial


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions that a user of `tuner recommend` gives: further constraints, and the loss that is allowed.

    Attributes:
        max_p99_ms: Largest allowed p99 latency at the study's fixed rate, in ms; None for no constraint.
        min_mb_per_s: Smallest allowed throughput; None for no constraint.
        allow_loss: How much a balanced config may lose in an objective, as a share from 0 to 1. A metric outside the
            goal counts as not worse if it loses no more. None for the value in the study.
    """

    max_p99_ms: float | None = None
    min_mb_per_s: float | None = None
    allow_loss: float | None = None

    @classmethod
    def named(cls, parameters: Mapping[str, Any]) -> Self:
        """Return the conditions from values by name, such as the parameters of a request. Other names are ignored."""
        return cls(**{name: parameters[name] for name in CONDITIONS if name in parameters})

    @property
    def options(self) -> tuple[str, ...]:
        """The options of `tuner recommend` for these conditions, as words: `("--max-p99-ms", "10")`."""
        given = {_option(name): getattr(self, name) for name in CONDITIONS}
        return tuple(word for name, value in given.items() if value is not None for word in (name, f"{value:.12g}"))

    @property
    def constrained(self) -> bool:
        """Whether there is a constraint that a config can break."""
        return not set(CONSTRAINING_OPTIONS).isdisjoint(self.options)

    @property
    def allowed_loss(self) -> float:
        """How much a balanced config may lose in an objective; `ALLOW_LOSS` if `allow_loss` is None."""
        return ALLOW_LOSS if self.allow_loss is None else self.allow_loss

    def met_by(self, metrics: Mapping[str, float]) -> bool:
        """Return whether the metrics meet both constraints. A constraint whose metric is missing is broken."""
        p99 = self.max_p99_ms is None or metrics.get("latency_p99_ms", inf) <= self.max_p99_ms
        return p99 and (self.min_mb_per_s is None or metrics.get("mb_per_s", 0.0) >= self.min_mb_per_s)


def _option(condition: str) -> str:
    return f"--{condition.replace('_', '-')}"


CONDITIONS: Final = tuple(each.name for each in fields(Conditions))
"""The names of all conditions."""
CONSTRAINING_OPTIONS: Final = tuple(_option(name) for name in CONDITIONS if name != "allow_loss")
"""The options of `tuner recommend` with which a user asks for a constraint."""
NO_CONDITIONS: Final = Conditions()
"""Conditions that every config meets."""


class SideEffectKind(StrEnum):
    """Whether a recommended config makes a metric outside the goal worse, by more than is allowed."""

    KEEPS = "keeps"
    WORSE = "worse"
    MAY_BE_WORSE = "may be worse"


@dataclass(frozen=True, slots=True)
class SideEffect:
    """The effect of a recommended config on one metric outside the goal.

    Attributes:
        ratio: How many times better than the baseline the config is in this metric, with an interval of 97.5 %.
        kind: `KEEPS` if the whole interval is above 1 minus the allowed loss. Otherwise `WORSE` if the whole interval
            is below 1, and `MAY_BE_WORSE` if it is not.
    """

    ratio: Ratio
    kind: SideEffectKind

    @classmethod
    def of(cls, ratio: Ratio, allow_loss: float) -> Self:
        """Return the side effect of a config on a metric in which it has this gain.

        Args:
            ratio: The config's gain in the metric.
            allow_loss: How much the config may lose in the metric; 0.1 is 10 %.
        """
        if ratio.low >= 1 - allow_loss:
            return cls(ratio, SideEffectKind.KEEPS)
        return cls(ratio, SideEffectKind.WORSE if ratio.high < 1.0 else SideEffectKind.MAY_BE_WORSE)


@dataclass(frozen=True, slots=True)
class Recommendation:
    """The config to use for a record size and a goal, with its measured numbers.

    Attributes:
        study: The study's name.
        record_bytes: The record size, or mix of sizes, that was measured.
        goal: What the config is recommended for.
        trial: The trial that found the config.
        baseline: The baseline's trial.
        gains: By metric, the gain over the baseline, from the confirmation rounds; empty if there were none. An
            unproven gain in a tail latency allows for one more stall, so its interval can differ from that in
            `side_effects`.
        metrics: The config's numbers: means over its confirmation rounds, or over all its measurements if there were no
            rounds. A metric that could not be compared in some rounds has the mean of the other rounds.
        baseline_metrics: The baseline's numbers, averaged in the same way.
        is_baseline: Whether the baseline itself is recommended.
        how: How the config was measured, in one sentence.
        warnings: What the user should know before using the config.
        proven: Whether the whole interval of the config's gain lies above 1.
        side_effects: By metric, the effect on the other metrics that the rounds compared with the baseline. Empty if
            the config is not proven better.
        measured_again: Whether `metrics` and `baseline_metrics` were measured in a confirmation, and not in the search.
        objectives: The metrics that the study optimises; empty in a record of an earlier release.
        alternatives: If the baseline is recommended, or if `unproven` names a goal: the recommendations for other goals
            that have a proven config.
        unproven: If the user gave no goal and no config is proven better for the study's first goal: all goals for
            which no config is proven better. Otherwise empty.
        asked: The options of `tuner recommend` by which the config was chosen, without size and goal, as words.
    """

    study: str
    record_bytes: str
    goal: Goal
    trial: Trial
    baseline: Trial
    gains: Mapping[str, Ratio]
    metrics: Mapping[str, float]
    baseline_metrics: Mapping[str, float]
    is_baseline: bool
    how: str
    warnings: tuple[str, ...] = ()
    proven: bool = False
    side_effects: Mapping[str, SideEffect] = field(default_factory=dict)
    alternatives: Mapping[Goal, "Recommendation"] = field(default_factory=dict)
    unproven: tuple[Goal, ...] = ()
    asked: tuple[str, ...] = ()
    measured_again: bool = False
    objectives: tuple[str, ...] = ()

    def __repr__(self) -> str:
        """Return `Recommendation('overnight', record_bytes='1000', goal='latency', trial=7, proven=True)`."""
        return (
            f"Recommendation({self.study!r}, record_bytes={self.record_bytes!r}, goal={str(self.goal)!r}, "
            f"trial={self.trial.number}, proven={self.proven})"
        )

    @property
    def config(self) -> ProducerConfig:
        """The config to use."""
        return self.trial.config()

    @property
    def constrained(self) -> bool:
        """Whether the user gave a constraint in addition to the study's."""
        return not set(CONSTRAINING_OPTIONS).isdisjoint(self.asked)

    @property
    def confirmed(self) -> bool:
        """Whether the gains come from rounds in which the config and the baseline were measured in turn."""
        return bool(self.gains)
