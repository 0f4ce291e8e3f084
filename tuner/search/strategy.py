"""The strategy of a record size: an Optuna study that proposes configs and learns from their trials.

The Optuna study is kept in memory, and each run builds it again from the stored trials. A proposal depends only on the
seed, on the index of the proposal, and on the trials so far in their order. So a study that was killed and is run again
proposes the same configs that it would have proposed without the interruption.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Any, Final, Protocol, runtime_checkable

import numpy as np
import optuna
from optuna.samplers import BaseSampler, RandomSampler
from optuna.trial import TrialState

from objectives.dominance import best_and_newest
from objectives.metrics import Direction
from objectives.scoring import Objective
from search_spaces.configs.producer_config import ProducerConfig
from tuner.model.trial import Proposal, State, Trial, TrialKind
from tuner.search.bayesian.sampler import UNMEASURED
from tuner.search.expectation import ModelExpectation
from tuner.search.knob_space import KnobSpace, optuna_trial

SamplerOf = Callable[[int], BaseSampler]
"""A function that takes the index of a proposal, and returns the sampler that makes the proposal."""
# Values that are lower count as this number, which has a logarithm.
_TINY: Final = 1e-9
# Once a sampler that forgets has more trials than this, some are kept: the best ones, and the newest ones.
_MOST_TRIALS: Final = 160
_KEPT_TRIALS: Final = 80
_BEST_TRIALS: Final = 30


@runtime_checkable
class ExhaustibleSampler(Protocol):
    """A sampler that can run out of proposals, like Optuna's `GridSampler`."""

    def is_exhausted(self, study: optuna.Study) -> bool:
        """Return whether the sampler has nothing left to propose."""


