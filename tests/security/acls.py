"""`kafka-acls` commands, from docs/how-to/security.md and from error messages, as ACLs of the test broker."""

import argparse
import re
import shlex
from collections.abc import Sequence

from confluent_kafka.admin import (  # type: ignore[attr-defined]
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from runners.clusters.admin_connection import AdminConnection, operation_name
from runners.clusters.cluster import RunningCluster
from tests.helpers.repository import ROOT
from tests.helpers.waiting import eventually

DOCS = ROOT / "docs" / "how-to" / "security.md"
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

OURS, YOURS, LIKE, USEFUL, READING = (
    "Let the tuner create its topics",
    "Use an existing topic",
    "Copy the settings of a topic",
    "Optional: read the record size limit",
    "Read a topic of yours",
)


def documented(section: str) -> list[str]:
    """Return the commands of a section of docs/how-to/security.md."""
    text = DOCS.read_text(encoding="utf-8")
    (body,) = re.findall(rf"^### {re.escape(section)}\n(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)
    found = commands(body.replace("\\\n", " "))
    assert found, f"{section} has no command"
    return found


def commands(text: str) -> list[str]:
    """Return the `kafka-acls` commands in a text.

    A command ends at the end of a line, or at characters that can't be part of it.
    """
    return [found.rstrip(". ") for found in re.findall(r"kafka-acls(?: +[^\s;]+)+?(?=[.;]?(?:\n|$)|[.;] )", text)]


def bindings(command: str, user: str | None = None) -> list[AclBinding]:
    """Return the ACLs that a command grants, optionally for another user."""
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
    """Return the ACLs without those for an operation, of which there must be at least one.

    The operation has its name in `kafka-acls`.
    """
    rest = [binding for binding in granted if binding.operation != _OPERATIONS[operation]]
    assert len(rest) < len(granted)
    return rest


def grant_only(cluster: RunningCluster, granted: Sequence[AclBinding]) -> None:
    """Replace all ACLs of the cluster by these."""
    admin = AdminConnection(cluster.connection).admin  # keep the client alive until the answer is there
    for gone in admin.delete_acls([_EVERYTHING], request_timeout=_ANSWER_S).values():
        gone.result(timeout=_ANSWER_S)
    eventually(lambda: not _effective_values(admin))
    grant(cluster, granted)


def rights(*sections: str, user: str = "User:tuner") -> list[AclBinding]:
    """Return the permissions in sections of the page, for a user."""
    return [each for section in sections for command in documented(section) for each in bindings(command, user)]


def grant(cluster: RunningCluster, granted: Sequence[AclBinding]) -> None:
    """Add these ACLs to the cluster."""
    admin = AdminConnection(cluster.connection).admin
    if granted:
        for made in admin.create_acls(list(granted), request_timeout=_ANSWER_S).values():
            made.result(timeout=_ANSWER_S)
        # The controller has answered, but the broker gets the change a moment later.
        eventually(lambda: set(granted) <= _effective_values(admin))


def _effective_values(admin: AdminClient) -> set[AclBinding]:
    return set(admin.describe_acls(_EVERYTHING, request_timeout=_ANSWER_S).result(timeout=_ANSWER_S))
