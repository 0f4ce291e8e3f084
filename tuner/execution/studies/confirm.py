"""The confirmation after the search of a record size: the best configs are measured again in turn with the baseline.

So no gain rests on one lucky trial.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan, add_plan, leave_out, plan_of, plans_in
from tuner.confirmation.steps import Step, least_steps, next_step
from tuner.confirmation.winners import MeasuredPlan
from tuner.execution.budgets.budget import ShareOfOthers
from tuner.execution.budgets.estimate import gap_s
from tuner.execution.studies.burn_in import BurnIn
from tuner.execution.studies.sessions import Sessions
from tuner.execution.studies.study_trials import StudyTrials
from tuner.model.study_time import rounds_on_new_brokers
from tuner.model.trial import Trial, TrialKind
from tuner.results.recommendations.nominees import nominees
from tuner.results.study_results import SizeResults


def confirm(
    trials: StudyTrials,
    size: RecordSizes,
    confirmation_id: str,
    burn_in: BurnIn,
    of_others: ShareOfOthers,
) -> None:
    """Run a confirmation of one record size: all trials of its plan that are not in the results store yet.

    Args:
        trials: Runs the trials of the study.
        size: The record size.
        confirmation_id: The identifier of the confirmation; see `tuner.confirmation.plan`.
        burn_in: Makes the burn-in runs, and knows the rate of the paced phase (the load at a fixed rate).
        of_others: The time and the load that must be left for the record sizes that follow. The rounds beyond the least
            number, and the undo rounds, do not use them.
    """
    search, settings, outlook = trials.searches[size], trials.spec.confirm, trials.outlook
    results = search.results(None)
    if not settings.rounds or results.baseline is None:
        return
    left_s = outlook.budget.left_s()
    plan = _plan(trials, results, confirmation_id, None if left_s is None else left_s - of_others.seconds)
    if not any(plan.nominees.values()):
        reason = _why_none(results, [str(each) for each in trials.spec.constraints], settings.goals)
        trials.reporter.say(f"{size} B: {reason}, so no config has to be confirmed")
        return
    search.first_round = plan.first_round
    configs = _configs(trials, results, plan)
    announced: set[TrialKind] = set()

    def measured_plan() -> MeasuredPlan:
        return MeasuredPlan(plan, search.trials, results.baseline_metrics, results.objectives)

    def following() -> Step | None:
        return next_step(measured_plan(), configs, trials.spec.search.seed)

    if interrupted := _of_interrupted_round(plan, following(), search.trials):
        plan = leave_out(trials.store, str(size), plan, interrupted)
    sessions = Sessions(trials, size, plan, of_others.seconds)
    measured = len(plan.counted(search.trials))
    while step := following():
        if step.kind not in announced:
            # On newly started brokers, `Sessions` makes the burn-in runs of each round.
            new_broker = step.kind is TrialKind.CONFIRM and plan.new_broker
            if not new_broker and not announced & {TrialKind.CONFIRM, TrialKind.UNDO}:
                for config in _to_burn_in(step.kind, measured_plan(), configs):
                    burn_in.of_config(size, config, until_agreed=step.kind is not TrialKind.REPEAT)
            trials.reporter.say(f"{size} B: {_purpose(step, plan)}")
            announced.add(step.kind)
        beyond_plan = step.kind is TrialKind.UNDO or measured >= least_steps(settings)
        if not outlook.may_start(None):
            over = "too little of the byte budget is left for a trial"
        elif beyond_plan and not outlook.may_start(of_others.seconds, of_others.load_bytes):
            over = "too little time or too little of the byte budget is left for more rounds"
        elif not sessions.begin(step, rate_records_per_s := burn_in.of_baseline(size)):
            over = "the next round would begin after the end of the study's time"
        else:
            trials.run_one(size, step.kind, step.config, rate_records_per_s, step.round)
            burn_in.check_rate(size)
            measured += 1
            continue
        trials.reporter.say(f"{size} B: the confirmation ends, as {over}")
        return


def _why_none(results: SizeResults, constraints: Sequence[str], goals: Sequence[str]) -> str:
    """Return why there is nothing to confirm: no config meets the constraints, or none is better than the baseline."""
    searched = [trial for trial in results.trials if trial.kind is TrialKind.SEARCH and trial.violations]
    broken = [{each for each in constraints if trial.violations.get(each, 0.0) > 0.0} for trial in searched]
    if broken and all(broken):
        by_all = [each for each in constraints if all(each in names for names in broken)]
        return "no config of the search meets " + (" or ".join(by_all) or "all of " + ", ".join(constraints))
    which = " that meets every constraint" if constraints else ""
    return f"no config of the search{which} was better than the baseline for {', '.join(goals)}"


def _of_interrupted_round(plan: ConfirmationPlan, step: Step | None, trials: Sequence[Trial]) -> tuple[int, ...]:
    """Return the numbers of the trials of a round that an earlier process began and did not end.

    Such a round is measured again as a whole, because a round must compare what was measured in turn. Its stored
    trials and the missing ones would be hours apart, or on different brokers.

    Args:
        plan: The plan of the confirmation.
        step: The next measurement, if these trials counted.
        trials: The trials of the record size.
    """
    if step is None:
        return ()
    return tuple(trial.number for trial in plan.trials_of(step.kind, trials) if trial.round == step.round)


def _to_burn_in(kind: TrialKind, measured: MeasuredPlan, configs: Mapping[str, ProducerConfig]) -> list[ProducerConfig]:
    """Return the configs that need burn-in runs before trials of the given kind.

    The baseline is left out, because it was measured until it was stable before the search. For undo rounds, which
    measure the winners with one change undone at a time, only the winners themselves are returned.
    """
    plan = measured.plan
    if kind is TrialKind.REPEAT:
        asked = [each for nominees in plan.nominees.values() if len(nominees) > 1 for each in nominees]
    else:
        asked = [*measured.winners.values(), *(plan.beside if kind is TrialKind.CONFIRM else ())]
    return [configs[each] for each in dict.fromkeys(asked)]


def _purpose(step: Step, plan: ConfirmationPlan) -> str:
    """Return a phrase that tells the user why the next trials are measured."""
    match step.kind:
        case TrialKind.REPEAT:
            return "measuring the best configs again, as the config that seems best may only have been lucky"
        case TrialKind.CONFIRM:
            most = f" to {plan.max_rounds}" if plan.max_rounds > plan.rounds else ""
            given = "these configs" if plan.beside else "this config"
            what = given if plan.both_ways else "the winners again"
            return f"measuring the baseline and {what} in turn, for {plan.rounds}{most} rounds"
        case _:
            return (
                "measuring what each change brings: the winners again, with one knob at a time set as in the baseline"
            )


def _plan(trials: StudyTrials, results: SizeResults, confirmation_id: str, left_s: float | None) -> ConfirmationPlan:
    """Return the stored plan of a confirmation; for a new confirmation, make a plan and store it.

    The rounds are spread over `left_s`, the seconds that the record size has left; None if its time is not limited.
    """
    assert results.baseline is not None
    stored, settings = plan_of(trials.store, results.record_bytes, confirmation_id), trials.spec.confirm
    if stored is not None:
        return stored
    if settings.configs:
        chosen = dict.fromkeys(settings.goals, tuple(config.fingerprint for config in settings.configs))
    else:
        chosen = {
            goal: tuple(
                trial.fingerprint for trial in nominees(results, goal, max(1, settings.nominees), settings.allow_loss)
            )
            for goal in settings.goals
        }
    plan = ConfirmationPlan.of(
        settings,
        results.baseline.fingerprint,
        chosen,
        results.trials,
        constraints=trials.spec.constraints,
        confirmation_id=confirmation_id,
        earlier=plans_in(trials.store.facts(), results.record_bytes),
    )
    plan = replace(
        plan, new_broker=rounds_on_new_brokers(trials.spec), gap_s=gap_s(trials.spec, left_s, trials.outlook.mean_s())
    )
    add_plan(trials.store, results.record_bytes, plan)
    return plan


def _configs(trials: StudyTrials, results: SizeResults, plan: ConfirmationPlan) -> dict[str, ProducerConfig]:
    """Return the configs that a plan measures, by fingerprint: the baseline, the best for each goal, those beside."""
    asked = trials.spec.confirm
    given = {config.fingerprint: config for config in (*asked.configs, *asked.beside)}
    by_fingerprint = {trial.fingerprint: trial for trial in results.trials}
    nominees = [each for fingerprints in plan.nominees.values() for each in fingerprints]
    measured = [plan.baseline, *nominees, *plan.beside]
    return {each: given[each] if each in given else by_fingerprint[each].config() for each in measured}
