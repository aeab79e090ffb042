"""Rows as Avro records in Confluent's wire format, their schemas registered."""

from __future__ import annotations

import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.errors import SpecError
from frazil.formats.avro.schema import avro_record, avro_value
from frazil.formats.logical import Struct
from frazil.formats.registry import RegistryClient, WantedSchema, register
from frazil.formats.types import from_iceberg
from frazil.spec.derived import Feed
from frazil.spec.names import TableName

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


__all__ = ["Encoders", "encoders"]

Encode = Callable[[Mapping[str, Any]], bytes]


@dataclass(frozen=True, slots=True)
class Encoders:
    """What makes a record of a row; no key where none was asked for."""

    key: Encode | None
    value: Encode


def encoders(registry: RegistryClient, feed: Feed, name: TableName, schema: Schema) -> Encoders:
    """Registers what the table's columns are, as `<topic>-value` and, for a key, `<topic>-key`.

    Raises:
        SpecError: A column of the key is none of the table's, or no Avro name fits.
        ConfigureError: The registry refuses the schema.
    """
    columns = from_iceberg(schema)
    key = _chosen(columns, feed, name) if feed.key else None
    return Encoders(
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
