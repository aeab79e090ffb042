"""Columns that are known before the first landing: those of schema files beside the pipeline."""

from __future__ import annotations

from pathlib import Path

import dagster as dg

from frazil.errors import SchemaRefusedError, SpecError
from frazil.landing.columns import record_columns, table_fields
from frazil.landing.decoders.choose import columns_of
from frazil.landing.decoders.plain import plain_columns
from frazil.landing.decoders.protocol import KEY, VALUE, Half
from frazil.naming import subject_name
from frazil.schemas.iceberg import to_iceberg
from frazil.schemas.logical import Struct
from frazil.schemas.registry import WriterSchema
from frazil.schemas.subjects import read_schema
from frazil.spec import Format, TableSpec
from resources.metadata import column_schema

__all__ = ["known_columns"]


def known_columns(spec: TableSpec) -> dg.TableSchema | None:
    """The table's columns by the schema files, or None where the registry alone knows them.

    Raises:
        SpecError: No table can hold what a file describes.
    """
    key = _columns(spec, KEY, spec.key_format, spec.key_schema)
    value = _columns(spec, VALUE, spec.value_format, spec.value_schema)
    if value is None:
        return None
    # A key without a file may have a subject; most have none, and are bytes.
    columns = record_columns(spec, key or plain_columns("bytes", KEY), value)
    return column_schema(to_iceberg(table_fields(spec, columns)))


def _columns(spec: TableSpec, half: Half, written: Format, file: Path | None) -> Struct | None:
    if written == "bytes" or written == "string" or written == "none":
        return plain_columns(written, half)
    if file is None:
        return None
    schema = read_schema(file)
    writer = WriterSchema(0, 0, schema.text, schema.kind)
    try:
        return columns_of([writer], subject_name(spec, half.word), half, spec.record_type)
    except SchemaRefusedError as e:
        raise SpecError(f"{file}: {e.what}", where=e.where, todo=e.todo) from None
