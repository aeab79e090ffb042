"""A table as some other tool writes it: it knows nothing of Frazil."""

from __future__ import annotations

import pyarrow as pa
from pyiceberg.catalog import Catalog
from pyiceberg.table import Table

from frazil.spec.names import TableName

ROWS = pa.table({"symbol": ["ZTEST"], "quantity": pa.array([1], pa.int32())})


def foreign_table(catalog: Catalog, name: TableName, files: int = 4) -> Table:
    """Makes one by plain PyIceberg, with so many files of a row each."""
    catalog.create_namespace_if_not_exists(name.namespace)
    table = catalog.create_table(name.identifier, ROWS.schema)
    for _ in range(files):
        table.append(ROWS)
    return table


def file_count(catalog: Catalog, name: TableName) -> int:
    """Data files of the table as it is now."""
    return len(list(catalog.load_table(name.identifier).scan().plan_files()))
