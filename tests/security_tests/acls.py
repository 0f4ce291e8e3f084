"""`kafka-acls` commands as ACLs of a broker: those of docs/how-to/security.md, and those that error messages advise."""

import argparse
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from runners.clusters.cluster import RunningCluster
from runners.clusters.contact import Contact, operation_name
from tests.clusters_tests.waiting import eventually

DOCS = Path(__file__).parents[2] / "docs" / "how-to" / "security.md"
_ANSWER_S = 20.0
_EVERYTHING = AclBindingFilter(
    ResourceType.ANY,
    None,  # type: ignore[arg-type]
    ResourcePatternType.ANY,
    None,  # type: ignore[arg-type]
    None,  # type: ignore[arg-type]
    AclOperation.ANY,
    AclPermissionType.ANY,
)
_OPERATIONS = {operation_name(operation.name): operation for operation in AclOperation}

OURS, YOURS, LIKE, USEFUL = (
    "With topics of ours",
    "With a topic of yours",
    "To copy a topic's settings",
    "Not needed, but useful",
)


def documented(section: str) -> list[str]:
    """The commands of a section of the page."""
    text = DOCS.read_text(encoding="utf-8")
    (body,) = re.findall(rf"^### {re.escape(section)}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    found = commands(body.replace("\\\n", " "))
    assert found, f"{section} has no command"
    return found


def commands(text: str) -> list[str]:
    """The `kafka-acls` commands in a text; each ends at a line's end or with what can't be part of one."""
    return [found.rstrip(". ") for found in re.findall(r"kafka-acls(?: +[^\s;]+)+?(?=[.;]?(?:\n|$)|[.;] )", text)]


def bindings(command: str, user: str | None = None) -> list[AclBinding]:
    """What a command grants; to another user, if one is given."""
    parser = argparse.ArgumentParser(exit_on_error=False)
    for option in ("--bootstrap-server", "--command-config", "--allow-principal", "--topic"):
        parser.add_argument(option, required=True)
    parser.add_argument("--add", action="store_true", required=True)
    parser.add_argument("--operation", action="append", required=True, choices=_OPERATIONS)
    parser.add_argument("--resource-pattern-type", default="literal", choices=("literal", "prefixed"))
    asked = parser.parse_args(shlex.split(command)[1:])
    return [
        AclBinding(
            ResourceType.TOPIC,
            asked.topic,
            ResourcePatternType[asked.resource_pattern_type.upper()],
            user or asked.allow_principal,
            "*",
            _OPERATIONS[operation],
            AclPermissionType.ALLOW,
        )
        for operation in asked.operation
    ]


def without(granted: Sequence[AclBinding], operation: str) -> list[AclBinding]:
    """All but those for an operation, as `kafka-acls` calls it; at least one is for it."""
    rest = [each for each in granted if each.operation != _OPERATIONS[operation]]
    assert len(rest) < len(granted)
    return rest


def grant_only(cluster: RunningCluster, granted: Sequence[AclBinding]) -> None:
    """Have these ACLs and no others."""
    admin = Contact(cluster.connection).admin  # it must live until the answer
    for gone in admin.delete_acls([_EVERYTHING], request_timeout=_ANSWER_S).values():
        gone.result(timeout=_ANSWER_S)
    assert eventually(lambda: not _in_force(admin))
    grant(cluster, granted)


def grant(cluster: RunningCluster, granted: Sequence[AclBinding]) -> None:
    """Have these ACLs too."""
    admin = Contact(cluster.connection).admin
    if granted:
        for made in admin.create_acls(list(granted), request_timeout=_ANSWER_S).values():
            made.result(timeout=_ANSWER_S)
        # The controller has answered; the broker hears of it a moment later.
        assert eventually(lambda: set(granted) <= _in_force(admin))


def _in_force(admin: AdminClient) -> set[AclBinding]:
    return set(admin.describe_acls(_EVERYTHING, request_timeout=_ANSWER_S).result(timeout=_ANSWER_S))
