"""The table of all trials: its types, and that no value changes on its way through JSON."""

import json
from dataclasses import replace
from pathlib import Path

import pandas as pd

from tests.helpers.stored_studies import failed, study
from tuner.model.trial import Trial
from tuner.present.trial_tables.frames import changed_properties, frame_of, trials_csv, trials_frame, trials_json


def _idempotent(trial: Trial) -> Trial:
    if trial.number == 3:
        return failed(trial)
    return replace(trial, values={**trial.values, "enable.idempotence": "true"}) if trial.number == 2 else trial


def test_truth_values_and_numbers_have_their_types(tmp_path: Path) -> None:
    frame = trials_frame(study(tmp_path, trials=6, rounds=0, change=_idempotent).sizes)
    assert pd.api.types.is_bool_dtype(frame["enable.idempotence"])
    assert frame["enable.idempotence"].tolist().count(True) == 1
    assert pd.api.types.is_integer_dtype(frame["batch.size"])
    assert frame["mb_per_s"].isna().tolist() == [number == 3 for number in frame["number"]]


def test_a_table_is_the_same_after_json(tmp_path: Path) -> None:
    frame = trials_frame(study(tmp_path, trials=30, change=_idempotent).sizes)
    again = frame_of(json.loads(json.dumps(trials_json("overnight", frame, [])))["trials"])
    pd.testing.assert_frame_equal(again, frame, check_exact=True)
    assert trials_csv(again) == trials_csv(frame)


def test_changes_are_written_as_the_client_reads_them(tmp_path: Path) -> None:
    frame = trials_frame(study(tmp_path, trials=11, rounds=0, change=_idempotent).sizes)
    told = changed_properties(frame)
    assert told[0] == told[10] == ""
    assert "enable.idempotence=true" in told[2]
    assert told[7] == "batch.size=262144 compression.type=lz4 linger.ms=2"
