"""A table's columns follow its topic's schemas: by the rules, by approved migrations, or it is suspended."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from frazil.connections import Connections
from frazil.errors import SchemaRefusedError
from frazil.formats.columns.columns import RecordColumns, metadata_names
from frazil.formats.evolution import Verdict, branch_renames, refused, verdicts
from frazil.formats.logical import Struct
from frazil.formats.types import as_stored, from_iceberg, iceberg_type
from frazil.landing.schema.guarded import landing_decoder
from frazil.landing.schema.listing import NotedPaths, path_verdicts, stage_paths
from frazil.landing.schema.masking import NotedMasks, mask_verdicts, stage_masks
from frazil.landing.schema.rowless import add_metadata, make_anew, without_rows
from frazil.landing.upsert.key import KEY_COLUMNS, key_columns
from frazil.spec.topic import TableSpec
from frazil.tables.catalogs.handle import TableHandle, handle_of
from frazil.tables.catalogs.pyiceberg import transaction
from frazil.tables.commits.commit import commit, set_properties
from frazil.tables.commits.stage import append_files
from frazil.tables.commits.staging import is_staged
from frazil.tables.commits.suspension import MARKS, SCHEMA, SUSPENDED, SUSPENDED_BY, is_halted
from frazil.tables.metadata.snapshots import is_rowless
from frazil.tables.migrations import migrate, retired

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Table, Transaction
    from pyiceberg.table.update.schema import UpdateSchema


T = TypeVar("T")


@dataclass(frozen=True)
class Evolution:
    """What schemas ask of a table, staged and not committed."""

    verdicts: tuple[Verdict, ...]  # one per change; changes that need nothing done are among them
    schema: Schema  # the columns that the table has then; as they are where anything is refused
    staged: Transaction | None  # what makes it so; None where nothing is to be done
    renames_key: bool = False  # whether a column that tells rows apart has a new name


def evolve(spec: TableSpec, table: Table, columns: RecordColumns) -> Table:
    """Makes the table hold what the schemas ask for, in one commit.

    Of two landings that evolve at once, the slower one finds the work done.

    Raises:
        SchemaRefusedError: A change would lose or falsify data; the table is as it was.
        ConfigureError: A migration in the spec does not fit.
        CommitConflictError: Others kept committing in between.
    """

    def stage(current: Table) -> Transaction | None:
        planned = plan_evolution(spec, current, columns)
        if stopping := refused(planned.verdicts):
            raise _refusal(spec, stopping)
        if planned.staged and planned.renames_key:
            # Spark reads a snapshot by the names of then, and a merge looks for keys in the head.
            append_files(planned.staged, (), {})
        return planned.staged

    if stage(table) is None:
        return table
    return commit(TableHandle.of(table), stage, work="schema change", todo="Land again.").table


def plan_evolution(spec: TableSpec, table: Table, columns: RecordColumns) -> Evolution:
    """What the schemas ask of the table; changes nothing.

    Raises:
        ConfigureError: A migration in the spec does not fit.
    """
    wanted = Struct(as_stored(columns.fields))
    tx = transaction(table)
    approved = [*_rename_branches(tx, wanted), *migrate(tx, spec.migrations, wanted)]
    metadata = metadata_names(spec.model_copy(update={"metadata": "full"}))  # also of a former spec
    own = {*metadata, *retired(tx.table_metadata)}
    changes = verdicts(from_iceberg(tx.table_metadata.schema()), wanted, own)
    rowless, noted = is_rowless(table.metadata), NotedMasks.of(table.metadata)
    paths = NotedPaths.of(table.metadata)
    masked = [] if rowless else _masked(spec, tx, columns, noted, wanted)
    moved = [] if rowless else path_verdicts(paths, spec, from_iceberg(tx.table_metadata.schema()))
    every = (*approved, *masked, *moved, *changes)
    if rowless:
        add_metadata(spec, tx)
    if refused(changes) and rowless:
        make_anew(spec, tx, columns, changes, metadata)
        every = (*approved, *without_rows(changes))
        own |= {*retired(tx.table_metadata)}
        changes = verdicts(from_iceberg(tx.table_metadata.schema()), wanted, own)
    if refused((*masked, *moved, *changes)):
        return Evolution(every, table.schema(), None)
    renames_key = _rename_key(tx, table, approved)
    apply_changes(tx, [v for v in changes if v.wanted], metadata)
    if columns.masks is not None:
        stage_masks(tx, noted, columns.masks, masked, wanted, spec.migrations)
    stage_paths(tx, paths, spec, moved)
    if gone := _marks(table):
        tx.remove_properties(*gone)
    return Evolution(every, tx.table_metadata.schema(), tx if is_staged(tx) else None, renames_key)


def _masked(
    spec: TableSpec, tx: Transaction, columns: RecordColumns, noted: NotedMasks, wanted: Struct
) -> list[Verdict]:
    if columns.masks is None:
        return []
    have = from_iceberg(tx.table_metadata.schema())
    return mask_verdicts(noted, columns.masks, spec.migrations, have, wanted)


def _rename_branches(tx: Transaction, wanted: Struct) -> list[Verdict]:
    """Stages the new names of unions' branches, see `branch_renames`."""
    renames = list(branch_renames(from_iceberg(tx.table_metadata.schema()), wanted))
    if renames:
        with tx.update_schema() as update:
            for where, name in renames:
                update.rename_column(where.path, name)
    rule = "a branch of a union has a name without dots and dashes, and keeps its rows"
    return [Verdict(where, "rename", True, f"{rule}: {name}") for where, name in renames]


