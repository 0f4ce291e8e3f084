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
