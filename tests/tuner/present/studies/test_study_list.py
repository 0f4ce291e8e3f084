"""The list of studies."""

from tuner.present.studies.study_list import listed_study


def test_a_study_that_has_not_begun_has_no_number_of_planned_trials() -> None:
    queued = listed_study("first", {}, None, "queued")
    assert (queued.trials_done, queued.trials_planned) == (0, None)
