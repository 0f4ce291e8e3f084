"""What a stored trial says of its measurements."""

from runners.measurements.measurement import LatencyCheck
from runners.workload import RecordSizes, Workload
from tests.helpers.measurements import measurement
from tests.helpers.studies import BASELINE
from tuner.execution.trial_keeper import utc_now
from tuner.execution.trials.early_end import ToTheEnd
from tuner.execution.trials.trial_from_measurements import trial_of
from tuner.execution.trials.trial_job import StartedTrial, TrialJob, TrialOutcome
from tuner.model.trial import PACED, SATURATED, Proposal, TrialKind

SIZE = RecordSizes.fixed(100)
PHASES = ((PACED, Workload(SIZE, rate_records_per_s=500.0)), (SATURATED, Workload(SIZE)))


def test_a_difference_to_the_clients_statistics_says_in_which_phase_it_was_seen() -> None:
    started = StartedTrial(SIZE, 0, TrialKind.SEARCH, Proposal(BASELINE), utc_now(), 0.0)
    outcome = TrialOutcome(TrialJob(started, PHASES, 10**9, 0, lambda *_: None, ToTheEnd(("mb_per_s",))))
    for name, workload in PHASES:
        differing = LatencyCheck(1_100, 1_000, 400, 50, 550, None)
        outcome.measurements[name] = measurement(workload=workload, latency_check=differing)
    said = "the measured latency differs by +10.0 % from that in the client's statistics"
    trial, _ = trial_of(outcome, (), (), None, 1.0)
    assert trial.warnings == (said, f"{said} at full speed")
