"""Tests of the guarantee of a config, and of comparing guarantees."""

from itertools import pairwise, product

import pytest

from search_spaces import DURABILITY, Guarantee, InvalidValue, ProducerConfig, Value


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "acks=all, may reorder on retry"),
        ({"acks": 1}, "acks=1, may reorder on retry"),
        ({"acks": 0, "max.in.flight": 1}, "acks=0, ordered"),
        ({"retries": 0}, "acks=all, ordered"),
        ({"max.in.flight": 1, "queuing.strategy": "lifo"}, "acks=all, may reorder on retry"),
        ({"retries": 0, "queuing.strategy": "lifo"}, "acks=all, may reorder on retry"),
        ({"enable.idempotence": True}, "acks=all, ordered, no duplicates"),
    ],
)
def test_a_guarantee_follows_from_the_config(given: dict[str, Value], text: str) -> None:
    assert str(Guarantee.of(ProducerConfig.parse(given))) == text


def test_a_guarantee_is_kept_if_every_part_of_it_is_kept() -> None:
    everything = [Guarantee(*parts) for parts in product((0, 1, -1), (False, True), (False, True))]
    for one, other in product(everything, everything):
        stronger = (
            (0, 1, -1).index(one.acks) >= (0, 1, -1).index(other.acks)
            and (one.ordered or not other.ordered)
            and (one.idempotent or not other.idempotent)
        )
        assert one.at_least(other) == stronger


def test_the_named_floors_are_ordered_from_weak_to_strong() -> None:
    named = [floor for floor in DURABILITY.values() if floor is not None]
    assert DURABILITY["baseline"] is None
    assert all(later.at_least(earlier) for earlier, later in pairwise(named))
    assert not any(earlier.at_least(later) for earlier, later in pairwise(named))


def test_a_number_of_replicas_is_refused_as_acks() -> None:
    with pytest.raises(InvalidValue, match="acks takes 0, 1 or all, not 2"):
        Guarantee(2, ordered=False, idempotent=False)
