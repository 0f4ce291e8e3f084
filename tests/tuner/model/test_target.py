"""The clusters that a study measures have names for people."""

import pytest

from tuner.model.target import Target


@pytest.mark.parametrize(
    ("target", "label"),
    [
        (Target(), "embedded"),
        (Target(brokers=3), "embedded, 3 brokers"),
        (Target(container="apache/kafka:4.3.1"), "container apache/kafka:4.3.1"),
        (Target("a:1,b:2"), "a:1,b:2"),
    ],
)
def test_a_target_has_a_label_for_people(target: Target, label: str) -> None:
    assert target.label == label
