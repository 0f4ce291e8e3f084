"""Reads study files: from YAML to a `StudySpec`, with an error for every mistake that names file, line and key.

text -> strict_yaml (values, their lines, ${NAME}) -> sections, fields (types and ranges)
     -> building (files, checks across sections) -> StudySpec
"""

from tuner.study_file.errors import FileProblem, StudyFileError
from tuner.study_file.loading import parse_stored_study, parse_study, place_of, read_study_file
from tuner.study_file.sections import json_schema
from tuner.study_file.starter import STARTER_TEXT, name_line, starter_text
from tuner.study_file.strict_yaml import drop_used_secrets
from tuner.study_file.writing import (
    QUICK_SUFFIX,
    changed_text,
    knob_setting,
    measuring_text,
    name_in,
    quick_sections,
    quick_text,
    renamed,
    same_measurement,
    sizes_in,
    study_text,
    text_of_sections,
    with_name,
)

__all__ = [
    "QUICK_SUFFIX",
    "STARTER_TEXT",
    "FileProblem",
    "StudyFileError",
    "changed_text",
    "drop_used_secrets",
    "json_schema",
    "knob_setting",
    "measuring_text",
    "name_in",
    "name_line",
    "parse_stored_study",
    "parse_study",
    "place_of",
    "quick_sections",
    "quick_text",
    "read_study_file",
    "renamed",
    "same_measurement",
    "sizes_in",
    "starter_text",
    "study_text",
    "text_of_sections",
    "with_name",
]
