"""The end of a record size: its best configs again, in turn with the baseline, so that no claim is a lucky trial."""

from collections.abc import Mapping

from runners.workload import RecordSizes
from search_spaces.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan, add_plan, plan_of
from tuner.confirmation.rounds import Step, least_steps, next_step, winners_of
from tuner.course.stabilise import Stabiliser
from tuner.course.trial_loop import TrialLoop
from tuner.model.trial import Kind
from tuner.results.recommendation import nominees
from tuner.results.size_record import SizeRecord
from tuner.results.study_results import SizeResults
from tuner.search.strategy import Proposal


def confirm(loop: TrialLoop, size: RecordSizes, confirmation_id: str, stabiliser: Stabiliser) -> None:
    """Measure what the plan asks for, as far as that is not on record yet (`tuner.confirmation.plan`).

    Args:
        loop: Of the study.
        size: The record size.
        confirmation_id: Which confirmation it is; see `tuner.confirmation.plan`.
        stabiliser: Makes the target ready, and gives the fixed rate of the paced phase.
    """
    record, asked = loop.records[size], loop.spec.confirm
    results = record.results(None)
    if not asked.rounds or results.baseline is None:
        return
    plan = _plan(loop, results, confirmation_id)
    if not any(plan.nominees.values()):
        goals = ", ".join(asked.goals)
        loop.reporter.say(
            f"{size} B: nothing measured was better than the baseline for {goals}, so there is nothing to confirm"
        )
        return
    configs = _configs(loop, results, plan)
    told: set[Kind] = set()
    measured = 0
    while step := next_step(
        plan, configs, record.trials, results.baseline_metrics, results.objectives, loop.spec.search.seed
    ):
        if step.kind not in told:
            if not told & {Kind.CONFIRM, Kind.ABLATION}:
                for config in _to_stabilise(step.kind, plan, configs, results, record):
                    stabiliser.of_config(size, config, until_agreed=step.kind is not Kind.SECOND_LOOK)
            loop.reporter.say(f"{size} B: {_what(step, plan)}")
            told.add(step.kind)
        if not loop.may_start(None):
            loop.reporter.say(f"{size} B: no bytes are left to confirm")
            return
        beyond_plan = step.kind is Kind.ABLATION or measured >= least_steps(asked)
        if beyond_plan and not loop.may_start(loop.ends_s()):
            loop.reporter.say(f"{size} B: no time is left to narrow the intervals further")
            return
        rate_records_per_s = stabiliser.of_baseline(size)
        loop.run_one(size, step.kind, Proposal(0, step.config, {}), rate_records_per_s, step.round)
        measured += 1


def _to_stabilise(
    kind: Kind, plan: ConfirmationPlan, configs: Mapping[str, ProducerConfig], results: SizeResults, record: SizeRecord
) -> list[ProducerConfig]:
    """What is to be compared in trials of that kind, but for the baseline and ablations."""
    if kind is Kind.SECOND_LOOK:
        asked = [each for nominees in plan.nominees.values() if len(nominees) > 1 for each in nominees]
    else:
        asked = [*winners_of(plan, record.trials, results.baseline_metrics, results.objectives).values()]
    return [configs[each] for each in dict.fromkeys(asked)]


def _what(step: Step, plan: ConfirmationPlan) -> str:
    match step.kind:
        case Kind.SECOND_LOOK:
            return "a second look at the best configs, as the luckiest of them stands first"
        case Kind.CONFIRM:
            most = f" to {plan.max_rounds}" if plan.max_rounds > plan.rounds else ""
            what = "this config" if plan.both_ways else "the winners again"
            return f"measuring the baseline and {what}, in turn, {plan.rounds}{most} rounds"
        case _:
            return "measuring what each change brings: the winners with one knob at a time back at the baseline's value"


def _plan(loop: TrialLoop, results: SizeResults, confirmation_id: str) -> ConfirmationPlan:
    """What is confirmed; kept, so that a resumed confirmation has the same."""
    assert results.baseline is not None
    kept, asked = plan_of(loop.store, results.record_bytes, confirmation_id), loop.spec.confirm
    if kept is not None:
        return kept
    if asked.configs:
        chosen = dict.fromkeys(asked.goals, tuple(config.fingerprint for config in asked.configs))
    else:
        chosen = {
            goal: tuple(trial.fingerprint for trial in nominees(results, goal, max(1, asked.nominees)))
            for goal in asked.goals
        }
    fingerprint, constraints = results.baseline.fingerprint, loop.spec.constraints
    plan = ConfirmationPlan.of(asked, fingerprint, chosen, results.trials, constraints, confirmation_id)
    add_plan(loop.store, results.record_bytes, plan)
    return plan


def _configs(loop: TrialLoop, results: SizeResults, plan: ConfirmationPlan) -> dict[str, ProducerConfig]:
    given = {config.fingerprint: config for config in loop.spec.confirm.configs}
    by_fingerprint = {trial.fingerprint: trial for trial in results.trials}
    asked = [plan.baseline, *(each for fingerprints in plan.nominees.values() for each in fingerprints)]
    return {each: given[each] if each in given else by_fingerprint[each].config() for each in asked}
