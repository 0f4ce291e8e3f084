"""A trial that sends much more than expected fails alone; only a limit of the study ends the study."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from runners.errors import ByteBudgetExceeded
from runners.limits import budget_exceeded
from runners.measurement import Measurement
from runners.runner import Watch, go_on
from runners.simulated import SimulatedRunner
from runners.workload import Workload
from search_spaces.producer_config import ProducerConfig
from tests.helpers.studies import simulated_study
from tuner.course.reporter import SilentReporter
from tuner.course.run import run_study
from tuner.model.trial import State


@dataclass
class SendsMuch:
    """A runner whose first run sends more than it may."""

    runs: int = 0

    def run(self, config: ProducerConfig, workload: Workload, watch: Watch = go_on) -> Measurement:
        """Simulate, except in the first run."""
        self.runs += 1
        if self.runs == 1:
            error = budget_exceeded(10**10, 10**10)
            error.sent_bytes = 10**10
            raise error
        return SimulatedRunner().run(config, workload, watch)


def test_a_trial_that_sends_much_more_than_expected_fails_and_the_study_goes_on(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    done = run_study(spec, "", tmp_path, SilentReporter(), simulated=SendsMuch())
    assert done.finished
    first = done.sizes[0].trials[0]
    assert (first.state, first.sent_bytes) == (State.FAILED, 10**10)


def test_a_trial_that_exceeds_a_limit_of_the_study_ends_it(tmp_path: Path) -> None:
    spec = simulated_study((1000,), trials=4, max_bytes=40 * 10**9)
    limited = replace(spec, safety=replace(spec.safety, max_bytes_per_trial=10**10))
    with pytest.raises(ByteBudgetExceeded):
        run_study(limited, "", tmp_path, SilentReporter(), simulated=SendsMuch())
