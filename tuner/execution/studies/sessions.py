"""Prepares the rounds of a confirmation if each round is measured on newly started brokers or after a pause.

A config's speed differs a little from one start of a broker to the next, and from hour to hour. The time from one start
to the next, or such an hour, is called a session here. If all rounds are in one session, they all have the same offset,
and their scatter does not show this offset. Between starts of a broker, we measured an offset of 5 %. Simulated studies
whose rounds all had the same offset often recommended a change that did not help (`sessions-cluster-block` in
docs/evidence/trust.md). If each round is a session, the offsets are part of the scatter of the rounds, so the
confidence interval allows for them.

A newly started broker is slow with each config at first, so each config of the round has one burn-in run. The burn-in
runs are in the reverse order of the round. So the last burn-in run has the config with which the round begins. The
order of the rounds (`tuner.confirmation.order`) needs this: the first config of a round follows itself.
"""

import datetime
from dataclasses import dataclass
from typing import Final

from runners.workload import RecordSizes
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.steps import Step
from tuner.execution.studies.study_trials import StudyTrials
from tuner.model.facts import ROUND_STARTED
from tuner.model.progress import Progress, StudyState
from tuner.model.trial import TrialKind

_LONGEST_WAIT_S: Final = 20.0
"""The longest wait in seconds without reading the clock again. The host may be suspended during a wait."""


@dataclass(slots=True)
class Sessions:
    """Prepares the rounds of one confirmation: waits, starts brokers and makes burn-in runs, as the plan says.

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
            rate_records_per_s: The rate of the paced phase (the load at a fixed rate); None without this phase.

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
                self.trials.progress.tell(
                    Progress(
                        StudyState.CONFIRMING, record_bytes=str(self.size), kind=TrialKind.CONFIRM, message=message
                    )
                )
                budget.clock.sleep(min(wait_s, _LONGEST_WAIT_S))
        now = datetime.datetime.fromtimestamp(budget.now_s(), datetime.UTC)
        kept[str(self.size)] = {"round": step.round, "at": now.isoformat(timespec="seconds")}
        self.trials.store.set_fact(ROUND_STARTED, kept)
        return True
