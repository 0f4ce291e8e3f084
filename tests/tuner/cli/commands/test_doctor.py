"""The checks of `tuner doctor` that need no broker. Its checks of a cluster are tested in `test_on_a_real_broker`."""

import pytest

from tuner.cli.commands.doctor import CheckState, check_host, steadiness


def test_the_speed_of_the_processors_is_among_the_checks_of_the_host() -> None:
    [speed] = [each for each in check_host() if each.name == "CPU speed"]
    assert speed.state in {CheckState.GOOD, CheckState.WEAK}
    assert "ms of CPU time" in speed.detail


@pytest.mark.parametrize(
    ("took_ms", "state"),
    [
        ([2.0] * 50, CheckState.GOOD),
        ([2.0] * 49 + [9.0], CheckState.GOOD),  # a single slow run, such as the first one
        ([2.0] * 40 + [2.6] * 10, CheckState.WEAK),
    ],
)
def test_processors_are_unsteady_if_the_same_work_often_takes_longer(took_ms: list[float], state: CheckState) -> None:
    assert steadiness(took_ms).state is state


def test_the_finding_shows_how_long_the_work_took() -> None:
    assert "2.0 to 2.6 ms" in steadiness([2.0] * 40 + [2.6] * 10).detail
