"""Which knobs matter: for each objective, and for reaching the front.

Source: PED-ANOVA (Watanabe et al., IJCAI 2023), with conditional knobs: by how much the values of a knob among the best
trials differ from those among all.
"""

from collections.abc import Sequence
from typing import Final

import optuna
from optuna.distributions import BaseDistribution, CategoricalDistribution, FloatDistribution, IntDistribution
from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances
from optuna.study import StudyDirection

from tuner.study.results import SizeResults
from tuner.study.trial import Kind, Trial

FRONT: Final = "front"
"""Name of the importance for reaching the front, beside the objectives' names."""
_MIN_TRIALS: Final = 8
_BEST_RATIO: Final = 0.1
_MIN_BEST: Final = 5
_MAX_BEST_RATIO: Final = 0.5
_LOG_FROM: Final = 50.0


def knob_importance(size: SizeResults) -> dict[str, dict[str, float]]:
    """Shares that add up to 1, by objective (and `FRONT` where there are several) and by knob, the largest first.

    Counted are trials of the search that kept every constraint; with fewer than eight nothing can be said, and the
    result is empty.
    """
    trials = [trial for trial in size.trials if trial.kind is Kind.SEARCH and trial.feasible and trial.params]
    if len(trials) < _MIN_TRIALS:
        return {}
    directions = [StudyDirection[objective.direction.name] for objective in size.objectives]
    found = {}
    for place, objective in enumerate(size.objectives):
        found[objective.metric] = _importance(trials, [place], [directions[place]])
    if len(directions) > 1:
        found[FRONT] = _importance(trials, range(len(directions)), directions)
    return {name: shares for name, shares in found.items() if shares}


def _importance(
    trials: Sequence[Trial], places: Sequence[int], directions: Sequence[StudyDirection]
) -> dict[str, float]:
    distributions = _distributions(trials)
    if not distributions:
        return {}
    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(directions=directions)
    study.add_trials(
        [
            optuna.trial.create_trial(
                params={name: value for name, value in trial.params.items() if name in distributions},
                distributions={name: distributions[name] for name in trial.params if name in distributions},
                values=[trial.objectives[place] or 0.0 for place in places],
            )
            for trial in trials
        ]
    )
    best_ratio = min(_MAX_BEST_RATIO, max(_BEST_RATIO, _MIN_BEST / len(trials)))
    shares = get_param_importances(study, evaluator=PedAnovaImportanceEvaluator(target_quantile=best_ratio))
    return dict(sorted(shares.items(), key=lambda item: -item[1]))


def _distributions(trials: Sequence[Trial]) -> dict[str, BaseDistribution]:
    """What each knob ranged over, from what was tried: the record does not keep the space itself."""
    tried: dict[str, set[int | float | str]] = {}
    for trial in trials:
        for name, value in trial.params.items():
            tried.setdefault(name, set()).add(value)
    return {name: _distribution(values) for name, values in tried.items() if len(values) > 1}


def _distribution(values: set[int | float | str]) -> BaseDistribution:
    numbers = [value for value in values if isinstance(value, int | float)]
    if len(numbers) < len(values):
        return CategoricalDistribution(sorted(map(str, values)))
    low, high = min(numbers), max(numbers)
    log = low > 0 and high / low >= _LOG_FROM
    if all(isinstance(value, int) for value in numbers):
        return IntDistribution(int(low), int(high), log=log)
    return FloatDistribution(float(low), float(high), log=log)
