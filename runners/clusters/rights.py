"""Rights on a cluster that has an authorizer: what they are called, and the command that grants them.

Source: `AclOperation` and `kafka-acls`, Kafka 4.3. Write and Delete each bring Describe with them.
"""

import shlex
from collections.abc import Iterable, Mapping

OWNED_PREFIX = "tuner-"
"""What the names of our topics begin with, and so the prefix that rights are granted on."""

WRITE, DELETE, CREATE = "Write", "Delete", "Create"
DESCRIBE, DESCRIBE_CONFIGS = "Describe", "DescribeConfigs"


def operation_name(name: str) -> str:
    """`DESCRIBE_CONFIGS` as `kafka-acls` has it: `DescribeConfigs`."""
    return "".join(word.capitalize() for word in name.split("_"))


def resource(topic: str) -> str:
    """What rights are granted on, in words."""
    return f"topics that start with {OWNED_PREFIX}" if topic.startswith(OWNED_PREFIX) else f"topic {topic}"


def grant_command(operations: Iterable[str], topic: str, connection: Mapping[str, str]) -> str:
    """The command line by which an administrator grants rights.

    Args:
        operations: Of `kafka-acls`: `Create`, `Write`.
        topic: A topic; for one of ours, the rights are granted on all of them.
        connection: Whose; the client properties of whoever lacks them.
    """
    words = ["kafka-acls", "--bootstrap-server", connection["bootstrap.servers"]]
    words += ["--command-config", "admin.properties", "--add", "--allow-principal", _principal(connection)]
    for operation in operations:
        words += ["--operation", operation]
    owned = topic.startswith(OWNED_PREFIX)
    words += ["--topic", OWNED_PREFIX if owned else topic]
    return shlex.join([*words, "--resource-pattern-type", "prefixed"] if owned else words)


def _principal(connection: Mapping[str, str]) -> str:
    if user := connection.get("sasl.username"):
        return f"User:{user}"
    if connection.get("security.protocol", "").lower() == "ssl":
        return "User:SUBJECT-OF-YOUR-CERTIFICATE"  # or what the broker's ssl.principal.mapping.rules make of it
    return "User:NAME"
