"""The record sizes of a study share its bytes, and a study that was stopped before its first trial is not kept."""

from dataclasses import replace
from pathlib import Path

import pytest

from tests.helpers.studies import StoppedAtOnce, Told, on_record, simulated_study
from tuner.execution.studies.run import measure_study
from tuner.model.trial import TrialKind


def test_the_rounds_of_a_record_size_leave_bytes_for_the_next(tmp_path: Path) -> None:
    spec = simulated_study(trials=6, burn_in_max=1)
    measure_study(spec, "", tmp_path / "least", Told())
    limit = 2 * int(sum(trial.spent_bytes for trial in on_record(tmp_path / "least")))
    wide = replace(spec.confirm, max_rounds=300, width_ratio=0.0001)
    told = Told()
    limited = replace(spec, confirm=wide, search=replace(spec.search, max_bytes=limit))
    measure_study(limited, "", tmp_path / "limited", told)
    trials = on_record(tmp_path / "limited")
    for kind in (TrialKind.SEARCH, TrialKind.CONFIRM):
        assert {trial.record_bytes for trial in trials if trial.kind is kind} == {"100", "1000"}, kind
    assert any("100 B: the confirmation ends, as too little time or too" in sentence for sentence in told.sentences)
    assert sum(trial.spent_bytes for trial in trials if trial.record_bytes == "100") <= limit / 2


@pytest.mark.parametrize("max_bytes", [None, 10**12])
def test_a_study_stopped_in_its_first_trial_is_kept_only_if_its_bytes_count(
    tmp_path: Path, max_bytes: int | None
) -> None:
    spec = simulated_study(trials=6, burn_in_max=1)
    limited = replace(spec, search=replace(spec.search, max_bytes=max_bytes))
    with pytest.raises(KeyboardInterrupt):
        measure_study(limited, "", tmp_path / "stopped", told := StoppedAtOnce())
    assert (tmp_path / "stopped").exists() == (max_bytes is not None)
    not_kept = f"{spec.name} is not kept, because nothing that counts was measured"
    assert (not_kept in told.sentences) == (max_bytes is None)
