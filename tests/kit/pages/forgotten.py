"""What a page makes on the shared stack goes again, so that it may be done once more."""

from __future__ import annotations

from contextlib import suppress

from confluent_kafka import KafkaException
from confluent_kafka.schema_registry import SchemaRegistryError
from pyiceberg.exceptions import NoSuchTableError

from frazil.connections import Connections


def forget(connections: Connections, topic: str, *others: str) -> None:
    """Deletes a topic, its subject, and tables with their entries in Glue."""
    for future in connections.admin.delete_topics([topic], operation_timeout=30).values():
        with suppress(KafkaException):
            future.result()
    with suppress(SchemaRegistryError):
        connections.registry.delete_subject(f"{topic}-value")
    for table in (topic, *others):
        with suppress(NoSuchTableError):
            connections.catalog.drop_table(("local", table))
        with suppress(connections.glue.exceptions.EntityNotFoundException):
            connections.glue.delete_table(DatabaseName="local", Name=table)
