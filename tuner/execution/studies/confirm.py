"""The confirmation after the search of a record size: the best configs are measured again in turn with the baseline.

So no gain rests on one lucky trial.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from runners.workload import RecordSizes
from search_spaces.configs.producer_config import ProducerConfig
from tuner.confirmation.plan import ConfirmationPlan, add_plan, leave_out, plan_of, plans_in
from tuner.confirmation.steps import Step, least_steps, next_step
from tuner.confirmation.winners import MeasuredPlan
from tuner.execution.budgets.budget import KeptForOthers
from tuner.execution.budgets.estimate import gap_s
from tuner.execution.studies.burn_in import BurnIn
from tuner.execution.studies.study_trials import StudyTrials
from tuner.model.facts import ROUND_STARTED
from tuner.model.progress import Progress, StudyState
from tuner.model.study_time import rounds_on_new_brokers
from tuner.model.trial import Trial, TrialKind
from tuner.results.recommendations.nominees import nominees
from tuner.results.study_results import SizeResults

_LONGEST_WAIT_S: Final = 20.0
"""The longest wait in seconds without reading the clock again. The host may be suspended during a wait."""


@dataclass(slots=True)
class Sessions:
    """Prepares the rounds of one confirmation: waits, starts brokers and makes burn-in runs, as the plan says.

    A config's speed differs a little from one start of a broker to the next, and from hour to hour. The time from
    one start to the next, or such an hour, is called a session here. If all rounds are in one session, they all
    have the same offset, and their scatter does not show this offset. Between starts of a broker, we measured an
    offset of 5 %. Simulated studies whose rounds all had the same offset often recommended a change that did not
    help (`sessions-cluster-block` in docs/evidence/trust.md). If each round is a session, the offsets are part of
    the scatter of the rounds, so the confidence interval allows for them.

    A newly started broker is slow with each config at first, so each config of the round has one burn-in run. The
    burn-in runs are in the reverse order of the round. So the last burn-in run has the config with which the round
    begins. The order of the rounds (`tuner.confirmation.order`) needs this: the first config of a round follows
    itself.

    Attributes:
        trials: Runs the trials of the study.
        size: The record size.
        plan: The plan of the confirmation.
        kept_s: Seconds that are kept for the record sizes that follow.
    """

    trials: StudyTrials
    size: RecordSizes
    plan: ConfirmationPlan
    kept_s: float
    _round: int | None = None

    def begin(self, step: Step, rate_records_per_s: float | None) -> bool:
        """Prepare the round to which a step belongs, unless this process has prepared the round already.

        Args:
            step: The next measurement of the confirmation.
            rate_records_per_s: The rate of the paced phase; None without this phase.

        Returns:
            Whether the round can be measured; False if the study's time ends before the round is due.
        """
        if step.kind is not TrialKind.CONFIRM or not self.plan.rounds_have_burn_in or step.round == self._round:
            return True
        number = step.round - self.plan.first_round + 1
        if self.plan.gap_s and not self._wait(step, number):
            return False
        self._round = step.round
        configs = step.order[:1]
        if self.plan.new_broker:
            self.trials.reporter.say(f"{self.size} B: round {number}, on newly started brokers")
            self.trials.bench.restart_brokers()
            configs = step.order[::-1]
        for index, config in enumerate(configs):
            if self.trials.outlook.may_start(None):
                # The first burn-in run on a new broker lasts until the throughput shows no trend.
                until_steady = self.plan.new_broker and index == 0
                self.trials.run_burn_in(self.size, config, rate_records_per_s, until_steady=until_steady)
        return True

    def _wait(self, step: Step, number: int) -> bool:
        """Wait until a round is due, and store when it starts; return False if the study's time ends before that."""
        kept, budget = self.trials.store.facts().get(ROUND_STARTED, {}), self.trials.outlook.budget
        last = kept.get(str(self.size), {})
        due_s = budget.now_s()
        if self.plan.first_round <= last.get("round", -1) < step.round:
            due_s = datetime.datetime.fromisoformat(last["at"]).timestamp() + self.plan.gap_s
            # If the clock was set back, the last round seems to have begun in the future.
            due_s = min(due_s, budget.now_s() + self.plan.gap_s)
        left_s = budget.left_s()
        if left_s is not None:
            rounds_left = max(1, self.plan.rounds - number + 1)
            # Each config of a round takes a burn-in run and a trial.
            latest_s = (
                budget.now_s() + left_s - self.kept_s - rounds_left * 2 * len(step.order) * self.trials.outlook.mean_s()
            )
            # A round that the study can do without is left out. Any other round begins sooner.
            if due_s > latest_s and number > self.plan.rounds:
                return False
            due_s = min(due_s, latest_s)
        if due_s > budget.now_s():
            until = f"{datetime.datetime.fromtimestamp(due_s):%Y-%m-%d %H:%M}"
            self.trials.reporter.say(
                f"{self.size} B: waiting until {until} for round {number}, as the rounds are spread over time "
                "(confirm.spread_over)"
            )
            while (wait_s := due_s - budget.now_s()) > 0:
                message = f"{self.size} B, waiting until {until} for round {number} of the confirmation"
                self.trials.keeper.tell(
                    Progress(
                        StudyState.CONFIRMING, record_bytes=str(self.size), kind=TrialKind.CONFIRM, message=message
                    )
                )
                budget.clock.sleep(min(wait_s, _LONGEST_WAIT_S))
        now = datetime.datetime.fromtimestamp(budget.now_s(), datetime.UTC)
        kept[str(self.size)] = {"round": step.round, "at": now.isoformat(timespec="seconds")}
        self.trials.store.set_fact(ROUND_STARTED, kept)
        return True


