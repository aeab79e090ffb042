"""Data files of a table in memory, written as the Arrow lane writes them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from frazil.formats.logical import Primitive
from frazil.spec.names import TableName
from frazil.tables.writing.data_files import data_file, file_layout
from frazil.tables.writing.parquet import DataFileWriter

__all__ = ["NAME", "kind", "written"]

NAME = TableName("n", "t")


def kind(word: Any) -> Primitive:
    return Primitive(word)


def written(table: Table, *batches: pa.RecordBatch) -> list[DataFile]:
    writer = DataFileWriter(file_layout(table), "name")
    for each in batches:
        writer.write(each)
    return [data_file(table, file) for file in writer.close()]
