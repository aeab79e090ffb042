"""A derived table feeds a Kafka topic: each new row is one Avro record, exactly once (docs/derive.md)."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.connections import Connections
from frazil.derive.feeds.position import FedTo, Rows, batches, committed, has_news, latest, note, noted
from frazil.derive.feeds.transactions import Transactions, transactions
from frazil.derive.inputs import at_head
from frazil.derive.write import Step
from frazil.errors import PartDownError, PositionLostError, SpecError
from frazil.formats.avro.schema import avro_record, avro_value
from frazil.formats.logical import Struct
from frazil.formats.registry import RegistryClient, WantedSchema, register
from frazil.formats.types import from_iceberg
from frazil.spec.derived import DerivedSpec, Feed
from frazil.spec.names import TableName, things
from frazil.spec.topic import TableSpec
from frazil.tables.catalog import load_table

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table

__all__ = ["FeedReport", "feed"]


_RECORDS = 50_000
"""Of one transaction: readers of committed records wait for its end."""


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
        connections: The outside systems.
        on_step: Told what is done: `sent` and `committed` for each transaction, and `noted`.
        records: The most that one transaction has.

    Raises:
        PositionLostError: The table no longer has what was fed; another topic can have all of it.
        OvertakenError: Another feed of the same table took over.
        PartDownError: Kafka or the registry does not answer; the next call goes on.
    """
    assert spec.feeds
    to, name = spec.feeds, things(spec, connections.settings).table
    table = load_table(connections.catalog, name)
    before = noted(table, to.topic)
    if not _due(table, to, before):
        return FeedReport(to.topic, 0, before.sent if before else 0)
    with _down_later():
        encode = _prepared(connections, to, name, table)
        sent, after = _send_all(connections, to, name, encode, on_step, records)
    note(connections.catalog, name, to.topic, after)
    on_step("noted")
    return FeedReport(to.topic, sent, after.sent)


def _due(table: Table, to: Feed, before: FedTo | None) -> bool:
    if table.current_snapshot() is None or before is None:
        return table.current_snapshot() is not None
    try:
        return has_news(table, before)
    except PositionLostError as e:
        raise _lost(to, e) from None


def _prepared(connections: Connections, to: Feed, name: TableName, table: Table) -> _Encoders:
    from frazil.kafka.provisioning import provide_topic

    encode = _encoders(connections.registry, to, name, table.schema())
    provide_topic(TableSpec(topic=to.topic, partitions=to.partitions), connections, key=None, value=None)
    return encode


def _send_all(
    connections: Connections, to: Feed, name: TableName, encode: _Encoders, on_step: Step, size: int
) -> tuple[int, FedTo]:
    """How many records were sent, and how far the topic is now."""
    with transactions(connections.settings, name, to.topic) as producer:
        in_kafka = committed(connections.admin, name, to.topic)
        table = load_table(connections.catalog, name)  # not before: it has all that any other feed has sent
        fed = latest(in_kafka, noted(table, to.topic))
        before = fed.sent if fed else 0
        try:
            for some in batches(table, fed, size):
                _send(producer, encode, some, on_step)
                fed = some.to
        except PositionLostError as e:
            raise _lost(to, e) from None
    sent = fed.sent if fed else 0
    return sent - before, FedTo(at_head(table), sent=sent)


def _send(producer: Transactions, encode: _Encoders, some: Rows, on_step: Step) -> None:
    key, value = encode.key, encode.value
    producer.commit(
        ((key(row) if key else None, value(row)) for row in some.rows), some.to, lambda: on_step("sent")
    )
    on_step("committed")


@contextmanager
def _down_later() -> Iterator[None]:
    """Where Kafka or the registry does not answer, says that the topic gets its rows later."""
    try:
        yield
    except PartDownError as e:
        meaning = "The table is right. Its topic gets the rows with the next derivation."
        raise PartDownError(e.what, where=e.where, meaning=meaning, todo=e.todo) from None


def _lost(to: Feed, error: PositionLostError) -> PositionLostError:
    return PositionLostError(
        f"Topic {to.topic} can't follow its table.",
        where=f"{error.what} {error.where}",
        meaning="The table is right. The topic holds what was sent before, and gets no more.",
        todo="Name another topic in `feeds`: it begins with all rows that the table holds.",
    )


Encode = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True, slots=True)
class _Encoders:
    """What makes a record of a row; no key where none was asked for."""

    key: Encode | None
    value: Encode


def _encoders(registry: RegistryClient, feed: Feed, name: TableName, schema: Schema) -> _Encoders:
    """Registers what the table's columns are, as `<topic>-value` and, for a key, `<topic>-key`."""
    columns = from_iceberg(schema)
    key = _chosen(columns, feed, name) if feed.key else None
    return _Encoders(
        key=_encoder(registry, f"{feed.topic}-key", f"{name.table}_key", name, key) if key else None,
        value=_encoder(registry, f"{feed.topic}-value", name.table, name, columns),
    )


def _chosen(columns: Struct, feed: Feed, name: TableName) -> Struct:
    found = {field.name: field for field in columns}
    if missing := [column for column in feed.key if column not in found]:
        raise SpecError(
            f"feeds.key: {name} has no column {', '.join(missing)}.",
            where=f"its columns are {', '.join(found)}",
            todo="Mend `feeds` in defs.yaml.",
        )
    return Struct(tuple(found[column] for column in feed.key))


def _encoder(registry: RegistryClient, subject: str, record: str, name: TableName, columns: Struct) -> Encode:
    import fastavro

    schema = avro_record(columns, record, f"frazil.{name.namespace}")
    wanted = WantedSchema("AVRO", json.dumps(schema), f"the columns of {name}")
    prefix = b"\0" + register(registry, subject, wanted).schema_id.to_bytes(4, "big")
    parsed, plain = fastavro.parse_schema(schema), avro_value(columns)

    def encode(row: Mapping[str, Any]) -> bytes:
        stream = io.BytesIO(prefix)
        stream.seek(len(prefix))
        fastavro.schemaless_writer(stream, parsed, plain(row))
        return stream.getvalue()

    return encode
