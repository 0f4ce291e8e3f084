"""The retention that a user asks about."""

import pytest

from tuner.model.errors import RequestRefused
from tuner.prediction.retention import Retention


@pytest.mark.parametrize("brokers", ["-5", "0", "2.5"])
def test_a_number_of_brokers_alone_asks_for_nothing_and_a_wrong_number_is_refused(brokers: str) -> None:
    with pytest.raises(RequestRefused, match="brokers must be"):
        Retention.from_form({"brokers": brokers})
    assert Retention.from_form({"brokers": "3"}) is None
    assert Retention.from_form({"brokers": "", "disk_gb": " "}) is None


@pytest.mark.parametrize("name", ["disk_gb", "retention_days"])
@pytest.mark.parametrize("text", ["-4", "0", "1e9", "nan", "big"])
def test_a_wrong_number_is_named_as_it_was_typed(name: str, text: str) -> None:
    """What was typed in GB or in days must not come back in bytes or in seconds."""
    with pytest.raises(
        RequestRefused, match=f"{name} must be a number above 0 and below 1,000,000,000, but got '{text}'"
    ):
        Retention.from_form({name: text})
