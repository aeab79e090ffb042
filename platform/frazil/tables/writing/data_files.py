"""Data files: how a table wants them, and what manifests say of them.

PyArrow is imported with the first of them: it takes half a second of CPU.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Iterator, Mapping
from io import BytesIO
from typing import TYPE_CHECKING, Any

from frazil.tables.catalogs.file_io import opened_files
from frazil.tables.catalogs.requests import REQUESTED, Requests, puts_of
from frazil.tables.format_v3.fields import has_row_ids
from frazil.tables.writing.footers import columns_of

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.types import IcebergType, NestedField

    from frazil.tables.writing.parquet import FileLayout, WrittenFile
    from frazil.tables.writing.partitions import Partitions

_MB = 2**20
_PARQUET = "write.parquet."
_LEVEL = f"{_PARQUET}compression-level"
_BLOOM = f"{_PARQUET}bloom-filter"

_QUICK = 1
"""Level of zstd that columns get which take no more room by it, where the table says nothing of levels."""

_HELD = 64 * _MB
"""Bytes of Arrow that become a row group at most: a task holds them, and some come out at a fifth."""


def file_layout(table: Table) -> FileLayout:
    """How the table's data files are written now."""
    from pyiceberg.io.pyarrow import PyArrowFileIO
    from pyiceberg.schema import sanitize_column_names
    from pyiceberg.table.locations import load_location_provider

    from frazil.tables.reading.parts import names_of
    from frazil.tables.writing.parquet import FileLayout
    from frazil.tables.writing.unwritable import refuse_taken_names

    refuse_taken_names(table)
    schema, properties = table.schema(), table.properties
    location = load_location_provider(table.location(), properties).data_path
    scheme, bucket, _ = PyArrowFileIO.parse_location(location)
    in_files, options = sanitize_column_names(schema), _options(properties)
    options["bloom_filter_options"] = dict(_bloom_filters(schema, properties)) or None
    return FileLayout(
        schema=_arrow_schema(in_files, schema),
        location=location,
        options=options,
        paths=tuple(_paths(schema)),
        dictionaries=tuple(_dictionaries(schema, properties)),
        quick=_QUICK if options["compression"] == "zstd" and _LEVEL not in properties else None,
        target=int(properties.get("write.target-file-size-bytes", 512 * _MB)),
        row_group=min(int(properties.get(f"{_PARQUET}row-group-size-bytes", _HELD)), _HELD),
        partitions=_partitions(table, in_files),
        elsewhere=_elsewhere(table),
        store=opened_files(table.io, location).fs_by_scheme(scheme, bucket),
        names=names_of(properties),
        row_ids=has_row_ids(table),
    )


def _partitions(table: Table, in_files: Schema) -> Partitions | None:
    """What divides rows, by the columns that files have; None where the table has no partitions."""
    from frazil.tables.writing.partitions import Partitions

    spec = table.spec()
    sources = tuple(column_path(in_files, field.source_id) for field in spec.fields)
    return None if spec.is_unpartitioned() else Partitions(spec, table.schema(), sources)


def _elsewhere(table: Table) -> tuple[str, Mapping[str, str]] | None:
    """What says where each file lies, where that is not one folder."""
    scattered = table.properties.get("write.object-storage.enabled") == "true"
    one_folder = table.spec().is_unpartitioned() and not scattered
    return None if one_folder else (table.location(), table.properties)


def write_files(table: Table, rows: pa.Table) -> tuple[DataFile, ...]:
    """Writes rows in the table's columns, in their order, to data files that no snapshot names yet."""
    import pyarrow as pa

    from frazil.tables.writing.conversion import fitted
    from frazil.tables.writing.parquet import DataFileWriter

    layout = file_layout(table)
    writer = DataFileWriter(layout, f"00000-{uuid.uuid4()}")
    for batch in rows.to_batches():
        columns = [fitted(c, own.type) for c, own in zip(batch.columns, layout.schema, strict=True)]
        writer.write(pa.RecordBatch.from_arrays(columns, schema=layout.schema))
    return tuple(data_file(table, file) for file in writer.close())


def data_file(table: Table, written: WrittenFile) -> DataFile:
    """A file as manifests describe it, by its own footer."""
    import pyarrow.parquet as pq
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
    from pyiceberg.typedef import Record

    from frazil.tables.writing.partitions import Partitions, key_in

    schema, spec = table.schema(), table.spec()
    folder = Partitions(spec, schema, ()).folder_of(key_in(written.partition))
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=written.path,
        file_format=FileFormat.PARQUET,
        partition=folder.partition if spec.fields else Record(),
        file_size_in_bytes=written.size,
        sort_order_id=None,
        equality_ids=None,
        key_metadata=None,
        **columns_of(pq.read_metadata(BytesIO(written.footer)), schema, table.properties),
    )
    file.spec_id = spec.spec_id
    REQUESTED.of_file(written.path, Requests(puts=puts_of(written.size) - 1))
    return file


