"""The specification of a study."""

from tuner.model.spec import ConfirmSpec


def test_the_default_rounds_do_not_exceed_the_requested_maximum() -> None:
    kept = ConfirmSpec(rounds=8, max_rounds=20)
    for asked, expected in (
        ({"max_rounds": 5}, (5, 5)),
        ({"max_rounds": 40}, (8, 40)),
        ({"rounds": 3}, (3, 20)),
        ({"rounds": 3, "max_rounds": 5}, (3, 5)),
        ({}, (8, 20)),
    ):
        found = kept.changed(asked)
        assert (found.rounds, found.max_rounds) == expected
    assert ConfirmSpec(rounds=0).changed({"max_rounds": 5}).rounds == 0
