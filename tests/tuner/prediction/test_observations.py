"""Predictions are fitted to the means of what a study has measured of each config."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean

import pytest

from tests.helpers.studies import Told, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.trial import TrialKind
from tuner.prediction.observations import observations_from_trials
from tuner.results.study_load import study_workload


def test_a_config_that_was_measured_several_times_is_one_mean_that_counts_as_many(tmp_path: Path) -> None:
    study = measure_study(simulated_study((1000,)), "", tmp_path, Told())
    load = replace(study_workload(study, "1000"), rate_records_per_s=None)
    baseline, *others = observations_from_trials(study.sizes[0].trials, load)
    repeats = [
        trial.metrics["records_per_s"]
        for trial in study.sizes[0].trials
        if trial.config() == baseline.config and trial.kind is not TrialKind.BURN_IN
    ]
    assert len(repeats) > 2
    assert baseline.measurements == len(repeats)
    assert baseline.values["records_per_s"] == pytest.approx(geometric_mean(repeats))
    assert Counter(each.measurements for each in others)[1] > 1
