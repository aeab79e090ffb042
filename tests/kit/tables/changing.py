"""An input whose rows change by a key: files are written anew, as landings of `mode: upsert` do it."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.io.pyarrow import _dataframe_to_data_files
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.formats.logical import Field, Primitive
from frazil.landing.upsert.key import KEY_COLUMNS
from frazil.spec.names import TableName
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.stage import StagedFiles, put_in_place
from frazil.tables.creation import create_table
from frazil.tables.reading.rows import batches_in
from kit.derived.made import NAMESPACE, TRADES, Row, Source

KEYED = (Field("id", Primitive("int")), *TRADES)
"""Columns of such an input, unless a test has others."""


@dataclass
class Changing(Source):
    """Rows by `id`."""

    def change(
        self, put: Iterable[Row] = (), ends: Collection[int] = (), summary: Mapping[str, str] | None = None
    ) -> None:
        """New rows in the place of those with the same key; others end. One snapshot, with that `summary`."""
        table, new = self.table, [dict(row) for row in put]
        gone = {row["id"] for row in new} | set(ends)
        removed, kept = [], list[dict[str, Any]]()
        for task in table.scan().plan_files():
            rows = _rows(table, task.file)
            if any(row["id"] in gone for row in rows):
                removed.append(task.file.file_path)
                kept += [row for row in rows if row["id"] not in gone]
        files = _written(table, kept) + _written(table, new)
        tx = transaction(table)
        put_in_place(tx, table, removed, StagedFiles(tuple(files)), summary or {})
        tx.commit_transaction()


def _rows(table: Table, file: DataFile) -> list[dict[str, Any]]:
    return [row for batch in batches_in(table, table.schema(), [file]) for row in batch.to_pylist()]


def _written(table: Table, rows: list[dict[str, Any]]) -> list[DataFile]:
    frame = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
    files = list(_dataframe_to_data_files(table.metadata, frame, table.io)) if rows else []
    for file in files:
        file.spec_id = table.spec().spec_id
    return files


def make_changing(catalog: Catalog, table: str, fields: Iterable[Field] = KEYED) -> Changing:
    """Makes such an input, without rows."""
    name = TableName(NAMESPACE, table)
    create_table(
        TableHandle(catalog, name), fields, (), {"format-version": "2", KEY_COLUMNS: json.dumps(["id"])}
    )
    return Changing(catalog, name)
