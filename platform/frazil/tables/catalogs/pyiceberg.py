"""What takes private names of PyIceberg, beside commits, rewrites and catalogs: an upgrade may move one.

`tests/unit/tables/test_private_names.py` lists them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from frazil.tables.folders import folder_of
from frazil.tables.format_v3.metadata import upgraded
from frazil.tables.format_v3.reading import entry_schema, with_row_ids

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.catalog.rest import RestCatalog
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.io import FileIO
    from pyiceberg.manifest import DataFile, ManifestEntry, ManifestFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableUpdate
    from pyiceberg.typedef import Record
    from pyiceberg.types import IcebergType
    from requests import Response

OWN_CODE = {"py-io-impl": "frazil.tables.catalogs.file_io.LateFileIO", "s3.retry-strategy-impl": ""}
"""What PyIceberg imports and calls to open files. A table's properties and a catalog's answers may name
other classes, but a right to alter a table must not be a right to run code in this process."""


def take_far_moments() -> None:
    """Lets PyIceberg work out partitions of far moments as `tables.transforms` does.

    Filters are projected by its functions of time, which fail beyond the year 9999: they are replaced.
    """
    from pyiceberg.utils import datetime as theirs

    from frazil.tables.transforms import hours_of, months_of

    day = 86_400 * 10**6
    ours: dict[str, Callable[[int], int]] = {
        "days_to_months": months_of,
        "days_to_years": lambda days: months_of(days) // 12,
        "micros_to_months": lambda micros: months_of(micros // day),
        "micros_to_years": lambda micros: months_of(micros // day) // 12,
        "micros_to_hours": hours_of,
    }
    replace_functions(theirs, ours)


def replace_functions(theirs: Any, ours: Mapping[str, Callable[..., Any]]) -> None:
    """Puts functions in the place of those of a module or class of PyIceberg; one that is gone fails here."""
    for name, function in ours.items():
        assert hasattr(theirs, name), name
        setattr(theirs, name, function)


@dataclass(frozen=True, slots=True)
class Judge:
    """Tells by partitions and statistics whether a row can match; for one partition spec."""

    manifest: Callable[[ManifestFile], bool]
    file: Callable[[DataFile], bool]


def may_match(table: Table, spec_id: int, where: BooleanExpression) -> Judge:
    """A judge of the table's files of one partition spec."""
    from pyiceberg.expressions.visitors import (
        _InclusiveMetricsEvaluator,
        expression_evaluator,
        inclusive_projection,
        manifest_evaluator,
    )
    from pyiceberg.schema import Schema

    take_far_moments()
    schema, spec = table.schema(), table.specs()[spec_id]
    projected = inclusive_projection(schema, spec)(where)
    fields = Schema(*spec.partition_type(schema).fields)
    partition = expression_evaluator(fields, projected, case_sensitive=True)
    statistics = _InclusiveMetricsEvaluator(schema, where).eval

    def file(file: DataFile) -> bool:
        return partition(file.partition) and statistics(file)

    return Judge(manifest_evaluator(spec, schema, projected), file)


def columns_in(table: Table, where: BooleanExpression) -> frozenset[int]:
    """Ids of the columns that an expression names."""
    from pyiceberg.expressions.visitors import bind, extract_field_ids

    return frozenset(extract_field_ids(bind(table.schema(), where, case_sensitive=True)))


def all_match(table: Table, where: BooleanExpression) -> Callable[[DataFile], bool]:
    """Tells by partition and statistics whether all rows of a data file match."""
    from pyiceberg.expressions import AlwaysTrue
    from pyiceberg.expressions.visitors import _StrictMetricsEvaluator, residual_evaluator_of

    take_far_moments()
    schema = table.schema()
    by_statistics = _StrictMetricsEvaluator(schema, where).eval
    residuals = {i: residual_evaluator_of(spec, where, True, schema) for i, spec in table.specs().items()}

    def judge(file: DataFile) -> bool:
        left = residuals[file.spec_id].residual_for(file.partition)
        return by_statistics(file) or bool(left == AlwaysTrue())

    return judge


def transaction(table: Table) -> Transaction:
    """A transaction that works out its metadata once for each change that is staged.

    PyIceberg's own copies all of it each time that it is looked at, two dozen times an append: of a table
    with 1,000 snapshots that is 0.5 s. And it counts partitions by the names of their folders, which it can't
    make of moments that Python's own dates can't hold.
    """
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.table import Transaction

    class NamedSpec(PartitionSpec):
        def partition_to_path(self, data: Record, schema: Schema) -> str:
            return folder_of(self, schema, data)

    class LookedAtOnce(Transaction):
        _seen: tuple[tuple[TableUpdate, ...], TableMetadata] | None = None

        @property
        def table_metadata(self) -> TableMetadata:
            if self._seen is None or self._seen[0] is not self._updates:
                updated = _updated(*upgraded(self._table.metadata, self._updates))
                specs = [NamedSpec(*spec.fields, spec_id=spec.spec_id) for spec in updated.partition_specs]
                self._seen = self._updates, updated.model_copy(update={"partition_specs": specs})
            return self._seen[1]

    return LookedAtOnce(table)


