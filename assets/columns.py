"""Columns that are known before the first landing: those of a schema file beside the pipeline."""

from __future__ import annotations

import dagster as dg

from frazil.landing.columns import record_columns, table_fields
from frazil.landing.decoders.plain import plain_columns
from frazil.landing.decoders.protocol import KEY
from frazil.schemas.avro import avro_to_logical
from frazil.schemas.iceberg import to_iceberg
from frazil.spec import TableSpec
from resources.metadata import column_schema

__all__ = ["known_columns"]


def known_columns(spec: TableSpec) -> dg.TableSchema | None:
    """The table's columns by the schema file, or None where the registry alone knows them."""
    if spec.value_schema is None:
        return None
    value = avro_to_logical(spec.value_schema.read_text(encoding="utf-8"), f"{spec.topic}-value")
    columns = record_columns(spec, plain_columns("bytes", KEY), value)
    return column_schema(to_iceberg(table_fields(spec, columns)))
