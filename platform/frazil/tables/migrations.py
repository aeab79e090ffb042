"""Approved renames, drops and retypes: applied once, by field id, when a schema asks for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from frazil.errors import ConfigureError
from frazil.formats.evolution import Change, Verdict, standing, target
from frazil.formats.logical import Field, Struct, Where, find
from frazil.formats.types import from_iceberg, iceberg_type
from frazil.spec.migrations import Migration, Rename
from frazil.spec.topic import TableSpec
from frazil.tables.commits.ledger import read, whole_number

if TYPE_CHECKING:
    from pyiceberg.schema import Schema
    from pyiceberg.table import Transaction
    from pyiceberg.table.metadata import TableMetadata

MIGRATIONS = "frazil.migrations"
"""Table property: the migrations that the table is through with, by id."""


@dataclass(frozen=True, slots=True)
class _Done:
    """A migration that is not applied again."""

    did: str
    field_id: int = 0  # of the column; 0 where nothing was to be done
    kept: bool = False  # whether that column is still there, though no schema knows it


def migrate(tx: Transaction, migrations: Sequence[Migration], wanted: Struct) -> list[Verdict]:
    """Stages the migrations that the schemas now ask for, and remembers them in the table."""
    before = _read(tx.table_metadata)
    now, verdicts = dict(before), []
    coming: set[str] = set()
    todo = [m for m in migrations if m.id not in before and m.changes_columns]
    for number, migration in enumerate(todo):
        later = {m.column for m in todo[number + 1 :]}
        table = from_iceberg(tx.table_metadata.schema())
        match standing(migration, table, wanted, later=later, coming=coming):
            case "due":
                now[migration.id] = _stage(tx, migration, wanted)
                verdicts.append(_verdict(migration, table))
            case "settled":
                now[migration.id] = _Done(str(migration))
            case "waits":
                coming.add(target(migration))
    if now != before:
        tx.set_properties({MIGRATIONS: _write(now)})
    return verdicts


def needless(migrations: Iterable[Migration], fields: Iterable[Field]) -> dict[str, str]:
    """The property of a new table whose columns are as some migrations make them."""
    table, done = Struct(tuple(fields)), {}
    coming: set[str] = set()
    for migration in migrations:
        if not migration.changes_columns:
            continue
        has_both = migration.rename and find(table, target(migration))
        if not has_both and (find(table, migration.column) or migration.column in coming):
            coming.add(target(migration))
        else:
            done[migration.id] = _Done(str(migration))
    return {MIGRATIONS: _write(done)} if done else {}


def with_remembered(spec: TableSpec, metadata: TableMetadata) -> TableSpec:
    """The same spec with the renames that the table is through with, those too that the spec no longer has.

    Records of before them may still wait: a name that nobody knows any more would make null of their values.
    One that the table is not through with makes no other column of a field.
    """
    own, done = {m.id: m for m in spec.migrations}, _read(metadata)
    noted = (own.get(name) or _rename(name, each.did) for name, each in done.items())
    renames = tuple(each for each in noted if each and each.rename)
    if renames == tuple(each for each in spec.migrations if each.rename):
        return spec
    others = (each for each in spec.migrations if not each.rename)
    return spec.model_copy(update={"migrations": (*renames, *others)})


def _rename(name: str, did: str) -> Migration | None:
    """The migration that a note tells of; None where it renamed nothing, or nothing that Avro may name so."""
    words = re.fullmatch(r"rename (\S+) to (\S+)", did)
    return Migration(id=name, rename=Rename(**{"from": words[1], "to": words[2]})) if words else None


def retired(metadata: TableMetadata) -> tuple[str, ...]:
    """Paths of the columns that retypes left behind."""
    schema = metadata.schema()
    names = (schema.find_column_name(d.field_id) for d in _read(metadata).values() if d.kept)
    return tuple(name for name in names if name)


def _stage(tx: Transaction, migration: Migration, wanted: Struct) -> _Done:
    column = migration.column
    field_id = tx.table_metadata.schema().find_field(column).field_id
    if not migration.rename:
        _not_partitioned_by(tx.table_metadata, migration)
    if migration.retype:
        _retype(tx, column, find(wanted, column))
        return _Done(str(migration), field_id, kept=True)
    with tx.update_schema() as update:
        if migration.rename:
            update.rename_column(column, migration.rename.to)
        else:
            update.delete_column(column)
    return _Done(str(migration), field_id)


def _retype(tx: Transaction, column: str, wanted: Field | None) -> None:
    """Two updates, for PyIceberg adds no column of a name that the same update frees."""
    assert wanted
    parent, _, name = column.rpartition(".")
    path = (*parent.split("."), name) if parent else (name,)
    kept = _free_name(tx.table_metadata.schema(), path)
    with tx.update_schema() as update:
        update.rename_column(column, kept).make_column_optional(column)
    with tx.update_schema() as update:
        update.add_column(path, iceberg_type(wanted.type, count(1)), doc=wanted.doc or None)
        update.move_before(path, (*path[:-1], kept))


def _free_name(schema: Schema, path: tuple[str, ...]) -> str:
    taken = set(schema.column_names)
    names = (f"{path[-1]}__v{n}" for n in count(1))
    return next(name for name in names if ".".join((*path[:-1], name)) not in taken)


def divided_by(metadata: TableMetadata, column: str) -> bool:
    """Whether the table is, or was, partitioned or sorted by a column, or by one within it."""
    orders = [f.source_id for order in metadata.sort_orders for f in order.fields]
    return _partitioned_by(metadata, column) or _among(metadata, orders, column)


def set_aside(tx: Transaction, columns: Iterable[str]) -> None:
    """Stages other names for columns that no schema knows any more, and that metadata still names."""
    now = dict(_read(tx.table_metadata))
    for column in columns:
        schema = tx.table_metadata.schema()
        kept = _free_name(schema, (column,))
        with tx.update_schema() as update:
            update.rename_column(column, kept).make_column_optional(column)
        now[f"no rows: {kept}"] = _Done(f"{column} is {kept}", schema.find_field(column).field_id, kept=True)
    tx.set_properties({MIGRATIONS: _write(now)})


def _partitioned_by(metadata: TableMetadata, column: str) -> bool:
    return _among(metadata, [f.source_id for spec in metadata.partition_specs for f in spec.fields], column)


def _among(metadata: TableMetadata, sources: Iterable[int], column: str) -> bool:
    names = [metadata.schema().find_column_name(source) or "" for source in sources]
    return any(name == column or name.startswith(f"{column}.") for name in names)


def _not_partitioned_by(metadata: TableMetadata, migration: Migration) -> None:
    column = migration.column
    if _partitioned_by(metadata, column):
        today = _among(metadata, [f.source_id for f in metadata.spec().fields], column)
        why = (
            f"the table is partitioned by {column}"
            if today
            else f"the table was partitioned by {column} before, and its metadata keeps that"
        )
        raise ConfigureError(
            f"Migration {migration.id} does not fit: {why}.",
            where=f"migrations: {migration}",
            meaning="Nothing was landed; the table and its position are as they were.",
            todo="Take it out of defs.yaml, and land into a new table with other partitions.",
        )


def _verdict(migration: Migration, table: Struct) -> Verdict:
    where = Where(tuple(migration.column.split(".")), migration.column)
    change: Change = "rename" if migration.rename else "drop" if migration.drop else "retype"
    rule = f"approved by migration {migration.id}: {migration}"
    column = find(table, migration.column)
    if column and migration.rename:
        column = replace(column, name=migration.rename.to)
    return Verdict(where, change, True, rule, wanted=column)


def _read(metadata: TableMetadata) -> dict[str, _Done]:
    text = metadata.properties.get(MIGRATIONS, "{}")
    return read(
        MIGRATIONS, text, lambda text: {name: _done(**done) for name, done in json.loads(text).items()}
    )


def _done(did: str, field_id: Any = 0, kept: Any = False) -> _Done:
    return _Done(str(did), whole_number(field_id), bool(kept))


def _write(done: Mapping[str, _Done]) -> str:
    return json.dumps({name: asdict(d) for name, d in done.items()})
