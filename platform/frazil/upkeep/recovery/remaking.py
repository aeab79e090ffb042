"""A table is made again by commits, in a catalog that does not read the metadata file that it registers.

SeaweedFS' is one: it makes an empty table of that name. What can't be the same there is the log of metadata
files, the ids of schemas, and the times of snapshots.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import stamina

from frazil.errors import ConfigureError
from frazil.tables.catalogs.catalog import is_lost
from frazil.tables.catalogs.handle import TableHandle
from frazil.tables.layout import FORMAT
from frazil.upkeep.recovery.states import BEGUN, State, is_begun

if TYPE_CHECKING:
    from pyiceberg.partitioning import PartitionSpec
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table
    from pyiceberg.table.metadata import TableMetadata
    from pyiceberg.table.update import TableRequirement, TableUpdate

_TRIES = 5


def remake(handle: TableHandle, state: State) -> TableMetadata:
    """Makes the table of a state, and gives it all of its history in one commit.

    Between the two the table is empty, and says so; the same call goes on from there. Each costs the catalog
    one request.

    Returns:
        The table as the catalog has it then.

    Raises:
        ConfigureError: The catalog would number its partition specs otherwise than manifests do.
    """
    refuse_gaps(handle, state)
    for attempt in stamina.retry_context(on=_may_be_done, attempts=_TRIES, wait_initial=0.05, wait_max=1.0):
        with attempt:
            return _remade(_made(handle, state), state)
    raise AssertionError("the last attempt ends the loop")


def _may_be_done(error: Exception) -> bool:
    """Whether a look tells more: an answer was lost, or another rebuild was quicker."""
    from pyiceberg.exceptions import CommitFailedException

    return is_lost(error) or isinstance(error, CommitFailedException)


def _remade(table: Table, state: State) -> TableMetadata:
    if not is_begun(table.metadata):
        return table.metadata
    done = table.catalog.commit_table(table, _requirements(table), tuple(_history(table, state)))
    return done.metadata


def refuse_gaps(handle: TableHandle, state: State) -> None:
    """Raises ConfigureError where the specs of partitions are not numbered from 0."""
    ids = [spec.spec_id for spec in state.metadata.specs().values()]
    if sorted(ids) != list(range(len(ids))):
        raise ConfigureError(
            f"The catalog can't name {handle} as it was.",
            where=f"{state.path}: partition specs {', '.join(map(str, ids))}",
            meaning="It does not read what it registers, and counts specs from 0. Nothing was made.",
            todo="Use Glue, or a REST catalog whose registerTable reads the metadata file.",
        )


def _made(handle: TableHandle, state: State) -> Table:
    """A table without rows, whose first partition spec is that of the state: manifests name it by its id."""
    from pyiceberg.exceptions import TableAlreadyExistsError

    metadata = state.metadata
    spec = metadata.specs()[0]
    with suppress(TableAlreadyExistsError):
        return handle.catalog.create_table(
            handle.name.identifier, _stand_in(metadata, spec), metadata.location, partition_spec=spec,
            properties={FORMAT: str(metadata.format_version), BEGUN: state.path},
        )  # fmt: skip
    return handle.load()


def _stand_in(metadata: TableMetadata, spec: PartitionSpec) -> Schema:
    """Columns with the ids that a spec needs: a catalog numbers those of a new table from 1."""
    from pyiceberg.schema import Schema
    from pyiceberg.types import BooleanType, NestedField

    kinds = {field.source_id: _kind(metadata, field.source_id) for field in spec.fields}
    return Schema(*(
        NestedField(i, f"column_{i}", kinds.get(i, BooleanType()), required=False)
        for i in range(1, max(kinds, default=1) + 1)
    ))  # fmt: skip


def _kind(metadata: TableMetadata, column: int) -> Any:
    return _having(metadata, [column]).find_type(column)


def _having(metadata: TableMetadata, columns: Iterable[int]) -> Schema:
    """The present schema, or the newest one that has some columns which it lacks."""
    newest_first = sorted(metadata.schemas, key=lambda schema: schema.schema_id, reverse=True)
    having = (each for each in (metadata.schema(), *newest_first) if {*columns} <= each.field_ids)
    return next(having, metadata.schema())


def _requirements(table: Table) -> tuple[TableRequirement, ...]:
    """The history is given once."""
    from pyiceberg.table.update import AssertRefSnapshotId, AssertTableUUID

    uuid = table.metadata.table_uuid
    return AssertTableUUID(uuid=uuid), AssertRefSnapshotId(ref="main", snapshot_id=None)


def _history(table: Table, state: State) -> Iterator[TableUpdate]:
    """All that makes the begun table that of a state."""
    from pyiceberg.table.update import AssignUUIDUpdate, RemovePropertiesUpdate, SetPropertiesUpdate

    metadata = state.metadata
    yield AssignUUIDUpdate(uuid=metadata.table_uuid)
    ids = _ids_there(metadata)
    yield from _layout(metadata, ids)
    yield from _snapshots(metadata, ids, table.metadata.last_updated_ms)
    yield from _statistics(metadata)
    if metadata.properties:
        yield SetPropertiesUpdate(updates=metadata.properties)
    yield RemovePropertiesUpdate(removals=[n for n in table.properties if n not in metadata.properties])


def _ids_there(metadata: TableMetadata) -> dict[int, int]:
    """The ids of schemas as the catalog numbers them: behind that of the columns that stood in."""
    return {id_: place for place, id_ in enumerate(sorted(s.schema_id for s in metadata.schemas), start=1)}


def _layout(metadata: TableMetadata, ids: Mapping[int, int]) -> Iterator[TableUpdate]:
    """Columns, partitions and order; a catalog looks for the columns of a spec in the present schema."""
    from pyiceberg.table.update import (
        AddPartitionSpecUpdate,
        AddSchemaUpdate,
        AddSortOrderUpdate,
        SetCurrentSchemaUpdate,
        SetDefaultSortOrderUpdate,
        SetDefaultSpecUpdate,
    )

    for schema in sorted(metadata.schemas, key=lambda each: each.schema_id):
        yield AddSchemaUpdate(schema_=schema.model_copy(update={"schema_id": ids[schema.schema_id]}))
    for _, spec in sorted(metadata.specs().items())[1:]:
        schema = _having(metadata, [field.source_id for field in spec.fields])
        yield SetCurrentSchemaUpdate(schema_id=ids[schema.schema_id])
        yield AddPartitionSpecUpdate(spec=spec)
    yield SetCurrentSchemaUpdate(schema_id=ids[metadata.current_schema_id])
    yield SetDefaultSpecUpdate(spec_id=metadata.default_spec_id)
    if (order := metadata.sort_order()).fields:
        yield AddSortOrderUpdate(sort_order=order.model_copy(update={"order_id": 1}))
        yield SetDefaultSortOrderUpdate(sort_order_id=-1)


def _snapshots(metadata: TableMetadata, ids: Mapping[int, int], made: int) -> Iterator[TableUpdate]:
    """The snapshots in the order in which they were made, and the branches and tags that name them.

    None has a time before that of the table: catalogs refuse one that is a minute older (`before last updated
    timestamp`).
    """
    from pyiceberg.table.update import AddSnapshotUpdate, SetSnapshotRefUpdate

    for each in sorted(metadata.snapshots, key=lambda snapshot: snapshot.sequence_number or 0):
        there = ids.get(each.schema_id) if each.schema_id is not None else None
        changed = {"schema_id": there, "timestamp_ms": max(each.timestamp_ms, made)}
        yield AddSnapshotUpdate(snapshot=each.model_copy(update=changed))
    for name, ref in metadata.refs.items():
        reference = ref.model_dump(exclude={"snapshot_ref_type"})
        yield SetSnapshotRefUpdate(ref_name=name, type=ref.snapshot_ref_type, **reference)


def _statistics(metadata: TableMetadata) -> Iterator[TableUpdate]:
    from pyiceberg.table.update import SetPartitionStatisticsUpdate, SetStatisticsUpdate

    for file in metadata.statistics:
        yield SetStatisticsUpdate(statistics=file)
    for partition_file in metadata.partition_statistics:
        yield SetPartitionStatisticsUpdate(partition_statistics=partition_file)
