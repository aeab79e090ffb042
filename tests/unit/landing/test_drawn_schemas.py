"""Drawn schemas of each format become tables, take records and changes, and are read by PyIceberg and DuckDB.

Each is right, or refused with the field. What decodes is what tasks of the Arrow lane run, in every format.
The parts that explain bad records must find nothing wrong with the good ones.
FRAZIL_TEST_SCHEMAS says how many schemas of each format, FRAZIL_TEST_SEED which ones.
"""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog.memory import InMemoryCatalog
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.typedef import Record

from frazil.errors import SchemaRefusedError
from frazil.exact import rows_of
from frazil.formats.bare import differences
from frazil.formats.columns.columns import RecordColumns, record_columns, table_fields
from frazil.formats.evolution import refused
from frazil.formats.kinds import SCHEMA_FORMATS
from frazil.formats.logical import Field, List, Primitive, Struct, Type, same_type, with_fields
from frazil.formats.protobuf import descriptors
from frazil.formats.protocol import VALUE, Decoder, HalfSchemas
from frazil.formats.types import to_iceberg
from frazil.landing.schema.evolve import plan_evolution
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.pyiceberg import OWN_CODE, transaction
from kit.drawn.drawn_formats import DRAWN_FORMATS, Written
from kit.drawn.drawn_schemas import changed, columns_of, drawn, later, refusals, value_of
from kit.drawn.protoc import ready_protoc
from kit.drawn.random_records import Group
from kit.formats.formats import plain, same
from kit.pages.followed import followed
from kit.readers.duck import duckdb_with

COUNT = int(os.environ.get("FRAZIL_TEST_SCHEMAS", "24"))
SEED = os.environ.get("FRAZIL_TEST_SEED", "0")
RECORDS = 4
LEAVES_OF_ITEMS = 64
"""Avro is decoded by columns unless the items of an array may be null and have more leaves."""
GOOD = "a value does not fit its column", "a value is outside its type"
"""What is said of a record in which nothing is found."""
SPEC = TableSpec(topic="t", namespace="n")


@pytest.fixture(autouse=True, scope="module")
def protoc() -> Iterator[None]:
    with ready_protoc() as run, pytest.MonkeyPatch.context() as patch:
        patch.setattr(descriptors.subprocess, "run", run)
        yield


@pytest.fixture(scope="module")
def catalog(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InMemoryCatalog]:
    memory = InMemoryCatalog("test", warehouse=str(tmp_path_factory.mktemp("warehouse")), **OWN_CODE)
    memory.create_namespace("n")
    yield memory
    memory.close()


@pytest.fixture(scope="module")
def duck() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb_with("avro", "iceberg") as connection:
        connection.execute("SET TimeZone = 'UTC'")
        yield connection


_MARKS = re.compile(r"(\[\]|\{\})+$")
"""Of lists and maps, behind the field that holds them; a field may be called `a[0]`, or `{}`."""


FEW, MORE = range(min(8, COUNT)), range(8, COUNT)


@pytest.mark.parametrize("numbers", [FEW, pytest.param(MORE, marks=pytest.mark.nightly)], ids=["few", "more"])
@pytest.mark.parametrize(("of", "write"), DRAWN_FORMATS, ids=lambda each: getattr(each, "name", ""))
def test_drawn_schemas_land_and_change_or_are_refused_with_the_field(
    catalog: InMemoryCatalog, duck: duckdb.DuckDBPyConnection, of: Any, write: Any, numbers: range
) -> None:
    for number in numbers:
        dice = Random(f"{SEED} {of.name} {number}")
        try:
            _live(dice, of, write, catalog, duck)
        except BaseException as e:
            e.add_note(f"FRAZIL_TEST_SEED={SEED}, number {number} of {of.name}")
            raise


def test_two_maps_whose_names_differ_by_case_are_not_drawn_because_protoc_refuses_them(
    catalog: InMemoryCatalog, duck: duckdb.DuckDBPyConnection
) -> None:
    of, write = next(each for each in DRAWN_FORMATS if each[0].name == "protobuf")

    _live(Random("lead23 protobuf 864"), of, write, catalog, duck)


def _live(
    dice: Random, of: Any, write: Any, catalog: InMemoryCatalog, duck: duckdb.DuckDBPyConnection
) -> None:
    root = drawn(dice, of)
    first = write(root, 1)
    schemas = _schemas(first)
    if names := refusals(root):
        with pytest.raises(SchemaRefusedError) as raised:
            record_columns(SPEC, Struct(()), schemas.columns)
        text = f"{raised.value.what} {raised.value.where}"
        assert any(name in text or repr(name) in text for name in names), raised.value
        if raised.value.field:
            followed(schemas)
        return
    assert record_columns(SPEC, Struct(()), schemas.columns)
    assert same_type(_sorted(schemas.columns), _sorted(columns_of(root)))
    assert of.name != "avro" or _names(schemas.columns) == _names(columns_of(root))  # as they were written
    table = catalog.create_table(("n", uuid.uuid4().hex), to_iceberg(_fields(schemas.columns)))
    values = [value_of(root, dice) for _ in range(RECORDS)]
    _append(table, _decoded(schemas, of, [(first, v) for v in values]))
    newer, changes = changed(dice, root, of)
    second = write(newer, 2)
    schemas = _schemas(first, second)
    planned = plan_evolution(SPEC, table, RecordColumns(Struct(()), schemas.columns))
    if stopping := [change.field for change in changes if change.refused]:
        raised = [v.field for v in refused(planned.verdicts)]
        assert planned.staged is None
        assert [name for name in stopping if not any(_ends(field, name) for field in raised)] == []
        assert [field for field in raised if not any(_ends(field, name) for name in stopping)] == []
        _check(catalog.load_table(table.name()), duck, root, values)
        return
    assert refused(planned.verdicts) == []
    if planned.staged:
        planned.staged.commit_transaction()
    table = catalog.load_table(table.name())
    more = [value_of(newer, dice) for _ in range(RECORDS)]
    old = [later(newer, root, v) for v in values]
    # What was written by the older schema may come again: the newer one reads it as the table has it.
    again = _decoded(schemas, of, [(first, v) for v in values], old)
    assert _without(again, old) == _without(old, again) == []
    _append(table, _decoded(schemas, of, [(second, v) for v in more]))
    _check(table, duck, newer, old + more)


