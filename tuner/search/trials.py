"""Trials of a study on record as Optuna's trials, for its samplers and for its tools."""

from collections.abc import Mapping, Sequence
from typing import Any

import optuna
from optuna.trial import FrozenTrial, TrialState, create_trial

from tuner.model.trial import Trial
from tuner.search.knob_space import KnobSpace

optuna.logging.set_verbosity(optuna.logging.WARNING)


def optuna_trial(
    trial: Trial,
    space: KnobSpace,
    state: TrialState,
    values: Sequence[float] | None,
    constraints: Mapping[str, float],
    user_attrs: Mapping[str, Any],
) -> FrozenTrial | None:
    """A trial on record as Optuna has it; None where its config lies outside of the space.

    Args:
        trial: Whose parameters these are.
        space: Of its record size.
        state: How it ended.
        values: One per objective, where it is complete.
        constraints: By how much each is missed.
        user_attrs: What else is to be said of it.
    """
    try:
        params = trial.params or space.space.params_of(trial.config())
        if params is None:
            return None
        distributions = space.distributions_of(params)
    except ValueError:
        return None  # of an older client, or of a space that was another then, with a larger topic limit, say
    return create_trial(
        state=state,
        values=values,
        params=dict(params),
        distributions=distributions,
        constraints=dict(constraints),
        user_attrs=dict(user_attrs),
        system_attrs=dict(trial.sampler_state),
    )
