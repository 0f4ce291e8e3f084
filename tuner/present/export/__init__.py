"""A recommended config in every format that people paste or programs read."""

from tuner.present.export.formats import SUFFIXES, Format, export, export_all, is_translated, offered
from tuner.present.export.pasted import pasted_values
from tuner.present.export.recommendation_json import (
    RECORD_KIND,
    recommendation_json,
    recommendation_of,
    study_json,
)

__all__ = [
    "RECORD_KIND",
    "SUFFIXES",
    "Format",
    "export",
    "export_all",
    "is_translated",
    "offered",
    "pasted_values",
    "recommendation_json",
    "recommendation_of",
    "study_json",
]