def _ends(path: str, name: str) -> bool:
    return path.endswith(name) or _MARKS.sub("", path).endswith(name)


def _schemas(*versions: Written) -> HalfSchemas:
    writers = tuple(v.writer for v in versions)
    return HalfSchemas(VALUE, SCHEMA_FORMATS[writers[0].kind], "t-value", writers)


def _sorted(kind: Type) -> Type:
    """Formats lay out fields in orders of their own."""
    inner = [Field(f.name, _sorted(f.type)) for f in kind.fields]
    return (
        Struct(tuple(sorted(inner, key=lambda f: f.name)))
        if isinstance(kind, Struct)
        else with_fields(kind, inner)
    )


def _names(kind: Type) -> list[Any]:
    """Names of fields in their order, at every depth."""
    return [(field.name, _names(field.type)) for field in kind.fields]


def _fields(columns: Struct) -> tuple[Field, ...]:
    return table_fields(SPEC, RecordColumns(Struct(()), columns))


def _decoded(
    schemas: HalfSchemas, of: Any, records: Sequence[tuple[Written, Any]], expected: list[Any] | None = None
) -> list[Any]:
    """The rows that records become; whatever explains bad records finds nothing wrong with them."""
    raw = [
        b"\0" + w.writer.schema_id.to_bytes(4, "big") + of.header + w.encode(value) for w, value in records
    ]
    decoder: Decoder = schemas.format.decoder(schemas)
    assert set(decoder.writers) == {w.schema_id for w in schemas.writers}
    assert [why for why in map(decoder.explain, raw) if not why[1].startswith(GOOD)] == []
    columns = decoder.arrow()
    if columns is None:
        assert of.name == "avro"
        assert _leaves(schemas.columns) > LEAVES_OF_ITEMS
        return expected or [value for _, value in records]
    batch = columns.decode(pa.array(raw, pa.binary()))
    assert batch.ok.to_pylist() == [True] * len(raw)
    rows = rows_of(pa.Table.from_struct_array(batch.data))
    pairs = [(decoder.values(r) or {}, row) for r, row in zip(raw, rows, strict=True)]
    assert [difference for one, row in pairs for difference in differences(schemas.columns, one, row)] == []
    return list(batch.data.to_pylist(maps_as_pydicts="strict"))


def _leaves(kind: Type) -> int:
    return sum(_leaves(field.type) for field in kind.fields) or 1


def _append(table: Table, rows: list[Any]) -> None:
    """Appends a file as Spark writes it; PyIceberg's own writer loses nulls in lists of records in maps."""
    path = Path(table.location()) / f"{uuid.uuid4().hex}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema=schema_to_pyarrow(table.schema())), path)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=str(path),
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=len(rows),
        file_size_in_bytes=path.stat().st_size,
    )
    file.spec_id = table.spec().spec_id
    with transaction(table) as tx, tx.update_snapshot().fast_append() as append:
        append.append_data_file(file)


def test_some_lists_with_nulls_are_none_that_pyiceberg_reads(catalog: InMemoryCatalog) -> None:
    """Where this fails, docs/limits.md needs another look."""
    numbers = Field("n", List(Primitive("int")))
    nested = List(Struct((Field("x", Struct((numbers,))),)), element_optional=True)

    with pytest.raises(pa.ArrowInvalid, match="nulls in input cannot be viewed as non-nullable"):
        _read_again(catalog, nested, [None])


def _read_again(catalog: InMemoryCatalog, kind: Type, value: Any) -> Any:
    """A value of one column, as PyIceberg reads it."""
    table = catalog.create_table(("n", uuid.uuid4().hex), to_iceberg([Field("l", kind, optional=True)]))
    _append(table, [{"l": value}])
    return table.scan().to_arrow().to_pylist()[0]["l"]


def _check(table: Table, duck: duckdb.DuckDBPyConnection, root: Group, expected: list[Any]) -> None:
    """Compares what both engines read; the order of rows is not looked at."""
    at = table.metadata_location
    by_duckdb = duck.sql(f"SELECT * FROM iceberg_scan('{at}')").to_arrow_table()
    _compare(_rows(by_duckdb, root), expected)
    try:
        table_rows = table.scan().to_arrow()
    except pa.ArrowInvalid as e:
        if "nulls in input cannot be viewed as non-nullable" not in str(e):  # see docs/limits.md
            raise
        return
    _compare(_rows(table_rows, root), expected)


def _rows(table: pa.Table, root: Group) -> list[Any]:
    """Rows without Frazil's own columns."""
    return [{name: row[name] for name, _ in root.fields} for row in plain(table)]


def _compare(rows: list[Any], expected: list[Any]) -> None:
    assert len(rows) == len(expected)
    assert _without(rows, expected) == _without(expected, rows) == []


def _without(some: list[Any], others: list[Any]) -> list[Any]:
    """Those that are not among the others."""
    return [one for one in some if not any(same(one, other) for other in others)]
