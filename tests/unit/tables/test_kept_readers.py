"""PyIceberg's readers of manifests: made once for each schema, and each file is read by its own."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec, module_from_spec
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.avro import file
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import BucketTransform
from pyiceberg.utils.schema_conversion import AvroSchemaConversion

from frazil.tables.catalogs import kept_readers
from frazil.tables.catalogs.kept_readers import keep_readers


@pytest.fixture(autouse=True)
def nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """PyIceberg is as it comes, until a test has it keep its readers: other tests of this process have."""
    spec = find_spec(file.__name__)
    assert spec
    assert spec.loader
    theirs: Any = module_from_spec(spec)
    spec.loader.exec_module(theirs)
    monkeypatch.setattr(file.AvroFileHeader, "get_schema", theirs.AvroFileHeader.get_schema)
    monkeypatch.setattr(file, "resolve_reader", theirs.resolve_reader)
    kept_readers._schema_of.cache_clear()
    kept_readers._reader_of.cache_clear()


@pytest.fixture
def table(tmp_path: Path) -> Iterator[Table]:
    """Four landings, two of them in partitions of a later spec."""
    catalog = SqlCatalog("c", uri=f"sqlite:///{tmp_path}/c.db", warehouse=tmp_path.as_uri())
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", pa.schema([("a", pa.int64())]))
    for a in range(4):
        if a == 2:
            table.update_spec().add_field("a", BucketTransform(3), "a_bucket").commit()
        table.append(pa.table({"a": [a]}))
    yield table
    catalog.close()


def partitions(table: Table) -> list[tuple[int, int | None]]:
    """The spec and the partition of each file, as the table's manifests tell them."""
    snapshot = table.current_snapshot()
    assert snapshot is not None
    manifests = snapshot.manifests(table.io)
    files = [entry.data_file for each in manifests for entry in each.fetch_manifest_entry(table.io)]
    return [(f.spec_id, f.partition[0] if len(f.partition) else None) for f in files]


def test_a_schema_is_converted_once_however_many_manifests_have_it(
    table: Table, monkeypatch: pytest.MonkeyPatch
) -> None:
    converted: list[Any] = []
    convert = AvroSchemaConversion.avro_to_iceberg

    def counted(self: AvroSchemaConversion, schema: dict[str, Any]) -> Schema:
        converted.append(schema)
        return convert(self, schema)

    monkeypatch.setattr(AvroSchemaConversion, "avro_to_iceberg", counted)
    keep_readers()

    for _ in range(3):
        partitions(table)

    assert len(converted) == 3  # of the list, and of the manifests of each spec


def test_a_manifest_is_read_by_the_schema_of_its_own_spec(table: Table) -> None:
    as_it_comes = partitions(table)
    keep_readers()

    assert partitions(table) == partitions(table) == as_it_comes
    assert [spec for spec, _ in as_it_comes] == [1, 1, 0, 0]
    assert all((bucket is None) == (spec == 0) for spec, bucket in as_it_comes)


def test_a_file_without_a_schema_is_refused_as_pyiceberg_refuses_it() -> None:
    with pytest.raises(ValueError, match="No schema") as theirs:
        file.AvroFileHeader(b"Obj\1", {}, b"").get_schema()
    keep_readers()

    with pytest.raises(ValueError, match=str(theirs.value)):
        file.AvroFileHeader(b"Obj\1", {}, b"").get_schema()
