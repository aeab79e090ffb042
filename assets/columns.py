"""Columns that are known before the first landing, as Dagster shows them."""

from __future__ import annotations

import dagster as dg

from frazil.formats.iceberg import to_iceberg
from frazil.formats.record import file_fields
from frazil.spec.topic import TableSpec
from resources.metadata import column_schema

__all__ = ["known_columns"]


def known_columns(spec: TableSpec) -> dg.TableSchema | None:
    """The table's columns by the schema files, or None where the registry alone knows them.

    Raises:
        SpecError: No table can hold what a file describes.
    """
    fields = file_fields(spec)
    return column_schema(to_iceberg(fields)) if fields is not None else None
