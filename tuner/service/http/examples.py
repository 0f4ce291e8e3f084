"""Examples, schemas and descriptions for the OpenAPI document."""

import json
from collections.abc import Mapping
from typing import Any, Final

from tuner.service.problems import PROBLEM_JSON
from tuner.study_file import json_schema

_STUDY_YAML: Final = """\
study: orders
target: lab
workload:
  record_bytes: [100, 1000]
search:
  hours: 8
"""
_STUDY_JSON: Final[dict[str, Any]] = {
    "study": "orders",
    "target": "lab",
    "workload": {"record_bytes": [100, 1000]},
    "search": {"hours": 8},
}
_VIEW: Final[dict[str, Any]] = {
    "schema_version": 1,
    "kind": "study",
    "name": "orders",
    "state": "running",
    "targets": ["lab"],
    "submitted_by": "ci",
    "submitted_at": "2026-03-01T20:00:00.000+00:00",
    "changed_at": "2026-03-01T20:00:01.000+00:00",
    "crashes": 0,
    "note": "",
    "progress": {"state": "running", "doing": "1000 B, search trial 12: saturating phase", "left_s": 5400.0},
    "links": {"self": "/v1/studies/orders", "recommendation": "/v1/recommendation?study=orders"},
}
_TRIAL: Final[dict[str, Any]] = {
    "sequence": 13,
    "record_bytes": "1000",
    "number": 12,
    "kind": "search",
    "state": "complete",
    "values": {"linger.ms": "2", "compression.type": "lz4"},
    "metrics": {"mb_per_s": 141.2, "latency_p99_ms": 6.4, "raw_mb_per_s": 137.9, "raw_latency_p99_ms": 6.5},
}
_RECOMMENDATION: Final[dict[str, Any]] = {
    "schema_version": 1,
    "kind": "recommendation",
    "study": "orders",
    "record_bytes": "1000",
    "goal": "balanced",
    "config": {"client": "librdkafka", "values": {"linger.ms": "2", "compression.type": "lz4"}},
    "confirmed": True,
    "gains": {"mb_per_s": {"value": 1.32, "low": 1.25, "high": 1.4, "rounds": 8}},
}
_PROBLEM: Final[dict[str, Any]] = {
    "type": "https://kafka-tuner.invalid/problems/study-file",
    "title": "Unprocessable Content",
    "status": 422,
    "detail": "the study file, line 4, search.trials: this is a whole number, but got 'many'",
    "errors": [{"line": 4, "key": "search.trials", "detail": "this is a whole number, but got 'many'"}],
}
_PROBLEM_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string"},
        "errors": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["line", "key", "detail"],
                "properties": {
                    "line": {"type": ["integer", "null"]},
                    "key": {"type": "string"},
                    "detail": {"type": "string"},
                },
            },
        },
    },
}
_DESCRIPTIONS: Final = {
    400: "The request is malformed.",
    401: "The request needs a token, or its token is not valid.",
    403: "The token's role does not allow the request, or a page of another site or a proxy sent it.",
    404: "There is no such study or record size, or no config meets the constraints.",
    408: "The body of the request took too long to arrive.",
    409: "The study's state does not allow the request, or the study file changes what the study's trials depend on.",
    413: "The body of the request is too large.",
    415: "The body is neither YAML nor JSON.",
    421: "The Host header is not a name of this service.",
    422: "A parameter or the study file is not valid. `errors` has line and key of each mistake in a study file.",
    503: "The service can't answer at the moment.",
}


def _response(text: str, example: Any, media_type: str = "application/json", **schema: Any) -> dict[str, Any]:
    kind = schema or ({"type": "object"} if isinstance(example, dict) else {"type": "string"})
    return {"description": text, "content": {media_type: {"schema": kind, "example": example}}}


