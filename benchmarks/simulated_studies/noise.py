"""Disturbances of simulated measurements, such as noise and stalls, which can be combined.

A disturbance gets the `Moment` of a trial, which describes the state of the machine. It returns the numbers to add to
the logarithms of the trial's throughput and latency. It takes its random numbers from `Luck`, where each random number
has a name. So a disturbance needs no state, and the same study always has the same disturbances.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from random import Random
from typing import Final, Protocol

Logs = tuple[float, float]
"""The numbers to add to the logarithms of the throughput and of the latency."""
_METRICS: Final = ("throughput", "latency")
_REMEMBERED: Final = 20_000
_FORGOTTEN_RATIO: Final = 1e-3
_HOUR_S: Final = 3600.0
_LEAST_STALL: Final = 3.0
_MOST_STALL: Final = 6.0
_MEAN_STALL_LOG: Final = (_MOST_STALL * math.log(_MOST_STALL) - _LEAST_STALL * math.log(_LEAST_STALL)) / (
    _MOST_STALL - _LEAST_STALL
) - 1.0


@dataclass(frozen=True, slots=True)
class Moment:
    """The state of a machine before a trial.

    Attributes:
        trial: How many trials were measured before.
        config: The fingerprint of the config that is measured.
        previous: The fingerprint of the config of the previous trial; None for the first trial after a start.
        baseline: The fingerprint of the baseline.
        start: How often the brokers were restarted.
        up_s: Seconds of work since the brokers were started.
        clock_s: Seconds since the study began, pauses included.
    """

    trial: int
    config: str
    previous: str | None
    baseline: str
    start: int
    up_s: float
    clock_s: float

    @property
    def of_baseline(self) -> bool:
        """Whether the baseline is measured."""
        return self.config == self.baseline


@dataclass(frozen=True, slots=True)
class Luck:
    """Random numbers by name; the same name always gives the same number.

    Attributes:
        seed: The seed, which is part of every name.
    """

    seed: str

    def normal(self, *name: object) -> float:
        """Return a number from the standard normal distribution."""
        return _normal(f"{self.seed} {name}")

    def uniform(self, *name: object) -> float:
        """Return a number between 0 and 1."""
        return Random(f"{self.seed} {name}").random()


@lru_cache(maxsize=_REMEMBERED)
def _normal(name: str) -> float:
    return Random(name).gauss(0.0, 1.0)


class Disturbance(Protocol):
    """Something that makes measurements differ from the truth."""

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return what the disturbance adds to the logarithms of throughput and latency."""


@dataclass(frozen=True, slots=True)
class Scatter:
    """Independent noise of each trial.

    Attributes:
        sd: Standard deviation of the logarithms.
        baseline_sd: The baseline's standard deviation, if it differs.
        degrees_of_freedom: The degrees of freedom of Student's t distribution, which has heavy tails. Its scale is
            `sd`. None stands for the normal distribution.
    """

    sd: float
    baseline_sd: float | None = None
    degrees_of_freedom: int | None = None

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return new noise for each trial."""
        sd = self.baseline_sd if moment.of_baseline and self.baseline_sd is not None else self.sd
        throughput, latency = (sd * self._one(moment, luck, metric) for metric in _METRICS)
        return throughput, latency

    def _one(self, moment: Moment, luck: Luck, metric: str) -> float:
        value = luck.normal(metric, moment.trial)
        if self.degrees_of_freedom is None:
            return value
        squares = [luck.normal(metric, moment.trial, number) ** 2 for number in range(self.degrees_of_freedom)]
        return value / math.sqrt(sum(squares) / self.degrees_of_freedom)


@dataclass(frozen=True, slots=True)
class Autocorrelated:
    """Noise of the machine that changes slowly from trial to trial, an AR(1) process.

    Attributes:
        correlation: The correlation between one trial and the next.
        sd: Standard deviation of the logarithms.
    """

    correlation: float
    sd: float

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return the sum of all shocks so far, which fade from trial to trial."""
        lags = range(math.ceil(math.log(_FORGOTTEN_RATIO) / math.log(self.correlation)))
        scale = self.sd * math.sqrt(1 - self.correlation**2)
        throughput, latency = (
            scale * sum(self.correlation**lag * luck.normal(metric, moment.trial - lag) for lag in lags)
            for metric in _METRICS
        )
        return throughput, latency


