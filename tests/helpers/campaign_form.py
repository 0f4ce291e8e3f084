"""Decides whether the campaign's tests run in their long form, with more kills and more combinations."""

import os
from typing import Final

LONG_CAMPAIGN: Final = os.environ.get("KAFKA_TUNER_CAMPAIGN") == "long"
