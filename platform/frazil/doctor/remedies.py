"""The one line that gives a right, in the words of the system."""

from __future__ import annotations

import shlex

from frazil.quoting import double_quoted
from frazil.settings.profile import Settings


def kafka_acl(settings: Settings, topic: str, *operations: str) -> str:
    """For Kafka's own tool; other clusters have the same operations by other ways."""
    kafka = settings.kafka
    user = (
        kafka.username
        or kafka.client_id
        or ("<its certificate's subject>" if kafka.certificate else "ANONYMOUS")
    )
    words = [
        "kafka-acls.sh", "--bootstrap-server", settings.kafka.bootstrap_servers, "--add",
        "--allow-principal", f"User:{user}",
        *(word for operation in operations for word in ("--operation", operation)),
        "--topic", topic,
    ]  # fmt: skip
    return shlex.join(words)


def registry_right(settings: Settings, subject: str, right: str) -> str:
    """In Confluent's words: its roles, where it has any; of Glue's registry the action."""
    if settings.registry.kind == "glue":
        name = settings.registry.glue_name
        return f"Allow glue:GetSchemaVersion on registry/{name} and schema/{name}/{subject} to the identity."
    if settings.registry.kind == "azure":
        return f"Give the client the role Schema Registry Reader on group {settings.registry.azure_group}."
    role = {"read": "DeveloperRead", "write": "DeveloperWrite"}[right]
    return (
        f"Give the user of FRAZIL_REGISTRY__... the right to {right} subject {subject} at "
        f"{settings.registry.url} (Confluent: {role} on Subject:{subject})."
    )


def snowflake_grant(privilege: str, kind: str, name: str, role: str) -> str:
    """A GRANT to the role that logs in."""
    on = f"{kind} {double_quoted(*name.split('.'))}" if name else kind
    return f"GRANT {privilege} ON {on} TO ROLE {double_quoted(role)};"
