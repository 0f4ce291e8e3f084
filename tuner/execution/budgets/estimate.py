"""Estimates the time and the bytes that a study takes, before anything is measured, and the least that it needs."""

import contextlib
import datetime
from collections.abc import Collection, Iterable
from typing import Final

from search_spaces.errors import ConfigError
from search_spaces.space.search_space import SearchSpace
from tuner.confirmation.plan import SESSION_GAP_S
from tuner.confirmation.steps import least_steps, most_steps
from tuner.execution.budgets.budget import next_occurrence
from tuner.model.spec import Method, StudySpec
from tuner.model.study_time import (
    OVERHEAD_S,
    UNBROKEN_S,
    burn_in_trials,
    burn_ins_per_round,
    least_winner_burn_in_trials,
    spreads_rounds,
    starting_s,
    trial_s,
    winner_burn_in_trials,
)
from tuner.search.schedule import trials_in_all

LEAST_TRIALS: Final = 6
"""The fewest trials per record size that are worth a confirmation: the baseline and five other configs."""
_SPREAD_SHARE: Final = 1 / 3
"""The share of a record size's time that is kept for its confirmation, if the rounds are spread by default."""
_MOST_SHARE: Final = 2 / 3
"""The largest share that may be kept. If the rounds need a larger share to be far enough apart, they are not spread."""
_LEAST_GAP_RATIO: Final = 0.95
"""Rounds may be a little closer together than `SESSION_GAP_S`, because the search may take a little longer."""


def planned_s(spec: StudySpec, spaces: Collection[SearchSpace]) -> float | None:
    """Return the seconds that a study takes, if all rounds are needed.

    Returns:
        Seconds; None if only a time of day or bytes end the search.
    """
    if spreads_rounds(spec) and spread_s(spec, own_s := time_per_size_s(spec), trial_s(spec) + OVERHEAD_S):
        return own_s * len(spaces)  # the rounds are spread over all the time that the search leaves
    known = [] if spec.search.hours is None else [spec.search.hours * 3600]
    trials = [trials_in_all(spec.search, space, spec.baseline) for space in spaces]
    counts = [count for count in trials if count is not None]
    if len(counts) == len(trials):
        known.append(most_s(spec, counts))
    return min(known, default=None)


def most_bytes(spec: StudySpec, seconds: float | None, mb_per_s: float) -> int | None:
    """Return how many bytes a study sends at most; None if nothing limits them.

    Args:
        spec: The study.
        seconds: What `planned_s` returned.
        mb_per_s: The throughput at full speed.
    """
    each = _bytes_per_trial(spec, mb_per_s)
    known = [] if seconds is None else [round(seconds * each / (trial_s(spec) + OVERHEAD_S))]
    if spec.search.max_bytes is not None:
        known.append(spec.search.max_bytes)
    return min(known, default=None)


def most_s(spec: StudySpec, trials: Iterable[int]) -> float:
    """Return the seconds that a study takes if each record size needs all burn-in runs and all rounds.

    Args:
        spec: The study.
        trials: The number of trials of each record size's search.
    """
    each_s, rounds = trial_s(spec) + OVERHEAD_S, most_rounds(spec)
    confirm_s = most_confirm_trials(spec) * each_s + starting_s(spec, rounds)
    round_s = (1 + len(spec.confirm.goals) + burn_ins_per_round(spec)) * each_s + starting_s(spec, 1)
    # The first round begins immediately. Each other round begins `gap_s` after the start of the round before.
    waiting_s = max(0, rounds - 1) * max(0.0, spec.confirm.gap_s - round_s)
    return sum(_search_s(spec, count) + confirm_s + waiting_s for count in trials)


def least_s(spec: StudySpec) -> float:
    """Return the fewest seconds in which a study can search and confirm all of its record sizes."""
    confirm_s = least_confirm_trials(spec) * (trial_s(spec) + OVERHEAD_S) + starting_s(spec, spec.confirm.rounds)
    return sum(_search_s(spec, trials) + confirm_s for trials in _least_trials(spec))


def least_bytes(spec: StudySpec, mb_per_s: float) -> int:
    """Return the fewest bytes with which a study can search and confirm all of its record sizes at this throughput."""
    around = burn_in_trials(spec) + least_confirm_trials(spec)
    measured = sum(around + trials for trials in _least_trials(spec))
    return round(measured * _bytes_per_trial(spec, mb_per_s))


def _bytes_per_trial(spec: StudySpec, mb_per_s: float) -> float:
    """Return how many bytes a trial sends if its config reaches `mb_per_s` at full speed."""
    saturating_s = spec.workload.saturate.warmup_s + spec.workload.saturate.measured_s
    return mb_per_s * 1e6 * (saturating_s + (trial_s(spec) - saturating_s) * spec.workload.rate_ratio)


def most_rounds(spec: StudySpec) -> int:
    """Return the largest number of rounds of a record size's confirmation."""
    return max(spec.confirm.rounds, spec.confirm.max_rounds) if spec.confirm.rounds else 0


