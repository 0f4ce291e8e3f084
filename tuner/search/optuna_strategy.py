"""Optuna's samplers behind `Strategy`: the one place that knows Optuna.

The Optuna study lives in memory and is rebuilt from the record: each trial told is on disk. A sampler is made
anew for each proposal, with a seed of the proposal's own, so that what is proposed does not hang on which process asks.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np
import optuna
from numpy.typing import NDArray
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.samplers import BaseSampler, GPSampler, NSGAIISampler, TPESampler

from objectives.metrics import Direction
from objectives.scoring import Objective
from search_spaces.domains import ParamValue
from search_spaces.errors import ConfigError
from search_spaces.space import SearchSpace
from tuner.model.errors import StudyError
from tuner.model.spec import Method
from tuner.model.trial import State, Trial
from tuner.search.strategy import Proposal, rng_of

_TINY: Final = 1e-9
_MOST_TRIALS: Final = 160
_KEPT_TRIALS: Final = 80
_BEST_TRIALS: Final = 30
_POPULATION: Final = 16
"""Of NSGA-II: Optuna's 50 would be a whole night's trials before the first selection."""

optuna.logging.set_verbosity(optuna.logging.WARNING)


class MissingExtra(StudyError):  # noqa: N818 - names say what happened
    """The sampler needs a package that is not installed."""


class OptunaStrategy:
    """Samplers that learn: TPE, Gaussian processes, NSGA-II, for one or several objectives.

    Objectives are told as logarithms: what counts is by which factor a config is better.

    Raises:
        MissingExtra: `gp` without torch.
    """

    def __init__(
        self, space: SearchSpace, objectives: Sequence[Objective], method: Method, *, seed: int, startup_trials: int
    ) -> None:
        self._space, self._method, self._seed, self._startup = space, method, seed, startup_trials
        if method is Method.GP:
            _require_torch()
        self._directions = [optuna.study.StudyDirection[objective.direction.name] for objective in objectives]
        self._study = optuna.create_study(directions=self._directions, sampler=self._sampler(0))
        self._maximise = [objective.direction is Direction.MAXIMIZE for objective in objectives]
        self._worst: list[float | None] = [None] * len(objectives)
        self._asked: dict[int, optuna.Trial] = {}

    def ask(self, index: int) -> Proposal:
        """See `Strategy.ask`."""
        self._study.sampler = self._sampler(index)
        asked = self._study.ask()
        config = self._space.draw(_Suggest(asked))
        self._asked[index] = asked
        return Proposal(index, config, dict(asked.params), self._sampler_state(asked))

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """See `Strategy.tell`. A trial that failed teaches nothing; one outside the space can't be expressed."""
        asked = self._asked.pop(index, None) if index is not None else None
        if asked is not None and asked.study is not self._study:
            asked = None  # of before something was forgotten
        if trial.state is not State.FAILED:
            self._learn(trial, asked)
        elif asked is not None:
            self._study.tell(asked, state=optuna.trial.TrialState.FAIL)

    def _learn(self, trial: Trial, asked: optuna.Trial | None) -> None:
        values, violation = self._values(trial), _violation(trial)
        if asked is not None:
            asked.set_constraint("violation", violation)
            self._study.tell(asked, values)
        elif (params := self._params(trial)) is not None:
            try:
                told = optuna.trial.create_trial(
                    values=values,
                    params=dict(params),
                    distributions=self._distributions(params),
                    system_attrs=dict(trial.sampler_state),
                    constraints={"violation": violation},
                )
            except (KeyError, ValueError):
                return  # a config of a space that was another then, with a larger topic limit, say
            self._study.add_trial(told)
        if self._method is not Method.NSGA2:  # which only ever looks at its last generations
            self._forget_some()

    def _forget_some(self) -> None:
        """Go on with the best and the newest trials once there are many: what a proposal costs grows with their number.

        What is left follows from what was told, in its order, and so is the same when a study goes on.
        """
        trials = self._study.get_trials(deepcopy=False, states=(optuna.trial.TrialState.COMPLETE,))
        if len(trials) <= _MOST_TRIALS:
            return
        values = np.array([trial.values for trial in trials]) * np.where(self._maximise, -1.0, 1.0)
        missed = np.array([max(0.0, trial.constraints["violation"]) for trial in trials])
        best = set(np.lexsort((_dominated_by(values), missed))[:_BEST_TRIALS].tolist())
        newest = range(len(trials) - (_KEPT_TRIALS - _BEST_TRIALS), len(trials))
        self._study = optuna.create_study(directions=self._directions)
        self._study.add_trials([trials[number] for number in sorted({*best, *newest})])

    def _sampler_state(self, asked: optuna.Trial) -> dict[str, Any]:
        """What NSGA-II notes at a trial: its generation, without which a rebuilt study would begin at the first."""
        if self._method is not Method.NSGA2:
            return {}
        attributes = self._study.get_trials(deepcopy=False)[asked.number].system_attrs
        return {name: value for name, value in attributes.items() if name.startswith("NSGA")}

    def _params(self, trial: Trial) -> Mapping[str, ParamValue] | None:
        if trial.params:
            return trial.params
        try:
            return self._space.params_of(trial.config())
        except ConfigError:
            return None  # of an older client, say

    def _distributions(self, params: Mapping[str, ParamValue]) -> dict[str, BaseDistribution]:
        """What the parameters were drawn from.

        Raises:
            KeyError: The space asks for a parameter that they do not have; it was another one then.
        """
        recorder = _Recorder(params)
        self._space.draw(recorder)
        return recorder.distributions

    def _values(self, trial: Trial) -> list[float]:
        """Logarithms; what a trial has no number for counts as the worst seen."""
        told = []
        for place, value in enumerate(trial.objectives):
            maximise = self._maximise[place]
            if value is not None:
                told.append(math.log(max(value, _TINY)))
                worst = self._worst[place]
                self._worst[place] = told[-1] if worst is None else (min if maximise else max)(worst, told[-1])
            else:
                worst = self._worst[place]
                told.append(worst if worst is not None else math.log(_TINY) * (1 if maximise else -1))
        return told

    def _sampler(self, index: int) -> BaseSampler:
        seed = int(rng_of(self._seed, index).integers(2**31))
        match self._method:
            case Method.NSGA2:
                return NSGA2Sampler(population_size=_POPULATION, seed=seed)
            case Method.GP:
                return GPSampler(n_startup_trials=self._startup, seed=seed, warn_independent_sampling=False)
            case _:
                return TPESampler(n_startup_trials=self._startup, multivariate=True, seed=seed)