@dataclass(frozen=True, slots=True)
class TwoModes:
    """A machine that is in one of two modes in each trial, such as a fast and a slow placement of its processes.

    Attributes:
        apart: Difference between the logarithms of the modes.
    """

    apart: float

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return the effect of the trial's mode: the slow mode lowers the throughput and raises the latency."""
        half = self.apart / 2 if luck.uniform(moment.trial) < 0.5 else -self.apart / 2
        return half, -half


@dataclass(frozen=True, slots=True)
class Stalls:
    """Stalls in some trials, in which latencies are 3 to 6 times as high.

    Between stalls, latencies are lower by as much as the stalls raise the mean of their logarithm. So stalls do not
    change a config's true gain.

    Attributes:
        ratio: Share of the trials with a stall.
        spare_baseline: Whether the baseline has no stalls.
    """

    ratio: float
    spare_baseline: bool = False

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return a higher latency in a stall, and a slightly lower one otherwise."""
        if self.spare_baseline and moment.of_baseline:
            return 0.0, 0.0
        stalled = luck.uniform("stall", moment.trial) < self.ratio
        height = math.log(_LEAST_STALL + (_MOST_STALL - _LEAST_STALL) * luck.uniform("height", moment.trial))
        return 0.0, (height if stalled else 0.0) - self.ratio * _MEAN_STALL_LOG


@dataclass(frozen=True, slots=True)
class Warming:
    """Brokers that become faster while they work after their start.

    Attributes:
        factor: How many times faster the brokers are in the end than at first.
        constant_s: The time constant: after this many seconds, 1/e of the difference is left.
    """

    factor: float
    constant_s: float

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return how much slower the brokers still are."""
        speed = math.log(1.0 - (1.0 - 1.0 / self.factor) * math.exp(-moment.up_s / self.constant_s))
        return speed, -speed


@dataclass(frozen=True, slots=True)
class CarryOver:
    """Work that a config other than the baseline leaves behind, which slows the next trial.

    Attributes:
        ratio: By how much the next trial is slower.
    """

    ratio: float

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return the loss of speed if the previous trial had another config than the baseline; 0 otherwise."""
        after = moment.previous is not None and moment.previous != moment.baseline
        loss = math.log1p(-self.ratio) if after else 0.0
        return loss, -loss


@dataclass(frozen=True, slots=True)
class Sessions:
    """A random offset of a config's speed, which is the same during a session and differs between sessions.

    Attributes:
        sd: Standard deviation of the logarithms.
        everyone: Whether every config has an offset, which differs from the others'; if not, only the baseline has one.
        hours: The length of a session in hours. With None, a session lasts until the brokers are restarted.
    """

    sd: float
    everyone: bool = False
    hours: float | None = None

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return the config's offset in this session."""
        if not (self.everyone or moment.of_baseline):
            return 0.0, 0.0
        session = moment.start if self.hours is None else int(moment.clock_s / (self.hours * _HOUR_S))
        throughput, latency = (self.sd * luck.normal(metric, session, moment.config) for metric in _METRICS)
        return throughput, latency


@dataclass(frozen=True, slots=True)
class Shift:
    """A permanent fall of the machine's speed.

    Attributes:
        ratio: By how much the speed falls.
        trial: The first trial that is slower.
    """

    ratio: float
    trial: int

    def logs(self, moment: Moment, luck: Luck) -> Logs:
        """Return the loss of speed; 0 before the first slower trial."""
        loss = math.log1p(-self.ratio) if moment.trial >= self.trial else 0.0
        return loss, -loss