def most_confirm_trials(spec: StudySpec) -> int:
    """Return the largest number of measurements of a record size's confirmation, with their burn-in runs."""
    return most_steps(spec.confirm) + winner_burn_in_trials(spec) + most_rounds(spec) * burn_ins_per_round(spec)


def sessions_s(spec: StudySpec) -> float:
    """Return the most seconds that one record size spends on starting brokers and on burn-in runs between rounds."""
    rounds = most_rounds(spec)
    return starting_s(spec, rounds) + rounds * burn_ins_per_round(spec) * (trial_s(spec) + OVERHEAD_S)


def time_per_size_s(spec: StudySpec) -> float:
    """Return the seconds that a study with a time limit has for the search and confirmation of each record size.

    Raises:
        ValueError: The study has no time limit.
    """
    limits_s = [] if spec.search.hours is None else [spec.search.hours * 3600]
    if spec.search.until is not None:
        now = datetime.datetime.now()
        limits_s.append(next_occurrence(spec.search.until, now).timestamp() - now.timestamp())
    return max(0.0, min(limits_s)) / len(spec.workload.record_sizes)


def least_spread_s(spec: StudySpec, each_s: float) -> float:
    """Return the seconds that a confirmation takes if its first rounds start `SESSION_GAP_S` apart."""
    return _outside_gaps_s(spec, each_s) + (spec.confirm.rounds - 1) * SESSION_GAP_S


def spread_s(spec: StudySpec, own_s: float, each_s: float) -> float:
    """Return how many seconds of a record size's time are kept for its confirmation, if rounds are spread by default.

    Args:
        spec: The study.
        own_s: The seconds that the record size has for its search and its confirmation.
        each_s: The seconds that a trial takes.

    Returns:
        A third of the time, or more if the first rounds need more to start `SESSION_GAP_S` apart, in seconds.
        0 if the rounds are not spread by default, or if less than a third of the time would be left for the search.
    """
    if not spreads_rounds(spec):
        return 0.0
    kept_s = max(_SPREAD_SHARE * own_s, least_spread_s(spec, each_s))
    return kept_s if kept_s <= _MOST_SHARE * own_s else 0.0


def gap_s(spec: StudySpec, left_s: float | None, each_s: float) -> float:
    """Return the seconds from the start of one round to the start of the next; 0 if there are no pauses.

    Args:
        spec: The study.
        left_s: The seconds that the record size has left when its confirmation begins; None if its time is not limited.
        each_s: The seconds that a trial takes.
    """
    confirm = spec.confirm
    if left_s is None:
        return confirm.gap_s
    if not spreads_rounds(spec):
        return min(confirm.gap_s, left_s / max(1, confirm.rounds, confirm.max_rounds))
    room_s = left_s - _outside_gaps_s(spec, each_s)
    wanted_s = min(SESSION_GAP_S, room_s / (confirm.rounds - 1))
    found_s = max(wanted_s, room_s / (most_rounds(spec) - 1))
    return found_s if found_s >= _LEAST_GAP_RATIO * SESSION_GAP_S else 0.0


def _outside_gaps_s(spec: StudySpec, each_s: float) -> float:
    """Return the seconds that a confirmation takes before its first round and in its last round."""
    round_of = 1 + len(spec.confirm.goals) + burn_ins_per_round(spec)
    return (least_confirm_trials(spec) - (spec.confirm.rounds - 1) * round_of) * each_s


def least_confirm_trials(spec: StudySpec) -> int:
    """Return the smallest number of measurements of a record size's confirmation, with their burn-in runs."""
    in_rounds = spec.confirm.rounds * burn_ins_per_round(spec)
    return least_steps(spec.confirm) + least_winner_burn_in_trials(spec) + in_rounds


def _least_trials(spec: StudySpec) -> list[int]:
    """Return the fewest trials of each record size's search that are worth a confirmation."""
    counts = [spec.search.trials] * len(spec.workload.record_sizes)
    if spec.search.method is Method.GRID:
        # If the search space is impossible, the search itself reports the error.
        with contextlib.suppress(ConfigError):
            counts = [trials_in_all(spec.search, space, spec.baseline) for space in spec.spaces.values()]
    return [LEAST_TRIALS if count is None else min(LEAST_TRIALS, count) for count in counts]


def _search_s(spec: StudySpec, trials: int) -> float:
    """Return the seconds that the burn-in runs of the baseline and the search of a record size take."""
    each_s = trial_s(spec) + OVERHEAD_S
    # The first burn-in run is a load without a pause. It ends when the throughput shows no trend.
    first_s = UNBROKEN_S + OVERHEAD_S if spec.search.burn_in_max > 1 else each_s
    # Only trials of the search run on all targets at the same time.
    return first_s + (burn_in_trials(spec) - 1) * each_s + trials * each_s / len(spec.targets)