def _rename_key(tx: Transaction, table: Table, approved: Iterable[Verdict]) -> bool:
    """Stages that what tells rows apart has the new name, too; whether it has one."""
    names = {v.where.dotted: v.wanted.name for v in approved if v.change == "rename" and v.wanted}
    key = key_columns(table)
    if not names.keys() & {*key}:
        return False
    tx.set_properties({KEY_COLUMNS: json.dumps([names.get(column, column) for column in key])})
    return True


def fits_again(spec: TableSpec, connections: Connections) -> bool:
    """Whether a table that a schema suspends holds what the schemas ask for by now, or may.

    Raises:
        FrazilError: The registry or the catalog does not tell.
    """
    decoder = landing_decoder(spec, connections)
    table = handle_of(spec, connections).load_or_none()
    return table is None or not refused(plan_evolution(spec, table, decoder.columns).verdicts)


def _refusal(spec: TableSpec, stopping: Sequence[Verdict]) -> SchemaRefusedError:
    return SchemaRefusedError(
        f"The newest schema of topic {spec.topic} does not fit its table.",
        where="; ".join(f"field {v}" for v in stopping),
        meaning="Nothing was landed; the table and its position are as they were, and it is suspended.",
        todo=" ".join(v.todo for v in stopping) + " Then land again.",
    )


def apply_changes(tx: Transaction, changes: Sequence[Verdict], metadata: Collection[str] = ()) -> None:
    """Stages changes that the rules allow; new columns stand before those of Frazil's own."""
    if not changes:
        return
    names = [f.name for f in tx.table_metadata.schema().fields]
    before = next((name for name in names if name in metadata), None)
    with tx.update_schema() as update:
        for change in changes:
            _apply_one(update, change, before)


def _apply_one(update: UpdateSchema, change: Verdict, before: str | None) -> None:
    path, wanted = change.where.path, change.wanted
    assert wanted
    if change.change == "relax":
        update.make_column_optional(path)
        return
    kind = iceberg_type(wanted.type, count(1))
    if change.change == "widen":
        update.update_column(path, field_type=kind)
        return
    update.add_column(path, kind, doc=wanted.doc or None)
    if before and len(path) == 1:  # a new column stands last otherwise, behind the metadata
        update.move_before(path, (before,))


def fitting(handle: TableHandle, prepare: Callable[[], T]) -> T:
    """What `prepare` makes of the newest schemas; the table is suspended where they are refused.

    It is asked twice: the first time a newer schema may have been registered, and taken by another
    landing, between its look at the registry and its look at the table.

    Raises:
        SchemaRefusedError: Refused twice.
    """
    try:
        return prepare()
    except SchemaRefusedError:
        pass
    try:
        return prepare()
    except SchemaRefusedError as e:
        _suspend(handle, e)
        raise


def _marks(table: Table) -> tuple[str, ...]:
    """The properties that go when a fitting schema is there again."""
    if table.properties.get(SUSPENDED_BY) != SCHEMA:
        return ()
    return tuple(p for p in MARKS if p in table.properties)


def _suspend(handle: TableHandle, error: SchemaRefusedError) -> None:
    table = handle.load_or_none()
    properties = {SUSPENDED: error.where, SUSPENDED_BY: SCHEMA}
    if table is not None and properties.items() - table.properties.items():
        set_properties(handle, properties, only=lambda now: not is_halted(now.properties))
