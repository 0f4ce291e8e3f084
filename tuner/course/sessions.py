"""How the rounds of a confirmation begin, if each round is a session of its own.

All rounds on one start of a broker, or of one hour, share what is special about that start or hour, and their scatter
does not show it. In simulated studies with 5 % of such an offset, which is what we measured between starts, 37 % of the
studies recommended a change that did not help. So each round may be measured on newly started brokers, or some time
after the round before. The ratios of the rounds then scatter as much as sessions do, and the interval contains it.

A new broker is slow with each config that it has not seen, so each config of the round has one burn-in run. These runs
go through the configs in the reverse order of the round. Then the first config of the round follows itself, which is
what the order of the rounds needs (`tuner.confirmation.order`).
"""

import datetime
from dataclasses import dataclass
from typing import Final

from runners.workload import RecordSizes
from tuner.confirmation.plan import ConfirmationPlan
from tuner.confirmation.steps import Step
from tuner.course.trial_loop import TrialLoop
from tuner.model.trial import Kind, Progress, Proposal, StudyState

STARTED: Final = "round_started"
"""The key under which the results store keeps, by record size, the newest round with a pause, and when it started."""
_LOOK_S: Final = 20.0
"""Seconds between two looks at the clock while we wait. The host may sleep meanwhile."""


@dataclass(slots=True)
class Sessions:
    """Begins the rounds of one confirmation.

    Attributes:
        loop: Runs the trials of the study.
        size: The record size.
        plan: The plan of the confirmation.
    """

    loop: TrialLoop
    size: RecordSizes
    plan: ConfirmationPlan
    _round: int | None = None

    def begin(self, step: Step, rate_records_per_s: float | None) -> bool:
        """Wait until the round of a step is due, start brokers anew, and make burn-in runs, as far as the plan says so.

        Args:
            step: The next measurement. Nothing is done if this process has begun its round already.
            rate_records_per_s: The rate of the paced phase (the load at a fixed rate); None without this phase.

        Returns:
            Whether the round can be measured. It can't if the study's time ends before it is due.
        """
        if step.kind is not Kind.CONFIRM or not self.plan.begins_anew or step.round == self._round:
            return True
        number = step.round - self.plan.first_round + 1
        if self.plan.gap_s and not self._wait(step, number):
            return False
        self._round = step.round
        configs = step.order[:1]
        if self.plan.new_broker:
            self.loop.reporter.say(f"{self.size} B: round {number}, on newly started brokers")
            self.loop.bench.start_anew()
            configs = step.order[::-1]
        for place, config in enumerate(configs):
            if self.loop.may_start(None):
                # The first load of a new broker has no pause until its throughput shows no trend.
                until_ready = self.plan.new_broker and place == 0
                proposal = Proposal(0, config, {})
                self.loop.run_one(self.size, Kind.STABILISE, proposal, rate_records_per_s, until_ready=until_ready)
        return True

    def _wait(self, step: Step, number: int) -> bool:
        """Wait until a round is due, and store when it starts; return False if the study's time ends before."""
        kept, budget = self.loop.store.facts().get(STARTED, {}), self.loop.budget
        last = kept.get(str(self.size), {})
        due_s = budget.now_s()
        if self.plan.first_round <= last.get("round", -1) < step.round:
            due_s = datetime.datetime.fromisoformat(last["at"]).timestamp() + self.plan.gap_s
        left_s = budget.left_s()
        if left_s is not None:
            rounds_left = max(1, self.plan.rounds - number + 1)
            latest_s = budget.now_s() + left_s - rounds_left * 2 * len(step.order) * self.loop.mean_s()
            if due_s > latest_s and number > self.plan.rounds:
                return False
            due_s = min(due_s, latest_s)
        if due_s > budget.now_s():
            until = f"{datetime.datetime.fromtimestamp(due_s):%Y-%m-%d %H:%M}"
            self.loop.reporter.say(
                f"{self.size} B: waiting until {until} for round {number}, as the rounds are spread over time "
                "(confirm.spread_over)"
            )
            while (wait_s := due_s - budget.now_s()) > 0:
                message = f"{self.size} B, waiting until {until} for round {number} of the confirmation"
                self.loop.tell_progress(
                    Progress(StudyState.CONFIRMING, record_bytes=str(self.size), kind=Kind.CONFIRM, message=message)
                )
                self.loop.sleep(min(wait_s, _LOOK_S))
        now = datetime.datetime.fromtimestamp(budget.now_s(), datetime.UTC)
        kept[str(self.size)] = {"round": step.round, "at": now.isoformat(timespec="seconds")}
        self.loop.store.set_fact(STARTED, kept)
        return True
