"""A host that does not stay as fast as it was: how much slower everything is, by the number of the trial."""

import math
from dataclasses import dataclass
from typing import Final


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
