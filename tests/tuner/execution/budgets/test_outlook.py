"""What a running study expects of its next trial, from the trials that it has measured."""

import pytest

from runners.workload import RecordSizes
from tests.helpers.trials import SIZE, trial
from tuner.execution.budgets.budget import Budget
from tuner.execution.budgets.outlook import Outlook
from tuner.model.spec import SearchSpec, StudySpec, WorkloadSpec
from tuner.model.study_time import trial_s
from tuner.model.trial import Trial, TrialKind
from tuner.results.search_state import SearchState

RECORDS = RecordSizes.parse(SIZE)
SPEC = StudySpec("small", WorkloadSpec((RECORDS,)), search=SearchSpec(trials=10, max_bytes=1000))


def after(*trials: Trial) -> Outlook:
    searches = {RECORDS: SearchState(SIZE, SPEC.objectives, list(trials))}
    return Outlook.after(trials, SPEC, searches, Budget(SPEC.search, trials))


def test_a_long_burn_in_run_tells_nothing_about_the_time_and_the_bytes_of_a_trial() -> None:
    burn_in = trial(0, kind=TrialKind.BURN_IN, duration_s=500.0, load_s=15 * trial_s(SPEC), sent_bytes=800)
    assert after(burn_in).mean_s() == after().mean_s()
    assert after(burn_in).most_bytes() == pytest.approx(80)
    assert after(burn_in, trial(1, duration_s=7.0), trial(2, duration_s=9.0)).mean_s() == 8.0


def test_a_trial_starts_only_if_the_bytes_last_for_it_and_for_the_trials_that_run_beside_it() -> None:
    outlook = after(trial(0, sent_bytes=300, duration_s=1.0))
    assert outlook.may_start(None, others=1)
    assert not outlook.may_start(None, others=2)
    assert not outlook.may_start(None, kept_bytes=400)
    outlook.count(trial(1, sent_bytes=400, duration_s=1.0))
    assert not outlook.may_start(None), "300 bytes are left, and the last trial has sent 400"
