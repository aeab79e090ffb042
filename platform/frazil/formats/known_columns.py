"""Columns that are known before the first landing: those of schema files beside the pipeline."""

from __future__ import annotations

from pathlib import Path

from frazil.errors import SchemaRefusedError, SpecError
from frazil.formats.columns import record_columns, table_fields
from frazil.formats.decoders import columns_of
from frazil.formats.logical import Field, Struct
from frazil.formats.plain import plain_columns
from frazil.formats.protocol import KEY, VALUE, Half
from frazil.formats.registry import WriterSchema
from frazil.formats.subjects import read_schema
from frazil.spec.names import subject_name
from frazil.spec.topic import Format, TableSpec

__all__ = ["known_fields"]


def known_fields(spec: TableSpec) -> tuple[Field, ...] | None:
    """The table's columns by the schema files, or None where the registry alone knows them.

    A key without a file may have a schema in the registry all the same. Most have none, and are bytes.

    Raises:
        SpecError: No table can hold what a file describes.
    """
    key = _columns(spec, KEY, spec.key_format, spec.key_schema)
    value = _columns(spec, VALUE, spec.value_format, spec.value_schema)
    if value is None:
        return None
    return table_fields(spec, record_columns(spec, key or plain_columns("bytes", KEY), value))


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