class NSGA2Sampler(NSGAIISampler):
    """Optuna's, with a generation's parents always in the order of their numbers.

    Optuna gives them to the first that asks as they were selected and to all later ones by number: a rebuilt study,
    in which the next to ask is the first again, would draw other parents.
    """

    def select_parent(self, study: optuna.Study, generation: int) -> list[optuna.trial.FrozenTrial]:
        """The parents of a generation."""
        return sorted(super().select_parent(study, generation), key=lambda parent: parent.number)


def _dominated_by(values: NDArray[np.float64]) -> NDArray[np.int64]:
    """How many others dominate each. Shape of values: (trials, objectives), the less the better."""
    nowhere_worse = (values[:, None, :] <= values[None, :, :]).all(axis=2)
    better = (values[:, None, :] < values[None, :, :]).any(axis=2)
    counted: NDArray[np.int64] = (nowhere_worse & better).sum(axis=0)
    return counted


def _violation(trial: Trial) -> float:
    """One number for all constraints: their misses together, or how close the nearest is to being missed."""
    missed = sum(violation for violation in trial.violations.values() if violation > 0)
    return missed or max([0.0 if not trial.violations else -1.0, *[v for v in trial.violations.values() if v <= 0]])


def _require_torch() -> None:
    try:
        import torch  # type: ignore[import-not-found,unused-ignore]  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "search.method gp needs the package torch, which is not installed; "
            "pip install 'kafka-tuner[gp]', or take method bayesian"
        ) from None


class _Suggest:
    """A `Chooser` that asks an Optuna trial."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """See `Chooser.integer`."""
        return self._trial.suggest_int(name, low, high, log=log)

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """See `Chooser.real`."""
        return self._trial.suggest_float(name, low, high, log=log)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """See `Chooser.choice`."""
        chosen: str = self._trial.suggest_categorical(name, list(choices))
        return chosen


class _Recorder:
    """A `Chooser` that answers with given parameters and notes which distributions they came from."""

    def __init__(self, params: Mapping[str, ParamValue]) -> None:
        self._params = params
        self.distributions: dict[str, BaseDistribution] = {}

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """See `Chooser.integer`."""
        self.distributions[name] = IntDistribution(low, high, log=log)
        return int(self._params[name])

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """See `Chooser.real`."""
        self.distributions[name] = FloatDistribution(low, high, log=log)
        return float(self._params[name])

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """See `Chooser.choice`."""
        self.distributions[name] = CategoricalDistribution(list(choices))
        return str(self._params[name])
