"""How a trial may end early: which phases a config that can't hold the fixed rate still measures."""

from math import inf

import pytest

from objectives.racing import Race
from runners.simulated import SimulatedRunner
from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import window
from tests.helpers.studies import BASELINE
from tests.helpers.trials import THROUGHPUT
from tuner.execution.trial_keeper import utc_now
from tuner.execution.trials.early_end import IfHopeless, Raced, ToTheEnd, WhenSteady
from tuner.execution.trials.stopping import PhaseProgress
from tuner.execution.trials.trial_job import EarlyEnd, StartedTrial, TrialJob, TrialOutcome
from tuner.model.trial import PACED, SATURATED, Proposal, TrialKind

SIZE = RecordSizes.fixed(1000)
PHASES = ((PACED, Workload(SIZE, measured_s=5.0, rate_records_per_s=1e8)), (SATURATED, Workload(SIZE)))


@pytest.mark.parametrize(
    ("ends", "over"),
    [
        (ToTheEnd(("mb_per_s",)), False),
        (IfHopeless(), True),
        (Raced(Race((THROUGHPUT,), {}, (), (), {}), ("mb_per_s",)), True),
        (WhenSteady(inf), False),
    ],
)
def test_a_config_that_cant_hold_the_rate_ends_only_trials_of_the_search(ends: EarlyEnd, over: bool) -> None:
    started = StartedTrial(SIZE, 0, TrialKind.SEARCH, Proposal(BASELINE), utc_now(), 0.0)
    outcome = TrialOutcome(TrialJob(started, PHASES, 10**9, 0, lambda *_: None, ends))
    rule = ends.rule_for(outcome, *PHASES[0])
    seen = PhaseProgress(rule.metrics)
    for number in range(2):
        seen.add(window(number=number, records=100))
    assert (rule.judge(seen) is not None) is over
    outcome.measurements[PACED] = SimulatedRunner().run(BASELINE, PHASES[0][1])
    assert ends.ends_trial(outcome, PACED) is over
    assert not ends.repeats_paced(outcome), "no rule has shortened the phase"


def test_only_the_metrics_of_its_phase_are_followed() -> None:
    ends = ToTheEnd(("mb_per_s", "latency_p99_ms"))
    started = StartedTrial(SIZE, 0, TrialKind.BASELINE, Proposal(BASELINE), utc_now(), 0.0)
    outcome = TrialOutcome(TrialJob(started, PHASES, 10**9, 0, lambda *_: None, ends))
    assert [ends.rule_for(outcome, *phase).metrics for phase in PHASES] == [("latency_p99_ms",), ("mb_per_s",)]
