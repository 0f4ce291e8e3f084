"""An experiment is resumed only with the rows that it began with, whichever release stored them."""

from dataclasses import fields, replace
from typing import Any

import pytest

from runners.workload import Workload
from tests.helpers.measurements import measurement
from tuner.experiment_file.loading import read_experiment
from tuner.model.errors import StudyChanged
from tuner.model.experiment_identity import check_same_rows, experiment_identity
from tuner.model.facts import EXPERIMENT, IDENTITY
from tuner.model.measurement_json import measurement_json

SPEC, _ = read_experiment("thesis-default", {})
ROW = SPEC.rows[0]


def test_a_load_has_the_settings_that_the_first_release_with_experiments_stored() -> None:
    load = experiment_identity(SPEC)[f"row {ROW.name}"]["load"]
    assert list(load) == [
        "record_sizes",
        "key_bytes",
        "compressibility_ratio",
        "partitions",
        "replication",
        "warmup_s",
        "measured_s",
        "rate_records_per_s",
        "consumers",
        "seed",
    ]


@pytest.mark.parametrize("change", [{"consumers": 1}, {"key_bytes": 2, "different_keys": 9}, {"peak_ratio": 2.0}])
def test_a_row_with_another_load_is_refused(change: dict[str, Any]) -> None:
    facts = {EXPERIMENT: True, IDENTITY: experiment_identity(SPEC)}
    check_same_rows(SPEC, facts)
    other = replace(ROW, workload=replace(ROW.workload, rate_records_per_s=10.0, **change))
    paced = replace(ROW, workload=replace(ROW.workload, rate_records_per_s=10.0))
    facts[IDENTITY] = experiment_identity(replace(SPEC, rows=(paced, *SPEC.rows[1:])))
    with pytest.raises(StudyChanged, match=f"row {ROW.name}"):
        check_same_rows(replace(SPEC, rows=(other, *SPEC.rows[1:])), facts)


def test_a_stored_measurement_has_every_setting_of_its_load() -> None:
    stored = measurement_json(measurement())["workload"]
    assert {*stored} == {each.name for each in fields(Workload)} - {"record_sizes"} | {"record_bytes", "load"}