class Strategy:
    """Proposes configs for one record size.

    The sampler gets the logarithms of the objectives, because configs are compared by the factor by which one is
    better.

    Args:
        space: The search space.
        objectives: The objectives of the study.
        constraints: The names of all constraints that a trial may miss.
        sampler_of: Called once, with this strategy. Its result is a function that takes the index of a proposal and
            returns the sampler for this proposal.
        forgets: Whether only the best and the newest trials are kept once there are many. With many trials, a proposal
            takes long.
        expectation: The predictions of the performance model, for samplers that use them. It gets each trial, too.
    """

    def __init__(
        self,
        space: KnobSpace,
        objectives: Sequence[Objective],
        constraints: Iterable[str],
        sampler_of: Callable[["Strategy"], SamplerOf],
        *,
        forgets: bool = False,
        expectation: ModelExpectation | None = None,
    ) -> None:
        self._space, self._constraints, self._forgets = space, tuple(constraints), forgets
        self._directions = [optuna.study.StudyDirection[objective.direction.name] for objective in objectives]
        self._maximise = [objective.direction is Direction.MAXIMIZE for objective in objectives]
        self.study = optuna.create_study(directions=self._directions)
        self.expectation = expectation
        self._sampler_of = sampler_of(self)
        self._worst: list[float | None] = [None] * len(objectives)
        self._baselines: list[list[float]] = [[] for _ in objectives]
        self._asked: dict[int, optuna.Trial] = {}

    def ask(self, index: int, starting_point: ProducerConfig | None = None) -> Proposal | None:
        """Return the proposal with a given index; None if the sampler has nothing left to propose.

        Args:
            index: The index of the proposal, counted from 0.
            starting_point: A config to propose instead of asking the sampler. A config outside the search space is
                measured too, but the sampler can't learn from it.
        """
        if starting_point is None:
            return self._sampler_proposal(index)
        params = self._space.space.params_of(starting_point)
        if params is None:
            return Proposal(starting_point, index)
        self.study.enqueue_trial(params)
        self.study.sampler = RandomSampler(0)
        return Proposal(starting_point, index, self._draw(index)[1])

    def _sampler_proposal(self, index: int) -> Proposal | None:
        """Return the sampler's proposal with a given index; None if the sampler has nothing left to propose."""
        sampler = self._sampler_of(index)
        if isinstance(sampler, ExhaustibleSampler) and sampler.is_exhausted(self.study):
            return None
        self.study.sampler = sampler
        config, params = self._draw(index)
        attributes = self.study.get_trials(deepcopy=False)[self._asked[index].number].system_attrs
        # NSGA-II stores the generation of a trial with the trial. Without it, a rebuilt study would start over.
        state = {name: value for name, value in attributes.items() if name.startswith("NSGA")}
        return Proposal(config, index, params, state)

    def _draw(self, index: int) -> tuple[ProducerConfig, dict[str, Any]]:
        """Ask the Optuna study for a trial, and return its config and its parameters."""
        asked = self._asked[index] = self.study.ask()
        config = self._space.space.draw(OptunaChooser(asked))
        return config, dict(asked.params)

    def tell(self, trial: Trial, index: int | None = None) -> None:
        """Tell the sampler the result of a trial of the record size.

        The trial may be from an earlier run of the study, or it may measure a config that the sampler did not propose,
        such as the baseline. The sampler learns nothing from a failed trial or from a config outside the search space.

        Args:
            trial: The trial.
            index: The index of the proposal that the trial has measured; None if this process did not propose its
                config.
        """
        if self.expectation is not None:
            self.expectation.learn(trial)
        asked = self._asked.pop(index, None) if index is not None else None
        if asked is not None and asked.study is not self.study:
            asked = None  # from the study that `_keep_best_and_newest` has replaced
        if trial.state is State.FAILED:
            if asked is not None:
                self.study.tell(asked, state=TrialState.FAIL)
            else:
                self._add(trial, TrialState.FAIL, None, {}, {})
            return
        values, attributes = self._values(trial)
        constraints = {**dict.fromkeys(self._constraints, 0.0), **trial.violations}
        if asked is not None:
            for name, violation in constraints.items():
                asked.set_constraint(name, violation)
            for name, value in attributes.items():
                asked.set_user_attr(name, value)
            self.study.tell(asked, values)
        else:
            self._add(trial, TrialState.COMPLETE, values, constraints, attributes)
        if self._forgets:
            self._keep_best_and_newest()

    def baseline(self) -> list[float]:
        """Return the baseline's median of each objective, as a logarithm; NaN before the baseline was measured."""
        return [median(values) if values else math.nan for values in self._baselines]

    def _add(
        self,
        trial: Trial,
        state: TrialState,
        values: list[float] | None,
        constraints: Mapping[str, float],
        attributes: Mapping[str, Any],
    ) -> None:
        """Add a trial whose config the Optuna study has not proposed in this process."""
        as_optuna_trial = optuna_trial(trial, self._space, state, values, constraints, attributes)
        if as_optuna_trial is not None:
            self.study.add_trial(as_optuna_trial)

    def _values(self, trial: Trial) -> tuple[list[float], dict[str, Any]]:
        """Return the logarithms of a trial's objectives, and the user attributes of its Optuna trial.

        An objective that the trial did not measure gets the worst value so far. The user attribute `UNMEASURED` lists
        the objectives and constraints that the trial did not measure.
        """
        values: list[float] = []
        unmeasured: list[int | str] = [name for name in self._constraints if name not in trial.violations]
        for objective, value in enumerate(trial.objectives):
            maximise, worst = self._maximise[objective], self._worst[objective]
            if value is None:
                unmeasured.append(objective)
                values.append(worst if worst is not None else math.log(_TINY) * (1 if maximise else -1))
                continue
            log_value = math.log(max(value, _TINY))
            values.append(log_value)
            self._worst[objective] = log_value if worst is None else (min if maximise else max)(worst, log_value)
            if trial.kind is TrialKind.BASELINE:
                self._baselines[objective].append(log_value)
        return values, {UNMEASURED: unmeasured} if unmeasured else {}

    def _keep_best_and_newest(self) -> None:
        """Keep only the best and the newest trials, in a new Optuna study, once there are many trials.

        The choice depends only on the trials so far in their order, so it is the same after an interruption.
        """
        trials = self.study.get_trials(deepcopy=False, states=(TrialState.COMPLETE,))
        if len(trials) <= _MOST_TRIALS:
            return
        values = np.array([trial.values for trial in trials]) * np.where(self._maximise, 1.0, -1.0)
        missed = np.array([sum(max(0.0, each) for each in trial.constraints.values()) for trial in trials])
        kept = best_and_newest(values, missed, _BEST_TRIALS, _KEPT_TRIALS)
        self.study = optuna.create_study(directions=self._directions)
        self.study.add_trials([trials[number] for number in kept])


class OptunaChooser:
    """Chooses the value of each parameter by asking an Optuna trial for a suggestion (a `Chooser`)."""

    def __init__(self, trial: optuna.Trial) -> None:
        self._trial = trial

    def integer(self, name: str, low: int, high: int, *, log: bool) -> int:
        """Return the integer that the trial suggests."""
        return self._trial.suggest_int(name, low, high, log=log)

    def real(self, name: str, low: float, high: float, *, log: bool) -> float:
        """Return the number that the trial suggests."""
        return self._trial.suggest_float(name, low, high, log=log)

    def choice(self, name: str, choices: Sequence[str]) -> str:
        """Return the word that the trial suggests."""
        chosen: str = self._trial.suggest_categorical(name, list(choices))
        return chosen
