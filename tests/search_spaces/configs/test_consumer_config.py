"""Consumer properties are checked by name and value, and the load's own ones are refused."""

import pytest

from search_spaces.client import java
from search_spaces.configs.consumer_config import consumer_values
from search_spaces.errors import ConflictingSpellings, InvalidValue, MisplacedProperty, UnknownProperty
from search_spaces.properties.catalogue import Value


def test_values_are_canonical() -> None:
    given = {"fetch.min.bytes": "+100", "max.partition.fetch.bytes": "2000000", "check.crcs": "T", "linger.ms": "5"}
    assert consumer_values(given) == {
        "fetch.min.bytes": "100",
        "fetch.message.max.bytes": "2000000",
        "check.crcs": "true",
        # A property that only a producer uses passes here, and is refused by the client.
        "linger.ms": "5",
    }


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"group.id": "mine"}, MisplacedProperty, "no group is left"),
        ({"auto.offset.reset": "latest"}, MisplacedProperty, "the offset at which it begins"),
        ({"enable.partition.eof": "false"}, MisplacedProperty, "where a partition ends"),
        ({"bootstrap.servers": "x:1"}, MisplacedProperty, "--command-config"),
        ({"sasl.password": "hunter2"}, MisplacedProperty, "--command-config"),
        ({"statistics.interval.ms": "1"}, MisplacedProperty, "interval of the statistics"),
        ({"rebalance_cb": "1"}, MisplacedProperty, "program"),
        ({"fetch.min.bytes": "1e3"}, InvalidValue, "a whole decimal number"),
        ({"fetch.min.byte": "1"}, UnknownProperty, "no property"),
        ({"max.partition.fetch.bytes": "1000", "fetch.message.max.bytes": "2000"}, ConflictingSpellings, "both set"),
    ],
)
def test_what_a_user_may_not_set_is_refused(given: dict[str, str], error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        consumer_values(given)
    assert "hunter2" not in str(caught.value)


def test_properties_of_the_java_consumer_are_passed_on_except_those_that_the_load_sets() -> None:
    given: dict[str, Value] = {"max.poll.records": "5000", "check.crcs": False}
    assert consumer_values(given, java()) == {"max.poll.records": "5000", "check.crcs": "false"}
    for name, said in (
        ("group.id", "no group is left"),
        ("key.deserializer", "counts bytes"),
        ("metrics.num.samples", "reads the client's metrics"),
        ("sasl.jaas.config", "--command-config"),
    ):
        with pytest.raises(MisplacedProperty, match=said) as caught:
            consumer_values({name: "hunter2"}, java())
        assert "hunter2" not in str(caught.value)
