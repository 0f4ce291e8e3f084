"""Confirmations with a carry-over: a measurement is slower if the one before it measured a winner."""

from random import Random

from search_spaces.configs.producer_config import ProducerConfig
from tests.helpers.trials import OBJECTIVES, baseline, trial
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.steps import next_step
from tuner.confirmation.winners import MeasuredPlan
from tuner.model.goals import Goal
from tuner.model.trial import Trial, TrialKind

BASELINE = {"mb_per_s": 100.0, "latency_p99_ms": 10.0}
WINNERS = [{"linger.ms": "20"}, {"linger.ms": "30"}, {"linger.ms": "1"}]


def plan_for(winners: int, rounds: int = 8, gap_s: float = 0.0) -> ConfirmationPlan:
    """Return the plan of a confirmation of the first winners."""
    made = [ProducerConfig.parse(each).fingerprint for each in WINNERS[:winners]]
    nominees = {goal: (made[min(place, winners - 1)],) for place, goal in enumerate(Goal)}
    return ConfirmationPlan(baseline().fingerprint, nominees, rounds=rounds, max_rounds=rounds, gap_s=gap_s)


def carried_out(
    plan: ConfirmationPlan, carry_over: float, seed: int, stored: list[Trial], gain: float = 1.0, noise: float = 0.0
) -> list[Trial]:
    """Return the stored trials and those of the whole confirmation.

    If the plan has pauses, each round begins with a burn-in run of its first config.

    Args:
        plan: The plan of the confirmation.
        carry_over: By how much a measurement after a winner is slower, as a part of 1.
        seed: Seed of the order and of the noise.
        stored: The trials before the confirmation, and those of a confirmation that was interrupted.
        gain: How many times better than the baseline each winner is.
        noise: Standard deviation of the noise, in logarithms.
    """
    random, configs = Random(seed), {each.fingerprint: each for each in map(ProducerConfig.parse, [{}, *WINNERS])}
    members, done = 1 + len({each for nominees in plan.nominees.values() for each in nominees}), list(stored)
    while step := next_step(MeasuredPlan(plan, done, BASELINE, OBJECTIVES), configs, seed):
        if plan.gap_s and len(step.order) == members:
            done.append(trial(len(done), kind=TrialKind.BURN_IN, config=dict(step.config.values)))
        factor = 1.0 if done[-1].fingerprint == plan.baseline else 1 - carry_over
        factor *= gain if step.config.values else 1.0
        numbers = [base * random.lognormvariate(0, noise) for base in (100 * factor, 10 / factor)]
        kept = {"kind": step.kind, "round": step.round, "config": dict(step.config.values)}
        done.append(trial(len(done), *numbers, **kept))  # type: ignore[arg-type]
    return done
