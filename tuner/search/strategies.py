"""Which strategy a study's method stands for."""

from collections.abc import Sequence

from objectives.scoring import Objective
from search_spaces.space import SearchSpace
from tuner.model.spec import Method, SearchSpec
from tuner.search.strategy import GridStrategy, QuasiRandomStrategy, RandomStrategy, Strategy


def strategy_of(search: SearchSpec, objectives: Sequence[Objective], space: SearchSpace, seed: int) -> Strategy:
    """The strategy of one record size.

    Args:
        search: How the study searches.
        objectives: Of the study.
        space: Of the record size.
        seed: Of its proposals.

    Raises:
        MissingExtra: The method needs a package that is not installed.
    """
    match search.method:
        case Method.GRID:
            return GridStrategy(space, search.grid_steps)
        case Method.RANDOM:
            return RandomStrategy(space, seed)
        case Method.QUASI_RANDOM:
            return QuasiRandomStrategy(space, seed)
        case Method.BAYESIAN:
            # Deferred: scipy.optimize takes a third of a second to import.
            from tuner.search.surrogate_strategy import SurrogateStrategy

            return SurrogateStrategy(space, objectives, seed=seed, startup_trials=search.startup_trials)
        case learning:
            # Deferred: Optuna takes a second to import.
            from tuner.search.optuna_strategy import OptunaStrategy

            return OptunaStrategy(space, objectives, learning, seed=seed, startup_trials=search.startup_trials)
