"""What a conformance case is: one row of the mapping tables, in one format."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from frazil.connections import Connections
from kit.records.producing import Sent, send

__all__ = ["NULLS", "RECORDS", "Case", "Format", "send_values"]

RECORDS = 2
"""Records with a value that are produced per format; every case has a value in each."""
NULLS = RECORDS + 1
"""Records without one, before, between and behind them."""


@dataclass(frozen=True, slots=True)
class Case:
    """A field of a wide record.

    Args:
        name: The field's name, which is the column's, and the test's.
        schema: The field in the format's own terms: an Avro type, a JSON property, a line of .proto.
        written: What the serializer is given, per record.
        read: What PyIceberg and DuckDB must give back, per record, as Python objects of Arrow.
        type: The column's type, as PyIceberg prints it.
        optional: Whether the column may be null.
    """

    name: str
    schema: Any
    written: tuple[Any, Any]
    read: tuple[Any, Any]
    type: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Format:
    """All cases of a format, and how they get into a topic.

    Args:
        name: `avro`, `json` or `protobuf`.
        cases: Every row of the mapping table, at least once.
        produce: Registers one schema with all cases as fields, and produces the records to the topic by
            an independent serializer (confluent-kafka).
    """

    name: str
    cases: Sequence[Case]
    produce: Callable[[Connections, str], None]


def send_values(connections: Connections, topic: str, values: Sequence[bytes]) -> None:
    """Produces values, with null values around each, in a transaction behind one that is aborted."""
    null: Sent = (None, None, 0)
    sent = [null, *(each for value in values for each in ((None, value, 0), null))]
    send(connections.settings, topic, sent, aborted="ahead")
