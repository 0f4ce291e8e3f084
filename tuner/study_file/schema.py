"""The format of study files as JSON Schema, for editors."""

from typing import Any, Final

from tuner.study_file.sections import StudyFile

_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


def json_schema() -> dict[str, Any]:
    """The schema, draft 2020-12, with descriptions and defaults.

    It knows names, types and ranges. Which values go together, and whether a property takes its value, only reading the
    file tells. It offers properties under the client's own names; the other names it takes are read all the same.
    """
    schema = StudyFile.model_json_schema()
    return {"$schema": _DIALECT, **schema, "title": "Study file of kafka-tuner"}
