"""What tests of all formats share: records as bytes, their landing, and rows as plain Python."""

from __future__ import annotations

import io
import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import fastavro
import pyarrow as pa
from confluent_kafka.schema_registry import Schema

from frazil.connections import Connections
from frazil.landing.land import land
from frazil.landing.report import LandingReport
from frazil.spec.names import Things, things
from frazil.spec.topic import TableSpec
from kit.formats.avro_cases import AVRO
from kit.formats.conformance import Format
from kit.formats.json_cases import JSON
from kit.formats.protobuf_cases import PROTOBUF
from kit.readers.compared import note
from kit.readers.duck import duckdb_on
from kit.records.producing import send
from kit.records.topics import create_topic

__all__ = [
    "FORMATS",
    "NAMESPACE",
    "MakeSource",
    "Record",
    "Source",
    "avro",
    "make_source",
    "plain",
    "produce",
    "same",
]

FORMATS: tuple[Format, ...] = (AVRO, JSON, PROTOBUF)
"""Whose cases land; each in its own module."""

NAMESPACE = "formats_tests"

Record = tuple[bytes | None, bytes | None]
"""Key and value, as they come."""


@dataclass(frozen=True, slots=True)
class Source:
    """A topic, the spec that lands it, and what became of it."""

    connections: Connections
    spec: TableSpec

    @property
    def things(self) -> Things:
        """The names of all that comes of the topic."""
        return things(self.spec, self.connections.settings)

    @property
    def name(self) -> str:
        """The table's, with its namespace."""
        return ".".join(self.things.table.identifier)

    def register(self, schema: object, half: str = "value", kind: str = "AVRO") -> int:
        """Registers a version that need not be compatible; returns its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        subject = f"{self.spec.topic}-{half}"
        self.connections.registry.set_compatibility(subject, level="NONE")
        return int(self.connections.registry.register_schema(subject, Schema(text, kind)))

    def produce(self, *records: Record, **more: Any) -> None:
        """Produces records to the first partition, in order; see `produce`."""
        produce(self.connections, self.spec.topic, records, **more)

    def land(self, **changed: Any) -> LandingReport:
        """Lands what waits, the spec changed as said."""
        return land(self.spec.model_copy(update=changed), self.connections)

    def table(self) -> pa.Table:
        """The rows as PyIceberg reads them, by offset."""
        rows = self.connections.catalog.load_table(self.name).scan().to_arrow()
        return rows.sort_by("$$offset")

    def rows(self) -> list[dict[str, Any]]:
        """The same as plain Python; maps as dicts."""
        return plain(self.table())

    def rows_in_numbers(self) -> list[dict[str, Any]]:
        """The same with moments as numbers of days or microseconds."""
        table = self.table()
        return plain(table.cast(pa.schema([f.with_type(in_numbers(f.type)) for f in table.schema])))

    def raw(self, column: str) -> list[Any]:
        """A column by offset, moments as numbers of days or microseconds: Python's own end in 9999."""
        values = self.table().column(column)
        return values.cast(in_numbers(values.type)).to_pylist()

    def rows_by_duckdb(self) -> list[dict[str, Any]]:
        """The rows as DuckDB reads them, by offset."""
        at = self.connections.catalog.load_table(self.name).metadata_location
        with duckdb_on(self.connections.settings) as duck:
            table = duck.sql(f"SELECT * FROM iceberg_scan('{at}') ORDER BY \"$$offset\"").to_arrow_table()
        return plain(table)

    def dead_letters(self) -> list[dict[str, Any]]:
        """The dead letters, by offset."""
        table = self.connections.catalog.load_table(self.things.table.dead_letters.identifier)
        return plain(table.scan().to_arrow().sort_by("offset"))


def make_source(
    connections: Connections, topic: str, config: dict[str, str] | None = None, **spec: Any
) -> Source:
    """Makes a topic of one partition."""
    create_topic(connections.admin, topic, 1, config or {})
    source = Source(connections, TableSpec(topic=topic, namespace=NAMESPACE, **spec))
    note(source)
    return source


MakeSource = Callable[..., Source]
"""`source(key_format="none")`: what is given goes into the spec."""


def produce(
    connections: Connections, topic: str, records: Iterable[Record], *, plain: str = "", **more: Any
) -> None:
    """Produces bytes in a transaction, before one that is aborted; `plain`: why in none."""
    send(connections.settings, topic, [(key, value, 0) for key, value in records], plain=plain, **more)


def avro(schema: dict[str, Any], schema_id: int, value: dict[str, Any]) -> bytes:
    """One value in the Confluent wire format, by an independent encoder."""
    stream = io.BytesIO(b"\0" + schema_id.to_bytes(4, "big"))
    stream.seek(5)
    fastavro.schemaless_writer(stream, fastavro.parse_schema(dict(schema)), value)
    return stream.getvalue()


def in_numbers(kind: pa.DataType) -> pa.DataType:
    """The type with days and microseconds for moments: Python's own end with the year 9999."""
    if pa.types.is_date(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind):
        return pa.int64()
    if pa.types.is_struct(kind):
        return pa.struct([f.with_type(in_numbers(f.type)) for f in kind])
    if pa.types.is_map(kind):
        return pa.map_(in_numbers(kind.key_type), kind.item_field.with_type(in_numbers(kind.item_type)))
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(kind.value_field.with_type(in_numbers(kind.value_type)))
    return kind


def plain(table: pa.Table) -> list[dict[str, Any]]:
    """Arrow's rows as Python's own objects; maps as dicts."""
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
    return rows


def same(actual: Any, expected: Any) -> bool:
    """Whether two values are equal, of the same kind, and NaN is NaN."""
    match actual, expected:
        case list(), list() | tuple():
            return len(actual) == len(expected) and all(map(same, actual, expected))
        case dict(), dict():
            return actual.keys() == expected.keys() and all(same(actual[k], expected[k]) for k in actual)
        case float(), float():
            return actual == expected or (math.isnan(actual) and math.isnan(expected))
        case _:
            return type(actual) is type(expected) and bool(actual == expected)
