"""Which rows `frazil check T --values N` takes, of files of any age."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.types import StringType

from frazil.checks.values import _sample
from frazil.formats.columns.columns import metadata_columns
from frazil.formats.logical import Field, Primitive
from frazil.spec.names import TableName
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.commits.stage import append_files
from frazil.tables.creation import create_table
from frazil.tables.writing.data_files import write_files
from kit.tables.delete_files import delete_by_position, live

SPEC = TableSpec(topic="t")


def test_rows_of_files_that_lack_a_text_stand_beside_others(tmp_path: Path) -> None:
    fields = [Field("n", Primitive("int"))]
    fields += [Field(c.name(SPEC.metadata_names), c.type, optional=True) for c in metadata_columns(SPEC)]
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    table = create_table(TableHandle(catalog, TableName("n", "t")), fields, (), {})

    for offset, more in enumerate(({}, {"note": "a"})):
        with table.transaction() as tx:
            rows = [{"n": offset, "$$partition": 0, "$$offset": offset, **more}]
            table_rows = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
            append_files(tx, write_files(table, table_rows), {})
        with table.update_schema() as update:
            update.add_column("note" if not offset else "later", StringType())
        table = table.refresh()

    sampled = _sample(table, SPEC, 5)

    assert sampled is not None
    assert sorted((row["n"], row["note"]) for row in sampled[0]) == [(0, None), (1, "a")]
    first, second = (entry.data_file for entry in live(table))
    delete_by_position(table, (first, [0]))
    left = _sample(table.refresh(), SPEC, 5)
    assert left is not None
    assert [row["n"] for row in left[0]] == [1]
    delete_by_position(table, (second, [0]))
    assert _sample(table.refresh(), SPEC, 5) is None


def test_each_partition_of_the_topic_is_drawn_from_however_many_files_others_have(tmp_path: Path) -> None:
    """Eight files were drawn of all: most partitions of a wide topic were never compared."""
    fields = [Field(c.name(SPEC.metadata_names), c.type, optional=True) for c in metadata_columns(SPEC)]
    catalog = InMemoryCatalog("unit", warehouse=tmp_path.as_uri())
    table = create_table(TableHandle(catalog, TableName("n", "t")), fields, (), {})
    places = [*((0, offset) for offset in range(20)), *((partition, 0) for partition in range(1, 12))]

    with table.transaction() as tx:
        for partition, offset in places:
            rows = [{"$$partition": partition, "$$offset": offset}]
            table_rows = pa.Table.from_pylist(rows, schema=table.schema().as_arrow())
            append_files(tx, write_files(table, table_rows), {})

    sampled = _sample(table.refresh(), SPEC, 5)

    assert sampled is not None
    assert sampled.keys() == {*range(12)}
