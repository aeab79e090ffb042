"""A derived table feeds a Kafka topic: each new row is one Avro record, exactly once (docs/derive.md)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.derive.feeds.position import (
    FedTo,
    Row,
    batches,
    committed,
    has_news,
    latest,
    note,
    noted,
    property_of,
)
from frazil.derive.feeds.transactions import Transactions, transactions
from frazil.derive.positions.inputs import at_head
from frazil.derive.write import Step
from frazil.errors import PartDownError, PositionLostError, SpecError, TopicChangedError
from frazil.formats.avro.schemas.written import avro_record, avro_value
from frazil.formats.logical import Struct
from frazil.formats.registry.wanted import WantedSchema, register
from frazil.formats.types import from_iceberg
from frazil.quoting import quoted
from frazil.spec.derived import DerivedSpec, Feed
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, handle_of, name_of

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

    from frazil.formats.registry.client import RegistryClient


_UNFIT = (
    "Fix the query, so that its columns fit what is registered; or name another topic in `feeds`, "
    "which begins with all rows that the table holds."
)
_RECORDS = 50_000  # of one transaction: readers of committed records wait for its end


@dataclass(frozen=True, slots=True)
class FeedReport:
    """What one call of `feed` sent to a topic; `total` counts all records since the topic's first one."""

    topic: str
    records: int
    total: int


def feed(
    spec: DerivedSpec,
    connections: Connections,
    *,
    on_step: Step = lambda _: None,
    records: int = _RECORDS,
) -> FeedReport:
    """Sends the rows that the topic does not have yet; makes topic and subjects where they are missing.

    Args:
        spec: The table; its `feeds` say where to.
        on_step: Told what is done: `sent` and `committed` for each transaction, and `noted`.
        records: The most that one transaction has.

    Raises:
        PositionLostError: The table no longer has what was fed; another topic can have all of it.
        TopicChangedError: The topic that was fed is gone, or another one has its name.
        OvertakenError: Another feed of the same table took over.
        PartDownError: Kafka or the registry does not answer; the next call goes on.
    """
    assert spec.feeds
    to, handle = spec.feeds, handle_of(spec, connections)
    table = handle.load()
    before = noted(table, to.topic)
    with _meaning_for_topic(to):
        if not (has_news(table, before) if before else table.current_snapshot()):
            return FeedReport(to.topic, 0, before.sent if before else 0)
        topic = _prepared(connections, to, table, before)
        sent, after = _send_all(connections, to, handle, topic, on_step, records)
    note(handle, to.topic, after)
    on_step("noted")
    return FeedReport(to.topic, sent, after.sent)


def _prepared(connections: Connections, to: Feed, table: Table, before: FedTo | None) -> _Topic:
    from frazil.kafka.facts import describe
    from frazil.kafka.provisioning import provide_topic

    name = name_of(table)
    description = describe(connections.admin, [to.topic]).get(to.topic)
    if before and before.topic_id and (description is None or str(description.topic_id) != before.topic_id):
        raise _another(to, name, before)
    key, value = _encoders(connections.registry, to, name, table.schema())
    spec = TableSpec(topic=to.topic, partitions=to.partitions)
    return _Topic(provide_topic(spec, connections, key=None, value=None).topic_id, key, value)


def _another(to: Feed, name: TableName, before: FedTo) -> TopicChangedError:
    return TopicChangedError(
        f"Topic {to.topic} is not the one that {name} has fed: it was deleted, or recreated.",
        where=f"{before.sent} records went to topic id {before.topic_id}",
        meaning="The table is right. Nothing was sent: the new topic would lack those records.",
        todo="Name another topic in `feeds`: it begins with all rows that the table holds. To start over "
        f"in this one, `ALTER TABLE {quoted(*name.identifier)} UNSET TBLPROPERTIES "
        f"('{property_of(to.topic)}')` in Spark.",
    )


def _send_all(
    connections: Connections, to: Feed, handle: TableHandle, topic: _Topic, on_step: Step, size: int
) -> tuple[int, FedTo]:
    """How many records were sent, and how far the topic is now."""
    with transactions(connections.settings, handle.name, to.topic) as producer:
        in_kafka = committed(connections.admin, handle.name, to.topic)
        # Not before: it has all that any other feed has sent.
        table = handle.load()
        fed = latest(in_kafka, noted(table, to.topic))
        before = fed.sent if fed else 0
        for rows, reached in batches(table, fed, size, topic.topic_id):
            _send(producer, topic, rows, reached, on_step)
            fed = reached
    sent = fed.sent if fed else 0
    return sent - before, FedTo(at_head(table), sent=sent, topic_id=topic.topic_id)


def _send(producer: Transactions, topic: _Topic, rows: list[Row], to: FedTo, on_step: Step) -> None:
    key, value = topic.key, topic.value
    producer.commit(((key(row) if key else None, value(row)) for row in rows), to, lambda: on_step("sent"))
    on_step("committed")


@contextmanager
def _meaning_for_topic(to: Feed) -> Iterator[None]:
    """Says what an error means for the topic: it gets its rows later, or can't follow its table."""
    try:
        yield
    except PartDownError as e:
        meaning = "The table is right. Its topic gets the rows with the next derivation."
        raise PartDownError(e.what, where=e.where, meaning=meaning, todo=e.todo) from None
    except PositionLostError as e:
        raise PositionLostError(
            f"Topic {to.topic} can't follow its table.",
            where=f"{e.what} {e.where}",
            meaning="The table is right. The topic holds what was sent before, and gets no more.",
            todo="Name another topic in `feeds`: it begins with all rows that the table holds.",
        ) from None


Encode = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True, slots=True)
class _Topic:
    """The topic as it is, and what makes a record of a row; no key where none was asked for."""

    topic_id: str
    key: Encode | None
    value: Encode


def _encoders(
    registry: RegistryClient, feed: Feed, name: TableName, schema: Schema
) -> tuple[Encode | None, Encode]:
    """Registers what the table's columns are, as `<topic>-value` and, for a key, `<topic>-key`."""
    columns = from_iceberg(schema)
    key = _chosen(columns, feed, name) if feed.key else None
    return (
        _encoder(registry, f"{feed.topic}-key", f"{name.table}_key", name, key) if key else None,
        _encoder(registry, f"{feed.topic}-value", name.table, name, columns),
    )


def _chosen(columns: Struct, feed: Feed, name: TableName) -> Struct:
    fields = {field.name: field for field in columns}
    if missing := [column for column in feed.key if column not in fields]:
        raise SpecError(
            f"feeds.key: {name} has no column {', '.join(missing)}.",
            where=f"its columns are {', '.join(fields)}",
            todo="Fix feeds in defs.yaml.",
        )
    return Struct(tuple(fields[column] for column in feed.key))


def _encoder(registry: RegistryClient, subject: str, record: str, name: TableName, columns: Struct) -> Encode:
    import fastavro

    schema = avro_record(columns, record, f"frazil.{name.namespace}")
    wanted = WantedSchema("AVRO", json.dumps(schema), f"the columns of {name}", todo=_UNFIT)
    prefix = b"\0" + register(registry, subject, wanted).schema_id.to_bytes(4, "big")
    parsed, plain = fastavro.parse_schema(schema), avro_value(columns)

    def encode(row: Mapping[str, Any]) -> bytes:
        stream = io.BytesIO(prefix)
        stream.seek(len(prefix))
        fastavro.schemaless_writer(stream, parsed, plain(row))
        return stream.getvalue()

    return encode
