"""How numbers are written for people."""

import pytest

from runners.reporting import counted


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 topics"), (1, "1 topic"), (2, "2 topics"), (1_200, "1,200 topics")]
)
def test_a_number_of_things_has_the_right_plural(number: int, text: str) -> None:
    assert counted(number, "topic") == text
