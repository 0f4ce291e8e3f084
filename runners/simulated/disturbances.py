"""What goes wrong in a simulation: failures by config or by chance, and a host that does not stay as fast as it was."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from runners.errors import BrokerLost, DeliveryFailed, RunnerError, WorkerLost
from search_spaces.producer_config import ProducerConfig


class Failure(StrEnum):
    """How a run ends that gives no measurement."""

    DELIVERY_FAILED = "delivery failed"
    BROKER_LOST = "broker lost"
    WORKER_LOST = "worker lost"


_ERRORS: Final[MappingProxyType[Failure, Callable[[str], RunnerError]]] = MappingProxyType(
    {Failure.DELIVERY_FAILED: DeliveryFailed, Failure.BROKER_LOST: BrokerLost, Failure.WORKER_LOST: WorkerLost}
)


@dataclass(frozen=True, slots=True)
class Weakness:
    """Configs that fail, always: those whose property lies in a range, or is a word.

    Attributes:
        name: The property, by any of its names; its value in force counts.
        below: It fails below this number; None has no such end.
        above: It fails above this number; where both are given, between them.
        word: It fails with this text.
        failure: How it ends; None ends well, with records lost.
        lost_ratio: Share of the records that the client gives up.
    """

    name: str
    below: float | None = None
    above: float | None = None
    word: str | None = None
    failure: Failure | None = None
    lost_ratio: float = 0.0

    def __post_init__(self) -> None:
        """Refuse a weakness that none or every config has, or that does nothing."""
        if (self.word is None) == (self.below is None and self.above is None):
            raise ValueError(f"a weakness has either a word or a range, but that of {self.name} has not")
        if (self.failure is None) == (self.lost_ratio == 0.0) or not 0.0 <= self.lost_ratio < 1.0:
            raise ValueError(
                f"a weakness either fails or loses a share of the records above 0 and below 1, but that of {self.name} "
                f"has failure={self.failure} and lost_ratio={self.lost_ratio:g}"
            )

    def concerns(self, config: ProducerConfig) -> bool:
        """Whether a config has it."""
        if self.word is not None:
            return config.effective(self.name) == self.word
        value = config.in_force.number(self.name)
        return (self.below is None or value < self.below) and (self.above is None or value > self.above)


@dataclass(frozen=True, slots=True)
class Mishap:
    """What happens to any config, now and then.

    Attributes:
        failure: How the run ends.
        probability: In one run, from 0 to 1. The same run of the same seed has the same luck again.
    """

    failure: Failure
    probability: float


def error_of(failure: Failure, cause: str) -> RunnerError:
    """The error that a real run of this kind raises."""
    return _ERRORS[failure](f"simulated: {failure} {cause}")


@dataclass(frozen=True, slots=True)
class Drift:
    """By how much everything is slower at a trial than at trial 0: rates are divided by it, latencies multiplied.

    The parts are multiplied with each other; each does nothing unless it is given.

    Attributes:
        per_trial_ratio: What each trial adds, steadily: 0.001 is a tenth after 100 trials.
        step_at: The trial from which on the step counts; None for no step.
        step_ratio: What the step adds: 0.2 is a host that lost a sixth of its speed.
        swing_ratio: How far a swing goes to either side.
        swing_trials: After how many trials the swing comes round.
    """

    per_trial_ratio: float = 0.0
    step_at: float | None = None
    step_ratio: float = 0.0
    swing_ratio: float = 0.0
    swing_trials: float = 50.0

    def slowness(self, trial: float) -> float:
        """How many times slower everything is at `trial`; 1.0 is as fast as the model says."""
        steady = 1.0 + self.per_trial_ratio * trial
        step = 1.0 + self.step_ratio if self.step_at is not None and trial >= self.step_at else 1.0
        swing = 1.0 + self.swing_ratio * math.sin(2 * math.pi * trial / self.swing_trials)
        return max(1e-3, steady) * step * swing


NO_DRIFT: Final = Drift()