def confirm(
    trials: StudyTrials,
    size: RecordSizes,
    confirmation_id: str,
    burn_in: BurnIn,
    for_others: KeptForOthers,
) -> None:
    """Run a confirmation of one record size: all trials of its plan that are not in the results store yet.

    Args:
        trials: Runs the trials of the study.
        size: The record size.
        confirmation_id: The identifier of the confirmation; see `tuner.confirmation.plan`.
        burn_in: Makes the burn-in runs, and knows the rate of the paced phase.
        for_others: The time and the bytes that must be left for the record sizes that follow. Only the fewest rounds
            that a confirmation needs may use them.
    """
    search, settings, outlook = trials.searches[size], trials.spec.confirm, trials.outlook
    results = search.results(None)
    if not settings.rounds or results.baseline is None:
        return
    left_s = outlook.budget.left_s()
    plan = _plan(trials, results, confirmation_id, None if left_s is None else left_s - for_others.seconds)
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
    sessions = Sessions(trials, size, plan, for_others.seconds)
    measured = len(plan.counted(search.trials))
    while step := following():
        if step.kind not in announced:
            # On newly started brokers, `Sessions` makes the burn-in runs of each round.
            new_broker = step.kind is TrialKind.CONFIRM and plan.new_broker
            if not new_broker and not announced & {TrialKind.CONFIRM, TrialKind.UNDO}:
                for config in _to_burn_in(step.kind, measured_plan(), configs):
                    burn_in.run(size, config, until_no_trend=step.kind is not TrialKind.REPEAT)
            trials.reporter.say(f"{size} B: {_purpose(step, plan)}")
            announced.add(step.kind)
        beyond_least = step.kind is TrialKind.UNDO or measured >= least_steps(settings)
        if not outlook.may_start(None):
            over = "too little of the byte budget is left for a trial"
        elif beyond_least and not outlook.may_start(for_others.seconds, for_others.load_bytes):
            over = "too little time or too little of the byte budget is left for more rounds"
        elif not sessions.begin(step, rate_records_per_s := burn_in.rate_after_burn_in(size)):
            over = "the next round would begin after the end of the study's time"
        else:
            trials.run_confirm_trial(size, step.kind, step.config, rate_records_per_s, step.round)
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