PROBLEMS: Final[dict[int | str, dict[str, Any]]] = {
    status: {
        "description": text,
        "content": {PROBLEM_JSON: {"schema": _PROBLEM_SCHEMA, "example": {**_PROBLEM, "status": status}}},
    }
    for status, text in _DESCRIPTIONS.items()
}
_VIEW_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["name", "state", "targets", "links"],
    "properties": {"name": {"type": "string"}, "state": {"type": "string"}},
}
METRICS: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "The metrics, in the text format of Prometheus."},
    401: PROBLEMS[401],
}
_SUBMITTED: Final = {
    **_VIEW,
    "limited": [
        {
            "key": "workload.producers",
            "detail": "was lowered from 100 to 10, the most that this service allows",
        }
    ],
}
STUDY: Final = _response("The study with its state and progress.", _VIEW, **_VIEW_SCHEMA)
NEW_STUDY: Final = _response("The study, and in `limited` the values that were changed.", _SUBMITTED, **_VIEW_SCHEMA)
SAME_STUDY: Final = _response(
    "The same study was submitted before, or its study file was changed. This is its present state.",
    _SUBMITTED,
    **_VIEW_SCHEMA,
)
STUDIES: Final = _response(
    "A page of studies.",
    {"schema_version": 1, "kind": "studies", "studies": [_VIEW], "next": None},
    type="object",
    required=["studies", "next"],
)
_TRIAL_PAGE: Final = _response(
    "A page of trials, or a table of all trials.",
    {"schema_version": 2, "kind": "trials", "study": "orders", "trials": [_TRIAL], "next_after": None},
    type="object",
    required=["kind", "trials"],
    anyOf=[{"required": ["next_after"]}, {"properties": {"kind": {"const": "trials_table"}}}],
)
TRIALS: Final = {**_TRIAL_PAGE, "content": {**_TRIAL_PAGE["content"], "text/csv": {"schema": {"type": "string"}}}}


def _json_or(description: str, example: Mapping[str, Any], *other_types: str) -> dict[str, Any]:
    """Return the description of a response that is a JSON object, and a text in other media types."""
    others = {each: {"schema": {"type": "string"}} for each in other_types}
    return {
        "description": description,
        "content": {"application/json": {"schema": {"type": "object"}, "example": example}, **others},
    }


