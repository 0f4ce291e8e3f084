"""Computes from a study's specification how many burn-in runs and how many seconds its parts take."""

from typing import Final

from tuner.model.spec import Executor, NewBroker, StudySpec

OVERHEAD_S: Final = 1.0
"""Estimated seconds of a measurement in addition to its load: a new topic, the last deliveries, storing the result."""
UNBROKEN_S: Final = 24.0
"""The longest duration, in seconds, of the first burn-in run, which loads the target without a pause.

It ends sooner if the throughput shows no trend.

A new broker that got 100 B records without a pause reached its full speed after 12 seconds. A new broker whose load had
pauses had not reached its full speed after a minute.
"""
BROKER_START_S: Final = 20.0
"""Seconds by which newly started brokers lengthen a round, to estimate how long a study takes.

To stop the brokers and start new ones takes 8 s. Then the brokers are loaded without a pause for 9 to 24 s, until they
are warm. This load takes the place of a burn-in run, which would have taken a part of the time anyway.
"""


def burn_in_trials(spec: StudySpec) -> int:
    """Return the maximum number of burn-in runs of the baseline (measurements whose values are not used).

    The maximum is `burn_in_max`. If latencies are objectives, there is one more run, because the first run measures
    only the throughput. If the throughput decides the fixed rate, the burn-in may be repeated at a better rate.
    """
    most, chooses_rate = spec.search.burn_in_max, spec.paced and not spec.workload.rate_records_per_s
    return max(1, most) + bool(spec.burn_in_metrics) + (most if most > 1 and chooses_rate else 0)


def winner_burn_in_trials(spec: StudySpec) -> int:
    """Return the maximum number of burn-in runs of all winners before the confirmation; 0 if winners have none.

    Burn-in runs are measurements whose values are not used.
    """
    asked = spec.confirm.rounds and spec.search.burn_in_max > 1
    return spec.search.burn_in_max * (len(spec.confirm.goals) + len(spec.confirm.beside)) if asked else 0


def least_winner_burn_in_trials(spec: StudySpec) -> int:
    """Return the minimum number of burn-in runs (values not used) of all winners before the confirmation.

    Two measurements of a winner must agree. A winner that was measured again after the search already has two
    measurements. Any other winner has only its trial from the search, so it needs at least one burn-in run.
    """
    repeats = spec.confirm.nominee_repeats if spec.confirm.nominees > 1 else 0
    return len(spec.confirm.goals) if winner_burn_in_trials(spec) and not repeats else 0


def rounds_on_new_brokers(spec: StudySpec) -> bool:
    """Return whether each round of the confirmation is measured on newly started brokers.

    Only brokers that we start can be started again. By default, new brokers are used for the winners of a search. They
    are not used for a given config, because the user of `tuner verify` waits for the answer.
    """
    asked = spec.confirm.new_broker
    own = all(target.bootstrap is None for target in spec.targets) and spec.executor is not Executor.SIMULATED
    return own and (asked is NewBroker.EACH_ROUND or (asked is None and not spec.confirm.configs))


def spreads_rounds(spec: StudySpec) -> bool:
    """Return whether the rounds are spread over a part of the study's time, if the time is long enough.

    This is the default on a user's cluster if the study's time is limited. The rounds of a given config are not spread,
    because the user of `tuner verify` waits for the result.
    """
    theirs = any(target.bootstrap is not None for target in spec.targets)
    limited = spec.search.hours is not None or spec.search.until is not None
    asked = spec.confirm.rounds > 1 and spec.confirm.spread_over_s is None and not spec.confirm.configs
    return asked and theirs and limited and spec.executor is not Executor.SIMULATED


def burn_ins_per_round(spec: StudySpec) -> int:
    """Return the maximum number of burn-in runs in each round of the confirmation.

    On newly started brokers, each config of the round has a burn-in run. After a pause, only the round's first config
    has a burn-in run.
    """
    if rounds_on_new_brokers(spec):
        return 1 + len(spec.confirm.goals)
    return 1 if spec.confirm.spread_over_s or spreads_rounds(spec) else 0


def starting_s(spec: StudySpec, rounds: int) -> float:
    """Return the seconds that a number of rounds spends on starting brokers."""
    return rounds * BROKER_START_S if rounds_on_new_brokers(spec) else 0.0


def trial_s(spec: StudySpec) -> float:
    """Return the seconds of load in one trial."""
    phases = [spec.workload.saturate, *([spec.workload.paced] if spec.paced else [])]
    return sum(phase.warmup_s + phase.measured_s for phase in phases)
