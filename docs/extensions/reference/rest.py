"""Makes the reference of the service's REST resources from its OpenAPI document."""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tuner.service.http.access import needed_role
from tuner.service.http.application import openapi_document

from .markdown import code, entry, fenced, heading, listed, prose, sentence, together

Part = Mapping[str, Any]

_GROUPS: Final = {"studies": "Studies", "results": "Results", "health": "Health"}
_PROBLEM: Final = "application/problem+json"
_LANGUAGES: Final = {"application/json": "json", "application/yaml": "yaml", _PROBLEM: "json"}


def resources() -> str:
    """Return all resources with their methods, and the errors that all resources share, in Markdown."""
    document = openapi_document()
    operations = [
        (group, method, path, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        for group in operation["tags"]
    ]
    shared = _shared_errors([operation for _, _, path, operation in operations if path.startswith("/v1")])
    blocks = []
    for group, title in _GROUPS.items():
        blocks.append(heading(2, title))
        for _, method, path, operation in (each for each in operations if each[0] == group):
            blocks += _operation(method, path, operation, shared)
    blocks += _errors(shared)
    return together(*blocks)


def _operation(method: str, path: str, operation: Part, shared: Mapping[str, Part]) -> Iterator[str]:
    yield heading(3, f"{method.upper()} {path}")
    first, *rest = operation["description"].split("\n\n")
    yield sentence(first)
    yield from map(sentence, rest)
    if operation.get("security") == []:
        yield "*Token:* none is needed."
    else:
        yield f"*Token:* role {code(needed_role(method.upper()))}, if the service has tokens."
    if parameters := operation.get("parameters"):
        yield "**Parameters**"
        yield from map(_parameter, parameters)
    if body := operation.get("requestBody"):
        yield f"**Request body.** {sentence(body['description'])}"
        yield from _contents(body["content"])
    yield "**Responses**"
    for status, response in operation["responses"].items():
        if status not in shared:
            kinds = listed(response.get("content", {}))
            told = f"{sentence(response['description'])} As {kinds}." if kinds else sentence(response["description"])
            yield entry(status, told, *_headers(response))
    for status, response in operation["responses"].items():
        if status.startswith("2"):
            yield from _contents(response.get("content", {}))
            break


def _parameter(parameter: Part) -> str:
    if not parameter.get("description"):
        raise ValueError(f"every parameter needs a description, but {parameter['name']!r} has none")
    place = {"path": "in the path", "query": "in the query", "header": "as a header"}[parameter["in"]]
    facts = [_taken(parameter["schema"])]
    if parameter["schema"].get("default") is not None:
        facts.append(f"Default: {code(parameter['schema']['default'])}.")
    if parameter.get("required"):
        facts.append("Required.")
    return entry(parameter["name"], sentence(parameter["description"]), " ".join(filter(None, facts)), beside=place)


def _taken(schema: Part) -> str:
    """Return in words which values a parameter takes, or an empty string if it takes any text."""
    for each in schema.get("anyOf", [schema]):
        if "$ref" in each:
            each = openapi_document()["components"]["schemas"][each["$ref"].rpartition("/")[2]]
        if "enum" in each:
            return f"One of {listed(each['enum'])}."
        if each.get("type") in ("integer", "number") and "minimum" in each:
            noun = "A whole number" if each["type"] == "integer" else "A number"
            high = f" to {each['maximum']:,}" if each.get("maximum", 2**53) < 2**53 else " on"
            return f"{noun} from {each['minimum']:,}{high}."
    return ""


def _headers(response: Part) -> Iterator[str]:
    for name, header in response.get("headers", {}).items():
        yield f"Header {code(name)}: {sentence(header['description'])}"


def _contents(content: Mapping[str, Part]) -> Iterator[str]:
    """Yield the example of a response for each media type, in Markdown."""
    for media_type, part in content.items():
        if "example" in part:
            example = part["example"]
            text = example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
            yield f"{code(media_type)}:"
            yield fenced(_LANGUAGES.get(media_type, "text"), text)


def _shared_errors(operations: list[Part]) -> dict[str, Part]:
    """Return the error responses that all operations share, by HTTP status."""
    first, *others = [operation["responses"] for operation in operations]
    return {
        status: response
        for status, response in sorted(first.items())
        if not status.startswith("2") and all(other.get(status) == response for other in others)
    }


def _errors(shared: Mapping[str, Part]) -> Iterator[str]:
    yield heading(2, "Errors")
    yield prose(
        f"An error is described as `{_PROBLEM}` (RFC 9457). Every resource below `/v1` may return these errors:"
    )
    for status, response in shared.items():
        yield entry(status, sentence(response["description"]))
    example = shared["422"]["content"][_PROBLEM]["example"]
    yield "An example:"
    yield fenced("json", json.dumps(example, indent=2))
