"""A table that is found in the bucket becomes one of the catalog."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING, Any

import stamina

from frazil.errors import RepairError
from frazil.spec.names import TableName
from frazil.tables.catalogs.catalog import is_lost
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.catalogs.pyiceberg import storage_of
from frazil.tables.creation import make_namespace, register
from frazil.upkeep.recovery.places import Place
from frazil.upkeep.recovery.remaking import remake
from frazil.upkeep.recovery.states import State, is_begun
from frazil.upkeep.storage import delete_files

if TYPE_CHECKING:
    from pyiceberg.catalog import Catalog
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata

_PROBE = "frazil_rebuild_"
_OF_BEFORE = re.compile(rf"{_PROBE}(\d+)_[0-9a-f]+")
_AN_HOUR = 3600

_NAMES = "schema.name-mapping.default"
"""What some catalogs write of the columns by themselves."""

_OF_THE_CATALOG = {"schema_id", "timestamp_ms"}


class Registrar:
    """Brings tables into one catalog, and never over one that is there.

    Args:
        catalog: The one in which they come back.
        folder: Of the bucket, where tables of a namespace lie; a probe's file is written there.
        namespace: Where the probe is registered.
    """

    def __init__(self, catalog: Catalog, folder: str, namespace: str) -> None:
        self._catalog, self._folder, self._namespace = catalog, folder, namespace
        self._prepared = set[str]()

    def ask(self) -> None:
        """Finds out by now what the catalog does with what it registers."""
        _ = self.reads

    def sweep(self, names: Iterable[TableName], places: Iterable[Place]) -> None:
        """Removes probes of an hour ago, with their files: those who asked by them were killed."""
        for name in filter(_is_left, names):
            self._drop(TableHandle(self._catalog, name))
        for place in places:
            if _is_left(place.name):
                io = storage_of(self._catalog, place.location)
                delete_files(io, [file.path for file in place.metadata])

    def bring(self, handle: TableHandle, state: State) -> None:
        """Has the catalog name a table, and looks whether it is the one that the file tells of.

        Raises:
            RepairError: It is another one.
        """
        self._prepare(handle.name.namespace)
        made = register(handle, state.path).metadata if self.reads else remake(handle, state)
        if odd := tuple(_differences(state.metadata, made)):
            raise RepairError(
                f"The catalog has table {handle} otherwise than its metadata file says.",
                where=f"{state.path}: {', '.join(odd)}",
                meaning="No file was changed or deleted. Don't land into the table, and don't drop it: some "
                "catalogs delete the files with it.",
                todo="Use Glue, or a REST catalog whose registerTable reads the metadata file.",
            )

    def _prepare(self, namespace: str) -> None:
        """Makes it once for all of its tables; two threads that both do it do no harm."""
        if namespace not in self._prepared:
            make_namespace(self._catalog, namespace)
            self._prepared.add(namespace)

    @cached_property
    def reads(self) -> bool:
        """Whether the catalog reads what it registers; a REST catalog is asked with an empty table.

        Asked with a real one, a catalog that does not would keep an empty table of its name. SeaweedFS
        deletes all files of a table that is dropped.
        """
        from pyiceberg.catalog.rest import RestCatalog

        if not isinstance(self._catalog, RestCatalog):
            return True  # PyIceberg reads the file itself
        name = f"{_PROBE}{int(time.time())}_{secrets.token_hex(4)}"
        return self._probed(TableHandle(self._catalog, TableName(self._namespace, name)))

    def _probed(self, handle: TableHandle) -> bool:
        from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
        from pyiceberg.schema import Schema
        from pyiceberg.serializers import ToOutputFile
        from pyiceberg.table.metadata import new_table_metadata
        from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

        location = f"{self._folder}/{handle.name.table}"
        path = f"{location}/metadata/v1.metadata.json"
        io = storage_of(self._catalog, path)
        empty = new_table_metadata(Schema(), UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, location)
        ToOutputFile.table_metadata(empty, io.new_output(path))
        try:
            self._prepare(self._namespace)
            register(handle, path)
            return handle.load().metadata.table_uuid == empty.table_uuid
        except NotImplementedError:
            return False  # it says so itself
        finally:
            self._drop(handle)
            delete_files(io, [path])

    def _drop(self, handle: TableHandle) -> None:
        from pyiceberg.exceptions import NoSuchTableError

        for attempt in stamina.retry_context(on=is_lost, attempts=3, wait_initial=0.1, wait_max=1.0):
            with attempt, suppress(NoSuchTableError):
                self._catalog.drop_table(handle.name.identifier)


def is_probe(name: TableName) -> bool:
    """Whether a table is one by which a rebuild asked its catalog."""
    return _OF_BEFORE.fullmatch(name.table) is not None


def _is_left(name: TableName) -> bool:
    """Whether it is one that nobody asks by any more."""
    made = _OF_BEFORE.fullmatch(name.table)
    return made is not None and time.time() - int(made[1]) > _AN_HOUR


def names_there(catalog: Catalog, namespaces: Iterable[str]) -> set[TableName]:
    """The tables that the catalog has in some namespaces."""
    from pyiceberg.exceptions import NoSuchNamespaceError

    names = set[TableName]()
    for namespace in {*namespaces}:
        with suppress(NoSuchNamespaceError):
            names |= {TableName(namespace, table) for *_, table in catalog.list_tables(namespace)}
    return names


def finished_table(handle: TableHandle) -> Table | None:
    """The table as the catalog has it; None where there is none, or one that a rebuild did not end."""
    table = handle.load_or_none()
    return None if table is None or is_begun(table.metadata) else table


def _differences(wanted: TableMetadata, made: TableMetadata) -> Iterator[str]:
    """What differs between a catalog's table and what its metadata file says, in a word each.

    Ids of schemas and of sort orders, and times of snapshots, may: a catalog gives them again where it can't
    read a metadata file.
    """
    for name in ("table_uuid", "format_version", "location", "current_snapshot_id", "refs"):
        if getattr(wanted, name) != getattr(made, name):
            yield name.replace("_", " ")
    if _columns(wanted, wanted.current_schema_id) != _columns(made, made.current_schema_id):
        yield "columns"
    if _specs(wanted) != _specs(made) or wanted.default_spec_id != made.default_spec_id:
        yield "partitions"
    if wanted.sort_order().fields != made.sort_order().fields:
        yield "sort order"
    if _snapshots(wanted) != _snapshots(made):
        yield "snapshots"
    for name, value in wanted.properties.items():
        if name != _NAMES and made.properties.get(name) != value:
            yield f"property {name}"


def _columns(metadata: TableMetadata, schema_id: int | None) -> Any:
    schema = metadata.schema_by_id(schema_id) if schema_id is not None else None
    return (schema.as_struct(), sorted(schema.identifier_field_ids)) if schema else None


def _specs(metadata: TableMetadata) -> dict[int, Any]:
    return {spec.spec_id: spec.fields for spec in metadata.partition_specs}


def _snapshots(metadata: TableMetadata) -> dict[int, Any]:
    """All that is known of each, with its columns in place of their schema's id."""
    return {
        each.snapshot_id: (
            each.model_dump(exclude=_OF_THE_CATALOG),
            _columns(metadata, each.schema_id),
        )
        for each in metadata.snapshots
    }