def _updated(metadata: TableMetadata, updates: Iterable[TableUpdate]) -> TableMetadata:
    """As PyIceberg's `update_table_metadata`, without a copy of each snapshot: nothing changes one."""
    from pyiceberg.table.update import _apply_table_update, _TableMetadataUpdateContext

    context = _TableMetadataUpdateContext()
    for update in updates:
        metadata = _apply_table_update(update, metadata, context)
    metadata.spec().check_compatible(metadata.schema())
    metadata.sort_order().check_compatible(metadata.schema())
    return metadata


def ask_for_table(catalog: RestCatalog, identifier: tuple[str, ...], snapshots: str) -> Response:
    """Asks for a table with `all` of its snapshots, or with those only that `refs` (branches, tags) name."""
    from pyiceberg.catalog.rest import Endpoints

    path = catalog._split_identifier_for_path(identifier)
    url = catalog.url(Endpoints.load_table, prefixed=True, **path)
    return catalog._session.get(f"{url}?snapshots={snapshots}")


def replace_view(catalog: Catalog, identifier: tuple[str, ...], request: Mapping[str, Any]) -> None:
    """Sends requirements and updates of a view, for which PyIceberg has no call.

    Raises:
        CommitFailedException: A requirement does not hold, or another update came in between.
    """
    from pyiceberg.catalog.rest import Endpoints, IdentifierKind, RestCatalog
    from pyiceberg.catalog.rest.response import _handle_non_200_response
    from pyiceberg.exceptions import CommitFailedException
    from requests import HTTPError

    assert isinstance(catalog, RestCatalog)
    path = catalog._split_identifier_for_path(identifier, IdentifierKind.VIEW)
    answer = catalog._session.post(catalog.url(Endpoints.load_view, prefixed=True, **path), json=request)
    try:
        answer.raise_for_status()
    except HTTPError as e:
        _handle_non_200_response(e, {409: CommitFailedException})


def storage_of(catalog: Catalog, location: str) -> FileIO:
    """What opens files of a place for a catalog, whether a table is there or not."""
    return catalog._load_file_io(location=location)


def site_of(
    catalog: Catalog, identifier: tuple[str, ...], schema: Schema, location: str | None
) -> tuple[str, FileIO]:
    """Where a catalog would make a table, and what opens files there. Nothing is made."""
    staged = catalog.create_table_transaction(identifier, schema, location)._table
    return staged.metadata.location.rstrip("/"), staged.io


def read_metadata(catalog: Catalog, location: str) -> bytes:
    """A metadata file, not parsed."""
    from pyiceberg.serializers import Compressor

    file = storage_of(catalog, location).new_input(location)
    with file.open() as stored, Compressor.get_compressor(location).stream_decompressor(stored) as plain:
        return plain.read()


def live_entries(io: FileIO, manifest: ManifestFile) -> Iterator[ManifestEntry]:
    """The live entries of a manifest, one after the other.

    PyIceberg's own way holds all of them: of 200 columns that is 52 kB for each file.
    """
    from pyiceberg.avro.file import AvroFile
    from pyiceberg.manifest import (
        DataFile,
        DataFileContent,
        FileFormat,
        ManifestEntry,
        ManifestEntryStatus,
        _inherit_from_manifest,
    )

    with AvroFile[ManifestEntry](
        io.new_input(manifest.manifest_path),
        entry_schema(manifest),
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as entries:
        live = (entry for entry in entries if entry.status != ManifestEntryStatus.DELETED)
        for entry in with_row_ids(manifest, live):
            yield _inherit_from_manifest(entry, manifest)


def glue_table(
    table: Table, name: str, entry: dict[str, Any] | None, marks: Mapping[str, str]
) -> dict[str, Any]:
    """What PyIceberg's own Glue catalog would write as the entry of a table, over the present one.

    `marks` are parameters beside Iceberg's own.
    """
    from pyiceberg.catalog.glue import _construct_table_input

    previous = entry["Parameters"].get("metadata_location") if entry else None
    properties = {k: v for k, v in table.properties.items() if k == "comment"} | dict(marks)
    return dict(
        _construct_table_input(name, table.metadata_location, properties, table.metadata, entry, previous)
    )


def glue_type(kind: IcebergType) -> str:
    """A column's type as that entry has it."""
    from pyiceberg.catalog.glue import _IcebergSchemaToGlueType
    from pyiceberg.schema import visit

    return str(visit(kind, _IcebergSchemaToGlueType()))