def _options(properties: Mapping[str, str]) -> dict[str, Any]:
    """What PyArrow's writer is options, by the words of Iceberg's properties; see pyiceberg.io.pyarrow."""
    codec = properties.get(f"{_PARQUET}compression-codec", "zstd")
    level = properties.get(_LEVEL)
    return {
        "compression": {"uncompressed": "none"}.get(codec, codec),
        "compression_level": int(level or 3) if codec == "zstd" else None,
        "data_page_size": int(properties.get(f"{_PARQUET}page-size-bytes", _MB)),
        "dictionary_pagesize_limit": int(properties.get(f"{_PARQUET}dict-size-bytes", 2 * _MB)),
        "write_batch_size": int(properties.get(f"{_PARQUET}page-row-limit", 20_000)),
        "write_page_index": True,
        "store_decimal_as_integer": True,
        "store_schema": False,
    }


def _dictionaries(schema: Schema, properties: Mapping[str, str]) -> Iterator[str]:
    for path, field_id in _paths(schema).items():
        own = f"{_PARQUET}dict-encoding-enabled.column.{schema.find_column_name(field_id)}"
        if properties.get(own) != "false":
            yield path


def _bloom_filters(schema: Schema, properties: Mapping[str, str]) -> Iterator[tuple[str, dict[str, float]]]:
    """By the path of a column, how many different values its filter is for, and how often it may be wrong.

    As large as the table allows, where it tells no number of values: as Java makes them.
    """
    most = int(properties.get(f"{_BLOOM}-max-bytes", _MB))
    for path, field_id in _paths(schema).items():
        column = f"column.{schema.find_column_name(field_id)}"
        plain = str(schema.find_type(field_id)) != "boolean"  # Parquet has no filter of these
        if plain and properties.get(f"{_BLOOM}-enabled.{column}") == "true":
            wrong = float(properties.get(f"{_BLOOM}-fpp.{column}", 0.01))
            fit = int(-most * math.log(1 - wrong ** (1 / 8)))
            yield path, {"ndv": min(int(properties.get(f"{_BLOOM}-ndv.{column}", fit)), fit), "fpp": wrong}


def _paths(schema: Schema) -> dict[str, int]:
    """Field ids by the paths that columns have in files."""
    from pyiceberg.io.pyarrow import parquet_path_to_id_mapping
    from pyiceberg.schema import sanitize_column_names

    return parquet_path_to_id_mapping(sanitize_column_names(schema))


def column_path(schema: Schema, field_id: int) -> tuple[str, ...]:
    """The names that lead to a column; a name may have a dot in it."""
    for field in schema.fields:
        if path := _below(field, field_id):
            return path
    raise AssertionError(f"{field_id} is a column")


def _below(field: NestedField, field_id: int) -> tuple[str, ...]:
    from pyiceberg.types import StructType

    if field.field_id == field_id:
        return (field.name,)
    fields = field.field_type.fields if isinstance(field.field_type, StructType) else ()
    return next(((field.name, *path) for f in fields if (path := _below(f, field_id))), ())


def _arrow_schema(in_files: Schema, schema: Schema) -> pa.Schema:
    """The schema of files, of which each field also says what the table calls it."""
    import pyarrow as pa

    return pa.schema([_arrow_field(f, schema) for f in in_files.fields])


def _arrow_field(field: NestedField, schema: Schema, name: str = "") -> pa.Field:
    import pyarrow as pa

    from frazil.tables.writing.conversion import ID, NAME

    own = schema.find_field(field.field_id).name
    notes = {ID: str(field.field_id), NAME: own}
    return pa.field(name or field.name, _arrow_type(field.field_type, schema), not field.required, notes)


def _arrow_type(kind: IcebergType, schema: Schema) -> pa.DataType:
    """PyIceberg's own takes texts and lists of more than 2 GB each, which costs a copy of them all."""
    import pyarrow as pa
    from pyiceberg import types as t
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    match kind:
        case t.StructType():
            return pa.struct([_arrow_field(f, schema) for f in kind.fields])
        case t.ListType():
            return pa.list_(_arrow_field(kind.element_field, schema, "element"))
        case t.MapType():
            key, value = kind.key_field, kind.value_field
            return pa.map_(_arrow_field(key, schema, "key"), _arrow_field(value, schema, "value"))
        case t.StringType():
            return pa.string()
        case t.BinaryType():
            return pa.binary()
        case _:
            return schema_to_pyarrow(kind)
