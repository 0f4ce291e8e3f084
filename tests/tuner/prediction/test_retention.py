"""The retention that a user asks about."""

import pytest

from tuner.model.errors import RequestRefused
from tuner.prediction.retention import Retention


@pytest.mark.parametrize("brokers", ["-5", "0", "2.5"])
def test_a_wrong_number_of_brokers_is_refused_and_a_valid_number_alone_is_no_question(brokers: str) -> None:
    with pytest.raises(RequestRefused, match="brokers must be"):
        Retention.from_form({"brokers": brokers})
    assert Retention.from_form({"brokers": "3"}) is None
    assert Retention.from_form({"brokers": "", "disk_gb": " "}) is None