FRONT: Final = _json_or(
    "The Pareto front of each record size.",
    {"schema_version": 2, "kind": "fronts", "study": "orders", "warnings": [], "fronts": []},
    "text/csv",
    "text/plain",
)
GRID: Final = _json_or(
    "The tables of a grid search.",
    {"schema_version": 1, "kind": "grid", "study": "orders", "simulated": False, "tables": []},
    "text/csv",
    "text/plain",
)
STATUS: Final = _json_or("The progress of the study.", _VIEW["progress"], "text/plain")
REPORT: Final = _response("The report as an HTML page.", "<!doctype html>...", "text/html")
EVENTS: Final = _response(
    "A stream of server-sent events, which ends when the study ends.",
    'id: 13\nevent: trial\ndata: {"sequence":13}\n\n',
    "text/event-stream",
)
EXPLANATION: Final = _json_or(
    "Why a config is recommended.",
    {"schema_version": 1, "kind": "explanations", "study": "orders", "explanations": []},
    "text/plain",
)
PREDICTION: Final = _json_or(
    "What the recommended config would do, and what the changed one would do.",
    {
        "schema_version": 1,
        "kind": "prediction",
        "study": "orders",
        "client": "librdkafka",
        "simulated": False,
        "warnings": [],
        "means": 74,
        "undetermined": ["gzip_ratio"],
        "predictions": {
            "recommended": {
                "config": {"linger.ms": "5", "compression.type": "lz4"},
                "metrics": {"mb_per_s": {"value": 310.0, "low": 262.0, "high": 367.0}},
                "bound_by": "the broker",
            },
            "changed": {"outside": "the replication factor is 3, and 1 was measured"},
        },
    },
    "text/plain",
)
_VERIFIED_CONFIG: Final[dict[str, Any]] = {
    "file": "producer.properties",
    "config": {"linger.ms": "20", "compression.type": "lz4"},
    "target": "lab",
    "record_bytes": "1000",
}
VERIFIED: Final[dict[str, Any]] = {
    "requestBody": {
        "description": "The config, the baseline, and what the config must show.",
        "content": {"application/json": {"example": _VERIFIED_CONFIG}},
    }
}
_JUDGEMENT: Final[dict[str, Any]] = {
    "schema_version": 1,
    "kind": "verification",
    "study": "verify-producer-1",
    "file": "producer.properties",
    "passed": False,
    "exit_code": 99,
    "misses": [],
    "sizes": [{"record_bytes": "1000", "outcomes": {"mb_per_s": "worse"}, "misses": [], "undecided": []}],
}
VERIFICATION: Final = _json_or(
    "The judgement. `exit_code` is that of `tuner verify`: 0, 98, 99 or 1.", _JUDGEMENT, "text/plain"
)
NEW_VERIFICATION: Final = _response(
    "The study that measures the config, and in `limited` the values that were changed.", _SUBMITTED, **_VIEW_SCHEMA
)
REMOVED: Final = _response("The study was removed.", {"schema_version": 1, "kind": "removed", "removed": ["orders"]})
FORK: Final = _response(
    "The new study, how many trials it has taken over, and in `limited` the values that were changed.",
    {
        "schema_version": 1,
        "kind": "fork",
        "study": "orders-2",
        "of": "orders",
        "trials_there": 80,
        "trials_taken_over": 60,
        "limited": [],
    },
)
PLAN: Final = _json_or(
    "The plan.", {"schema_version": 1, "kind": "plan", "study": "orders", "seconds": 28800.0, "sizes": []}, "text/plain"
)
COMPARISON: Final = _json_or(
    "The comparison of two studies.",
    {
        "schema_version": 1,
        "kind": "comparison",
        "studies": ["before", "after"],
        "simulated": False,
        "differences": [],
        "sizes": [],
    },
    "text/html",
    "text/plain",
)
RECOMMENDATION: Final[dict[str, Any]] = {
    "description": "The recommended config. Without `record_bytes`, the configs of all record sizes.",
    "headers": {
        "ETag": {
            "schema": {"type": "string"},
            "description": "Send this value as `If-None-Match` with the next request.",
        }
    },
    "content": {
        "application/json": {"schema": {"type": "object"}, "example": _RECOMMENDATION},
        "text/plain": {
            "schema": {"type": "string"},
            "example": "# kafka-tuner: study orders, trial 12\nlinger.ms=2\ncompression.type=lz4\n",
        },
        "application/yaml": {"schema": {"type": "string"}},
    },
}


def study_schema() -> dict[str, Any]:
    """Return the JSON Schema of a submitted study file, with references that fit into an OpenAPI document."""
    schema = json.loads(json.dumps(json_schema()).replace("#/$defs/", "#/components/schemas/"))
    parts = schema.pop("$defs")
    schema.pop("$schema", None)
    name = {"type": "string", "description": "The name of a target that the service's config file defines."}
    named = {"type": "object", "required": ["name"], "properties": {"name": name}, "additionalProperties": False}
    schema["properties"]["target"] = {"anyOf": [name, named]}
    schema["properties"]["targets"] = {"type": "array", "minItems": 1, "items": {"anyOf": [name, named]}}
    schema["required"] = ["study", *schema.get("required", ())]
    parts.pop("TargetSection", None)
    return {**parts, "StudyFile": schema}


STUDY_FILE: Final[dict[str, Any]] = {
    "requestBody": {
        "required": True,
        "description": "The study file, as YAML or JSON.",
        "content": {
            "application/yaml": {"schema": {"type": "string"}, "example": _STUDY_YAML},
            "application/json": {"schema": {"$ref": "#/components/schemas/StudyFile"}, "example": _STUDY_JSON},
        },
    }
}
NEW_STUDY_FILE: Final[dict[str, Any]] = {"requestBody": {**STUDY_FILE["requestBody"], "required": False}}
