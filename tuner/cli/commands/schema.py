"""`tuner schema` prints the JSON Schema of study files."""

from tuner.cli.output import print_json
from tuner.study_file import json_schema


def schema() -> None:
    """Print the JSON Schema of study files, so that an editor can check and complete them.

    \b
    Examples:
        tuner schema > study.schema.json
    """
    print_json(json_schema())
