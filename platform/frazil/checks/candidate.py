"""A schema that is not registered yet, against the live table: what it would change, and for whom."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from frazil.connections import Connections
from frazil.errors import MissingError, SchemaRefusedError, SpecError
from frazil.formats.columns.columns import RecordColumns, table_fields
from frazil.formats.evolution import Verdict, refused
from frazil.formats.halves import fitting_schemas, half_schemas
from frazil.formats.logical import Where
from frazil.formats.protocol import KEY, VALUE, Half, WriterSchema
from frazil.formats.record import row_columns
from frazil.formats.types import to_iceberg
from frazil.landing.schema.evolve import plan_evolution
from frazil.publishing.target import Target
from frazil.publishing.targets import targets_of
from frazil.spec.names import Things
from frazil.spec.topic import SCHEMA_KINDS, TableSpec
from frazil.tables.catalogs.catalog import catalog_errors
from frazil.tables.catalogs.handle import TableHandle

if TYPE_CHECKING:
    from pyiceberg.schema import Schema


@dataclass(frozen=True, slots=True)
class ShownColumn:
    """One column as the table has it then, and its type in each target."""

    name: str
    iceberg: str
    required: bool
    shown: Mapping[str, str]
    touched: bool


@dataclass(frozen=True, slots=True)
class Reader:
    """Something downstream that shows touched columns: its asset, what is queried there, and the columns."""

    asset: str
    relation: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a candidate schema would do to a table."""

    table: str
    exists: bool
    verdicts: tuple[Verdict, ...]
    columns: tuple[ShownColumn, ...]
    readers: tuple[Reader, ...]

    @property
    def refused(self) -> list[Verdict]:
        """What would suspend the table."""
        return refused(self.verdicts)


def preview(spec: TableSpec, things: Things, connections: Connections, file: Path, half: Half) -> Preview:
    """Compares the schema in a file, whose suffix says its format, with the table; changes nothing."""
    name, targets = str(things.table), targets_of(spec, connections.settings)
    with catalog_errors(connections.settings):
        table = TableHandle(connections.catalog, things.table).load_or_none()
    try:
        columns = _columns(spec, connections, file, half)
    except SchemaRefusedError as e:
        verdict = Verdict(Where((), e.where), "unmappable", False, e.what, e.todo)
        return _preview(name, targets, [verdict], table.schema() if table else to_iceberg(()), bool(table))
    if table is None:
        return _preview(name, targets, [], to_iceberg(table_fields(spec, columns)), exists=False)
    planned = plan_evolution(spec, table, columns)
    return _preview(name, targets, planned.verdicts, planned.schema, exists=True)


def _columns(spec: TableSpec, connections: Connections, file: Path, half: Half) -> RecordColumns:
    registry = connections.registry
    other = KEY if half == VALUE else VALUE
    if half == VALUE and spec.fields:
        raise SpecError(
            f"topic {spec.topic}: values have no schema: `fields` in defs.yaml says what the columns are.",
            todo="Change the fields; `frazil describe` then says what the next landing would do.",
        )
    columns_by_half = {other: half_schemas(spec, other, registry).columns}
    try:
        writers = half_schemas(spec, half, registry).writers
    except MissingError:
        writers = ()
    columns_by_half[half] = fitting_schemas(spec, half, (*writers, _candidate(file, writers))).columns
    return row_columns(spec, columns_by_half[KEY], columns_by_half[VALUE])


def _candidate(file: Path, writers: tuple[WriterSchema, ...]) -> WriterSchema:
    """The file as the subject's next version, which refers to what the newest one refers to."""
    if file.suffix not in SCHEMA_KINDS:
        raise SpecError(f"{file}: a schema's file ends with {', '.join(SCHEMA_KINDS)}", todo="Rename it.")
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, ValueError) as e:
        raise SpecError(
            f"{file}: this can't be read: {e}", todo="Name a file that is there, of UTF-8 text."
        ) from None
    newest = writers[-1] if writers else WriterSchema(0, 0, "", SCHEMA_KINDS[file.suffix])
    return WriterSchema(
        0, newest.version + 1, text, SCHEMA_KINDS[file.suffix], newest.references, newest.dependencies
    )


def _preview(
    name: str, targets: Iterable[Target], verdicts: Iterable[Verdict], schema: Schema, exists: bool
) -> Preview:
    verdicts = tuple(verdicts)
    touched = tuple(
        dict.fromkeys(v.where.path[0] for v in verdicts if v.outcome != "no change" and v.where.path)
    )
    columns = tuple(
        ShownColumn(
            f.name,
            str(f.field_type),
            f.required,
            {target.word: target.column_type(f.field_type) for target in targets},
            f.name in touched or not exists,
        )
        for f in schema.fields
    )
    readers = tuple(
        Reader("/".join(target.path), relation, touched)
        for target in targets
        for relation in target.relations
        if touched
    )
    return Preview(name, exists, verdicts, columns, readers)
